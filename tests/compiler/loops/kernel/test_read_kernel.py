"""A call read as a kernel: its accesses, stages and initial values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.loops.kernel.kernel import Access, Captured, Stage
from ncc.compiler.loops.kernel.normal_form import normalised
from ncc.compiler.loops.kernel.read_kernel import constant_kernel, kernel_of, text_of
from ncc.compiler.plan import Call
from ncc.compiler.target import AVX512, ONE_UNIT
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum, to_index
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import row_sums, work
from tests.compiler.loops.conftest import Kernels


def test_a_slice_is_an_offset(kernels: Kernels) -> None:
    """Of the buffer; the kernel knows the strides of the whole."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return work(b, b.slice(x, (1, 2), (2, 2)))

    (kernel,) = kernels(write, (4, 5))
    (read,) = [access for access in kernel.anchor.inputs if access is not None]
    assert (read.offset, read.coefficients) == (0, (5, 1))


def test_an_axis_read_backwards(kernels: Kernels) -> None:
    """A weight read from its end has a negative coefficient from a positive offset."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((3,), np.float32)))
        y, k = b.loops("y:6 k:3")
        return b.sum((y,), over=(k,), of=x[y + k] * w[k * -1 + 2])

    (kernel,) = kernels(write, (8,))
    weight = kernel.anchor.inputs[1]
    assert weight is not None and (weight.offset, weight.coefficients) == (2, (0, -1))


def test_stages_of_a_group(kernels: Kernels) -> None:
    """Initial values, the sum, the residual, the activation: in this order, the store last."""

    def write(b: Builder, x: Tensor, r: Tensor) -> Tensor:
        bias = b.weight(WeightAttr.of(np.ones(8, np.float32)))
        weight = b.weight(WeightAttr.of(np.ones((8, 4), np.float32)))
        init = b.spread(bias, (8, 6), 0)
        o, z, i = b.loops("o z i")
        y = b.sum((o, z), over=(i,), of=x[i, z] * weight[o, i], init=init)
        at = b.loops_of(y.shape)
        y = b.map(at, y[at] + r[at])
        return b.map(at, maximum(y[at], 0.0))

    (kernel,) = kernels(write, (4, 6), (8, 6))
    assert kernel.accumulates and len(kernel.stages) == 4 and len(kernel.epilogue) == 2
    assert kernel.accesses()[-1] is kernel.store
    assert kernel.extents == (8, 6, 4)


def test_initial_values_in_another_order(kernels: Kernels) -> None:
    """Their loops are the sum's loops by the axes of the result, not by their own order."""

    def write(b: Builder, x: Tensor, column: Tensor) -> Tensor:
        m, n = b.loops(f"m:{x.shape[1]} n:{x.shape[0]}")
        init = b.map((n, m), column[m])
        n, m, k = b.loops("n m k:4")
        return b.sum((n, m), over=(k,), of=x[n, m] * x[n, m], init=init)

    (kernel,) = kernels(write, (5, 7), (7,))
    assert isinstance(kernel.initial, Stage)
    (read,) = [access for access in kernel.initial.inputs if access is not None]
    lane = kernel.store.coefficients.index(1)
    assert read.coefficients[lane] == 1 and sum(read.coefficients) == 1


def test_an_accumulation_starts_from_a_number(kernels: Kernels) -> None:
    """What its memory is filled with is not written first."""
    (kernel,) = kernels(lambda b, x: row_sums(b, x, 2.0), (3, 8))
    assert kernel.initial == 2.0 and kernel.accumulates


def test_a_diagonal(kernels: Kernels) -> None:
    """A move along both axes at once: their strides add up."""

    def write(b: Builder, x: Tensor) -> Tensor:
        (i,) = b.loops("i:3")
        return b.map((i,), x[i + 1, i + 2])

    (kernel,) = kernels(write, (6, 5))
    (read,) = kernel.anchor.reads
    assert (read.offset, read.coefficients) == (7, (6,))


def test_what_is_read_at_computed_coordinates(kernels: Kernels) -> None:
    """It is no access: the kernel has its argument and its strides."""

    def write(b: Builder, x: Tensor, subviews: Tensor) -> Tensor:
        i, j = b.loops("i j:5")
        return b.map((i, j), x.at(to_index(subviews[i]), b.index(j)))

    (kernel,) = kernels(write, (7, 5), (4,))
    assert list(kernel.captured.values()) == [Captured(1, (5, 1))]
    assert [read.argument for read in kernel.anchor.reads] == [0]
    assert kernel.indexed == {1}


def test_a_box_of_one_number() -> None:
    """Borders are such boxes; contiguous axes are one loop."""
    box = constant_kernel((2, 3, 4), 0.5, Access(0, 0, (24, 4, 1)), (f32,))
    kernel = normalised(box, CostModel().threads)
    assert kernel.extents == (2, 12) and kernel.store == Access(0, 0, (24, 1))
    assert not kernel.anchor.inputs and not kernel.accumulates


def test_calls_of_one_text_have_one_kernel(make_network: Callable[..., ModuleOp]) -> None:
    """Whatever layers they are of, but not where the padding of their weights differs."""

    def write(b: Builder, x: Tensor) -> Tensor:
        def layer(doc: str, channels: int, seed: int) -> Tensor:
            draw = np.random.default_rng(seed).normal(0, 1, (channels, 5)).astype(np.float32)
            w = b.weight(WeightAttr(Blocked(WeightAttr.of(draw).data, (0,), 16).weights))
            b.doc = doc
            o, p, i, n = b.loops("o:2 p:6 i:5 n:16")
            return b.sum((o, p, n), (i,), x[i, p] * w[o, i, n])

        return b.concat([layer("one", 24, 0), layer("two", 24, 1), layer("three", 32, 2)], 0)

    module = make_network([(5, 6)], write)
    FormFusionGroups().apply(Context(), module)
    calls = [step for step in plan(module).steps if isinstance(step, Call)]
    assert [call.layers for call in calls] == [("one",), ("two",), ("three",)]
    target = replace(AVX512, core=ONE_UNIT)
    for key in (text_of, lambda call: kernel_of(call, target).signature_text):
        one, two, three = map(key, calls)
        assert one == two != three
