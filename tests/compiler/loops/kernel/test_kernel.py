"""A kernel is its accesses: names, layouts and shapes that address alike are the same kernel."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32

from ncc.compiler.loops.kernel.kernel import Bf16Split, Kernel, KSplit
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum, to_index
from ncc.dialects.size import Size
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import row_sums, work
from tests.compiler.loops.conftest import Kernels


def named(doc: str, b: Builder) -> Builder:
    return Builder(b.block, doc)


def convolution(b: Builder, x: Tensor, seed: int, outputs: int = 8) -> Tensor:
    weight = WeightAttr.of(np.full((outputs, x.shape[0], 3, 3), seed, np.float32))
    w = b.weight(weight)
    o, y, z, i, k, m = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def test_names_and_weights_are_not_in_the_signature(kernels: Kernels) -> None:
    """Two layers of one shape are one kernel, whatever they are called and weigh."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        return [convolution(named("a", b), x, 1), convolution(named("b", b), y, 2)]

    first, second = kernels(write, (4, 7, 7), (4, 7, 7))
    assert first.signature_text == second.signature_text


@pytest.mark.parametrize("what", ["extent", "frame", "body", "constant", "init", "epilogue"])
def test_what_is_in_the_signature(kernels: Kernels, what: str) -> None:
    """All that changes the code."""

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
    assert first.signature_text != second.signature_text


def gathered(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
    c, p = b.loops_of((x.shape[0], *grid.shape))
    return b.map((c, p), x.at(b.index(c), to_index(grid[p])))


def test_every_field_is_in_the_signature(kernels: Kernels) -> None:
    """Of a kernel, of its bf16 store, of its gathers: the cache of code depends on it."""
    (other,) = kernels(work, (3, 4))
    (kernel,) = kernels(gathered, (3, 9), (5,))
    ((tensor, read),) = kernel.captured.items()
    bf16_split = Bf16Split(kernel.anchor, kernel.store, 64, 1, 16, alone=False)
    k_split = KSplit(0, 1, 2)
    kernel = replace(kernel, bf16_split=bf16_split, k_split=k_split)
    subviews = [replace(read, argument=2), replace(read, strides=(10, 1))]
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
        "valid_extents": [((0, 1, 2),)],
        "anchor": [other.anchor, replace(kernel.anchor, inputs=(other.store,))],
        "accumulates": [True],
        "initial": [1.0, -0.0, None, other.anchor],
        "epilogue": [(other.anchor,)],
        "store": [other.store],
        "element_types": [(f32, f16, f32)],
        "captured": [{tensor: subview} for subview in subviews],
        "index_of": [{0: 1}],
        "matrices": [(((1.0,),), ((1.0,),)), (((1.0,),), ((2.0,),))],
        "bf16_split": [
            None,
            *(replace(bf16_split, **{name: held}) for name, held in halves.items()),
        ],
        "lanes": [(0, 1), (1, 0)],
        "body_sizes": [(Size.symbol("h", 224),)],
        "about": [((0, 12),)],
        "k_split": [None, KSplit(1, 1, 2), KSplit(0, 0, 2), KSplit(0, 1, 4)],
    }
    assert set(changes) == {field.name for field in fields(Kernel)}
    assert set(halves) == {field.name for field in fields(Bf16Split)}
    changed = [replace(kernel, **{name: held}) for name in changes for held in changes[name]]
    texts = {kernel.signature_text, *(kernel.signature_text for kernel in changed)}
    assert len(texts) == 1 + len(changed)


def test_shapes_that_address_alike_are_one_kernel(kernels: Kernels) -> None:
    """A map over 3x8 is one over 4x6 and over 24."""

    def write(b: Builder, *xs: Tensor) -> list[Tensor]:
        return [work(b, x) for x in xs]

    signatures = {k.signature_text for k in kernels(write, (3, 8), (4, 6), (24,), (2, 3, 4))}
    assert len(signatures) == 1
