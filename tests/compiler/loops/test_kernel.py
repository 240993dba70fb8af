"""A kernel is its accesses: names, layouts and shapes that address alike are the same kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f16, f32

from ncc.compiler.loops.kernel import Access, Halving, Kernel, Stage
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import maximum, to_index
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.computations import work

Write: TypeAlias = Callable[..., Any]


@pytest.fixture
def kernels(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> Callable[..., list[Kernel]]:
    """kernels(write, *shapes): the kernels of what `write` writes."""

    def read(write: Write, *shapes: Shape) -> list[Kernel]:
        return kernels_of(make_network(list(shapes), write))

    return read


Kernels: TypeAlias = Callable[..., list[Kernel]]


def named(doc: str, b: Builder) -> Builder:
    return Builder(b.block, doc)


def row_sums(b: Builder, x: Tensor, init: float = 0.0) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.sum((r,), over=(c,), of=x[r, c], init=init)


def convolution(b: Builder, x: Tensor, seed: int, outputs: int = 8) -> Tensor:
    weight = WeightAttr.of(np.full((outputs, x.shape[0], 3, 3), seed, np.float32))
    w = b.weight(weight)
    o, y, z, i, k, m = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


# --- signatures -----------------------------------------------------------------------------


def test_names_and_weights_are_not_in_the_signature(kernels: Kernels) -> None:
    """Two layers of one shape are one kernel, whatever they are called and weigh."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        return [convolution(named("a", b), x, 1), convolution(named("b", b), y, 2)]

    first, second = kernels(write, (4, 7, 7), (4, 7, 7))
    assert first.signature() == second.signature()
    assert hash(first.signature()) == hash(second.signature())


