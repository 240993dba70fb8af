"""Weights of a tap lie side by side where the run leaves taps out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import weights_of
from ncc.compiler.linalg.convolutions.forms import F2, Plane
from ncc.compiler.linalg.convolutions.winograd import IMAGE, TransformConstants, tiled, transformed
from ncc.compiler.linalg.layout.move_taps_outside import MoveTapsOutside
from ncc.compiler.target import AMX
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, assuming, smallest
from ncc.dialects.weights.weight import ConstantOp
from tests.compiler.linalg.operations import whole_numbers, work
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

MakeNetwork = Callable[..., ModuleOp]

HEIGHT, WIDTH = Size.symbol("h", 16), Size.symbol("w", 16)
ROWS = smallest(3, HEIGHT + 1)
"""Of taps that see the image, in a window of three."""


def convolution(
    *, rows: int = ROWS, sums: int = 1, is_computed: bool = False
) -> Callable[[Builder, Tensor], Tensor]:
    """By some rows of taps. sums: of some channels each."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = whole_numbers(b, 4, x.shape[0], 3, 3)
        w = work(b, w) if is_computed else w
        height, width = x.shape[1] - rows + 1, x.shape[2] - 2
        o, p, q, i, k, m = b.loops("o p q i k m", p=height, q=width)
        total = b.full((4, height, width), 0.0)
        for begin, end in pairwise(x.shape[0] * n // sums for n in range(sums + 1)):
            y, v = b.cut(x, 0, begin, end), b.cut(w, 1, begin, end)
            v = b.slice(v, [0, 0, 3 - rows, 0], [4, end - begin, rows, 3])
            total = b.sum((o, p, q), (i, k, m), y[i, p + k, q + m] * v[o, i, k, m], init=total)
        return total

    return write


def weights_of_sums(module: ModuleOp) -> list[TensorAccess]:
    views = [LinalgOp(op) for op in network_of(module).walk() if isinstance(op, GenericOp)]
    return [linalg_op.reads[1] for linalg_op in views if linalg_op.reduced]


@pytest.mark.parametrize("sums", [1, 2])
def test_weights_of_a_tap_lie_side_by_side(make_network: MakeNetwork, sums: int) -> None:
    """Also those of a sum in parts, of which each has some of them; numbers stay."""
    with assuming():
        image = (4, HEIGHT + 2, WIDTH + 2)
        before, module = (make_network([image], convolution(sums=sums)) for _ in range(2))
        MoveTapsOutside().apply(Context(), module)
    found = weights_of_sums(module)
    assert len(found) == sums
    for access in found:
        assert [form.bare for form in access.index] == [0, 4, 5, 3]
        assert shape_of(access.value)[-1] == 4 // sums
    rng = np.random.default_rng(1)
    for height, width in ((1, 1), (2, 7), (5, 4)):
        at = {"h": height, "w": width}
        x = [rng.standard_normal((4, height + 2, width + 2)).astype(np.float32)]
        one, other = (
            evaluate(network_of(with_extents(it, at)), x, dtype=np.float64)
            for it in (before, module)
        )
        np.testing.assert_allclose(other[0], one[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("l2_bytes", "axes"), [(512, [0, 4, 5, 3]), (1024, [0, 3, 4, 5])])
def test_weights_of_several_products(
    make_network: MakeNetwork, l2_bytes: int, axes: list[int]
) -> None:
    """Each product of bf16x3 reads a part of the same weights, with its taps outside, unless 432
    bytes of weights stay in L2 beside other data.
    """
    target = replace(AMX, core=replace(AMX.core, l2_bytes=l2_bytes))

    def write(b: Builder, x: Tensor) -> Tensor:
        w = whole_numbers(b, 2, 4, x.shape[0], 3, 3)
        w = b.slice(w, [0, 0, 0, 3 - ROWS, 0], [2, 4, x.shape[0], ROWS, 3])
        height, width = x.shape[1] - ROWS + 1, x.shape[2] - 2
        o, p, q, i, k, m = b.loops("o p q i k m", o=4, p=height, q=width)
        number = x[i, p + k, q + m]
        total = number * w[0, o, i, k, m] + number * w[1, o, i, k, m]
        return b.sum((o, p, q), (i, k, m), total)

    with assuming():
        image = (3, HEIGHT + 2, WIDTH + 2)
        before, module = (make_network([image], write) for _ in range(2))
        MoveTapsOutside(target).apply(Context(), module)
    (op,) = (
        LinalgOp(op)
        for op in network_of(module).walk()
        if isinstance(op, GenericOp) and LinalgOp(op).reduced
    )
    first, second = (read for read in op.reads if len(read.index) == 5)
    assert [form.bare for form in first.index[1:]] == axes
    assert first.value is second.value
    x = [np.random.default_rng(1).standard_normal((3, 3, 6)).astype(np.float32)]
    one, other = (
        evaluate(network_of(with_extents(it, {"h": 1, "w": 4})), x, dtype=np.float64)
        for it in (before, module)
    )
    np.testing.assert_allclose(other[0], one[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("write", [convolution(rows=3), convolution(is_computed=True)])
def test_other_weights_stay(
    make_network: MakeNetwork, write: Callable[[Builder, Tensor], Tensor]
) -> None:
    """The run leaves out none, or to move them would take longer than to read them."""
    with assuming():
        module = make_network([(3, HEIGHT + 2, WIDTH + 2)], write)
        MoveTapsOutside().apply(Context(), module)
    (access,) = weights_of_sums(module)
    assert [form.bare for form in access.index] == [0, 3, 4, 5]


def directly_and_in_tiles(b: Builder, x: Tensor) -> Tensor:
    """A sum of some rows of taps, and one that transforms the same weights."""
    direct = convolution()(b, x)
    w = whole_numbers(b, 4, x.shape[0], 3, 3)
    constants = TransformConstants.of(b, Plane((F2, F2)), weights_of(w.value), formed=True)
    v = transformed(b, x, constants, ((x.shape[1] - 2) // 2, (x.shape[2] - 2) // 2))
    y = b.collapse(tiled(b, v, constants, 0.0, (2, 2), IMAGE), [[0], [1, 2], [3, 4]])
    return b.concat([b.slice(z, [0, 0, 0], [4, 1, 1]) for z in (direct, y)], 0, 8)


@pytest.mark.parametrize(("inputs", "held"), [(4, 4), (1024, 1025)])
def test_transformed_weights_are_the_same(
    make_network: MakeNetwork, inputs: int, held: int
) -> None:
    """The file has one of them. Taps that would compete for sets of L1 are further apart."""
    with assuming():
        image = (inputs, HEIGHT + 2, WIDTH + 2)
        before, module = (make_network([image], directly_and_in_tiles) for _ in range(2))
        MoveTapsOutside().apply(Context(), module)
    constants = [op.value for op in network_of(module).walk() if isinstance(op, ConstantOp)]
    one, other = (attr for attr in constants if len(attr.data.shape) == 4)
    assert one == other and one.data.shape == (4, 3, 3, held)
    x = [np.random.default_rng(1).standard_normal((inputs, 4, 5)).astype(np.float32)]
    first, second = (
        evaluate(network_of(with_extents(it, {"h": 2, "w": 3})), x, dtype=np.float64)
        for it in (before, module)
    )
    np.testing.assert_allclose(second[0], first[0], rtol=0, atol=1e-9)


def test_transformed_weights_of_one_size_stay(make_network: MakeNetwork) -> None:
    """Their taps lie innermost, also if the weights of an output are a multiple of 4 KB."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = weights_of(whole_numbers(b, 4, x.shape[0], 3, 3).value)
        constants = TransformConstants.of(b, Plane((F2, F2)), w, formed=True)
        return tiled(b, transformed(b, x, constants, (2, 2)), constants, 0.0, (2, 2), IMAGE)

    module = make_network([(1024, 6, 6)], write)
    MoveTapsOutside().apply(Context(), module)
    constants = [op.value for op in network_of(module).walk() if isinstance(op, ConstantOp)]
    assert [one.data.shape for one in constants if len(one.data.shape) == 4] == [(4, 1024, 3, 3)]
