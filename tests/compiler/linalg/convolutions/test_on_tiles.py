"""What follows a convolution in tiles: done there where it can be, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.convolutions.forms import Form
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert, maximum
from tests.compiler.linalg.convolutions.layers import convolution, grouped, weights
from tests.compiler.linalg.convolutions.tiled import MakeNetwork, check_numbers, generics
from tests.compiler.linalg.operations import add, relu

SHAPE = (16, 7, 7)

Follow = Callable[[Builder, Tensor, Tensor], Tensor]


def with_coordinates(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    scales = weights(b, y.shape[1:2], 3)
    at = b.loops_of(y.shape)
    return b.map(at, y[at] * scales.at(b.index(at[1])))


def with_itself_turned(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] + y[o, q, p])


def by_its_corner(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), maximum(y[o, 0, 0], 0.0))


def turned(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), maximum(y[o, q, p], 0.0))


def with_another_turned(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] + x[o, q, p])


def with_rows(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    scales = weights(b, y.shape[1:2], 3)
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] * scales[p])


def with_columns_of_channels(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    scales = weights(b, (y.shape[0], y.shape[2]), 3)
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] * scales[o, q])


def first_row(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    room = b.full(y.shape, 0.5)
    o, q = b.loops("o q")
    return b.map((o, 0, q), maximum(y[o, 0, q], 0.0), into=room)


def added_in_place(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    at = b.loops_of(y.shape)
    return b.sum(at, (), x[at] * 0.5, y)


def on_top(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    w = weights(b, (y.shape[0], x.shape[0]), 3)
    o, p, q, i = b.loops("o p q i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i], y)


@pytest.mark.parametrize(
    "follow",
    [
        with_coordinates,
        with_itself_turned,
        by_its_corner,
        turned,
        with_another_turned,
        with_rows,
        with_columns_of_channels,
        first_row,
        added_in_place,
        on_top,
    ],
    ids=lambda follow: follow.__name__,
)
def test_what_waits_for_the_image(
    make_network: MakeNetwork, follow: Follow, always_tiled: Form
) -> None:
    """It reads other elements than its own, which have other indices in tiles."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return follow(b, relu(b, convolution(b, x, 16)), x)

    check_numbers(make_network([SHAPE], write), [SHAPE], always_tiled)


def test_another_type(make_network: MakeNetwork, always_tiled: Form) -> None:
    """The tiles are bytes, too, where bytes are made of the result, as for an int8 layer."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, convolution(b, x, 16))
        at = b.loops_of(y.shape)
        bytes = b.map(at, convert(y[at] * 9.0, i8))
        at = b.loops_of(y.shape)
        return b.map(at, convert(bytes[at], f32))

    module = make_network([SHAPE], write)
    check_numbers(module, [SHAPE], always_tiled)
    types = [element_of(op.results[0]) for op in generics(module)]
    assert types[-2:] == [i8, f32]
    assert all(op.body.block.args[-1].type == element_of(op.results[0]) for op in generics(module))


@pytest.mark.parametrize("axis", [0, 1], ids=["a number a group", "a number a channel of each"])
def test_groups(make_network: MakeNetwork, axis: int, always_tiled: Form) -> None:
    """Tiles have no axis for groups: their channels follow each other."""
    shape = (32, 8, 8)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = grouped(b, x, 16, window=3)
        scales = weights(b, y.shape[axis : axis + 1], 3)
        at = b.loops_of(y.shape)
        return relu(b, b.map(at, y[at] * scales[at[axis]]))

    check_numbers(make_network([shape], write), [shape], always_tiled)


def test_a_residual_that_is_padded_later(make_network: MakeNetwork, always_tiled: Form) -> None:
    """Its frame has room for whole tiles, but is not there when they are summed."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        y = add(b, convolution(b, x, 16, pad=1), relu(b, x))
        other = relu(b, x)
        y = relu(b, add(b, convolution(b, y, 16), other))
        return add(b, y, convolution(b, other, 16))

    module = make_network([SHAPE], write)
    check_numbers(module, [SHAPE], always_tiled)
    known: set[SSAValue] = set(network_of(module).body.block.args)
    for op in network_of(module).body.block.ops:
        assert known.issuperset(op.operands)
        known.update(op.results)