@pytest.mark.parametrize("what", ["extent", "frame", "body", "constant", "init", "epilogue"])
def test_what_is_in_the_signature(kernels: Kernels, what: str) -> None:
    """Whatever would compile to other code."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        if what == "init":
            return [row_sums(b, x, 1.0), row_sums(b, y, 2.0)]
        at = b.loops_of(x.shape)
        first = b.map(at, x[at] * 2.0)
        at = b.loops_of(y.shape)
        of = {"body": y[at] + 2.0, "constant": y[at] * 3.0}.get(what, y[at] * 2.0)
        second = b.map(at, of)
        if what == "epilogue":
            second = b.map(at, maximum(second[at], 0.0))
        return [first, b.pad(second, (1, 1), (1, 1)) if what == "frame" else second]

    shapes = [(3, 5), (3, 6) if what == "extent" else (3, 5)]
    first, second = kernels(write, *shapes)
    assert first.signature() != second.signature()


def gathered(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
    c, p = b.loops_of((x.shape[0], *grid.shape))
    return b.map((c, p), x.at(b.index(c), to_index(grid[p])))


def test_every_field_is_in_the_signature(kernels: Kernels) -> None:
    """Of a kernel, of its halves, of what it reads at computed places: code is kept by it."""
    (other,) = kernels(work, (3, 4))
    (kernel,) = kernels(gathered, (3, 9), (5,))
    ((tensor, read),) = kernel.captured.items()
    halving = Halving(kernel.anchor, kernel.store, 64, 1, 16, alone=False)
    kernel = replace(kernel, halving=halving)
    places = [replace(read, argument=2), replace(read, strides=(10, 1))]
    halves: dict[str, Any] = {
        "stage": other.anchor,
        "store": other.store,
        "distance": 32,
        "pairs": 0,
        "back": 8,
        "alone": True,
    }
    changes: dict[str, list[Any]] = {
        "extents": [(3, 6)],
        "reduced": [frozenset({1})],
        "tails": [((0, 1, 2),)],
        "anchor": [other.anchor, replace(kernel.anchor, inputs=(other.store,))],
        "accumulates": [True],
        "initial": [1.0, -0.0, None, other.anchor],
        "epilogue": [(other.anchor,)],
        "store": [other.store],
        "element_types": [(f32, f16, f32)],
        "captured": [{tensor: place} for place in places],
        "index_of": [{0: 1}],
        "matrices": [(((1.0,),), ((1.0,),)), (((1.0,),), ((2.0,),))],
        "halving": [None, *(replace(halving, **{name: held}) for name, held in halves.items())],
        "lanes": [(0, 1), (1, 0)],
    }
    assert set(changes) == {field.name for field in fields(Kernel)}
    assert set(halves) == {field.name for field in fields(Halving)}
    changed = [replace(kernel, **{name: held}) for name in changes for held in changes[name]]
    texts = {kernel.signature_text, *(kernel.signature_text for kernel in changed)}
    assert len(texts) == 1 + len(changed)


def test_shapes_that_address_alike_are_one_kernel(kernels: Kernels) -> None:
    """A map over 3x8 is one over 4x6 and over 24."""

    def write(b: Builder, *xs: Tensor) -> list[Tensor]:
        return [work(b, x) for x in xs]

    signatures = {k.signature() for k in kernels(write, (3, 8), (4, 6), (24,), (2, 3, 4))}
    assert len(signatures) == 1


# --- loops ----------------------------------------------------------------------------------


def test_loops_merge(kernels: Kernels) -> None:
    """Contiguous neighbours walk memory as one loop would."""
    (kernel,) = kernels(work, (2, 3, 4))
    assert kernel.extents == (24,) and kernel.store.coefficients == (1,)


def test_a_long_loop_can_be_shared(kernels: Kernels) -> None:
    """What would be one loop is two, the outer one even where it can be; short ones stay one."""
    extents = [kernels(work, (16, n))[0].extents for n in (5880, 2842, 64)]
    assert extents == [(94080 // 14, 14), (45472 // 7, 7), (1024,)]
    (kernel,) = kernels(work, (16, 5880))
    assert kernel.store.coefficients == (1, 94080 // 14)


def test_a_long_loop_can_be_shared_unevenly(kernels: Kernels) -> None:
    """Parts begin with a line of the caches if they can, else anywhere where they are long; those
    of a sum do not.
    """
    extents = [kernels(work, (16, n))[0].extents for n in (5625, 5881, 271)]
    assert extents == [(6000, 15), (5881, 16), (16 * 271,)]

    def summed(b: Builder, x: Tensor) -> Tensor:
        k, c = b.loops_of(x.shape)
        return b.sum((c,), over=(k,), of=x[k, c])

    (kernel,) = kernels(summed, (3, 16 * 5881))
    assert kernel.extents == (3, 16 * 5881)


def test_a_frame_keeps_rows_apart(kernels: Kernels) -> None:
    """Between the rows inside a frame is border; where the first cell is, the buffer says."""
    (kernel,) = kernels(lambda b, x: b.pad(work(b, x), (0, 1, 1), (0, 1, 1)), (2, 3, 4))
    assert kernel.extents == (2, 3, 4)
    assert kernel.store == Access(1, 0, (30, 6, 1))


def test_loops_of_one_step_vanish(kernels: Kernels) -> None:
    """A 1x1 convolution has no window loops; its image is one loop."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((8, 4, 1, 1), np.float32)))
        o, y, z, i, k, m = b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i k m")
        return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])

    (kernel,) = kernels(write, (4, 5, 6))
    assert kernel.extents == (8, 30, 4) and kernel.reduced == {2}


def test_a_reduction_never_merges_with_a_parallel_loop(kernels: Kernels) -> None:
    """Rows of x are contiguous, but one loop is summed over and the other stored."""
    (kernel,) = kernels(row_sums, (3, 8))
    assert kernel.extents == (3, 8) and kernel.reduced == {1}


def test_reduced_loops_merge(kernels: Kernels) -> None:
    """A mean over an image is a sum over one loop."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, y, z = b.loops_of(x.shape)
        return b.sum((c,), over=(y, z), of=x[c, y, z])

    (kernel,) = kernels(write, (3, 4, 5))
    assert kernel.extents == (3, 20) and kernel.reduced == {1}


# --- accesses -------------------------------------------------------------------------------


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
