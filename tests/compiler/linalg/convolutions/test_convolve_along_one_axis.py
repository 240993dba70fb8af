"""Windows that are a row, or a column, in tiles of one: the same numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from xdsl.context import Context

from ncc.compiler.linalg.convolutions.forms import Form
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.convolutions.layers import along, pool, weights
from tests.compiler.linalg.convolutions.tiled import MakeNetwork, calls_of, check_numbers
from tests.compiler.linalg.operations import add, relu
from tests.crossed import crossed


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize(("taps", "loops"), crossed([2, 3, 4, 5, 7, 9, 11], [1, 2]))
def test_along_one_axis(
    make_network: MakeNetwork, taps: int, axis: int, loops: int, always_tiled: Form
) -> None:
    """Windows that are a row, or a column, of any length, with followers on their tiles."""
    shape = (16, 13, 14)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, along(b, relu(b, x), 16, taps, axis, loops=loops))
        return add(b, along(b, y, 16, taps, 3 - axis, loops=loops), x)

    check_numbers(make_network([shape], write), [shape], always_tiled)


@pytest.mark.parametrize("taps", [3, 7])
@pytest.mark.parametrize("dilation", [2, 5])
@pytest.mark.parametrize("axis", [1, 2])
def test_dilations_along_one_axis(
    make_network: MakeNetwork, taps: int, dilation: int, axis: int, always_tiled: Form
) -> None:
    """Phases are those of the axis that has a dilation."""
    shape = (16, 10, 40) if axis == 2 else (16, 33, 6)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, along(b, relu(b, x), 16, taps, axis, dilation=dilation))
        return pool(b, relu(b, add(b, along(b, y, 16, taps, axis, dilation=dilation), x)))

    check_numbers(make_network([shape], write), [shape], always_tiled)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_stride_along_one_axis(
    make_network: MakeNetwork, axis: int, always_tiled_at_stride: Form
) -> None:
    """Every other element of a row, or of a column, and all rows, or columns."""
    shape = (16, 14, 17)
    write = partial(along, outputs=16, taps=3, axis=axis, stride=2)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, write(b, relu(b, x)))),
        [shape],
        always_tiled_at_stride,
    )


def rows_of_a_volume(b: Builder, x: Tensor) -> Tensor:
    """Windows of three slices by one row by seven columns."""
    x = b.pad(x, [0, 1, 0, 3], [0, 1, 0, 3])
    depth, height, width = x.shape[1] - 2, x.shape[2], x.shape[3] - 6
    w = weights(b, (16, x.shape[0], 3, 1, 7))
    bias = b.spread(weights(b, (16,), 1), (16, depth, height, width), axis=0)
    o, z, p, q, i, d, k, m = b.loops(f"o z:{depth} p:{height} q:{width} i d k m")
    return b.sum((o, z, p, q), (i, d, k, m), x[i, z + d, p + k, q + m] * w[o, i, d, k, m], bias)


def test_rows_of_volumes(make_network: MakeNetwork, always_tiled: Form) -> None:
    """The sum runs over parts of a window and taps along the depth."""
    shape = (16, 3, 6, 13)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, rows_of_a_volume(b, relu(b, x)))),
        [shape],
        always_tiled,
    )


def test_rows_in_groups(make_network: MakeNetwork, always_tiled: Form) -> None:
    """A long window in groups: each group sums its channels and all parts."""
    shape = (32, 9, 12)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(relu(b, x), [0, 0, 3], [0, 0, 3])
        w = weights(b, (2, 16, 16, 7))
        g, o, p, q, i, m = b.loops("g o p:9 q:12 i m")
        return b.sum((g, o, p, q), (i, m), x[g * 16 + i, p, q + m] * w[g, o, i, m])

    check_numbers(make_network([shape], write), [shape], always_tiled)


def residual(b: Builder, x: Tensor, taps: int, dilation: int) -> Tensor:
    """Two convolutions of a sequence, and the sequence added, which lies in the first one's pad."""
    x = relu(b, x)
    y = relu(b, along(b, x, x.shape[0], taps, 2, dilation=dilation))
    return relu(b, add(b, along(b, y, x.shape[0], taps, 2, dilation=dilation), x))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("taps, dilation", [(3, 1), (7, 1), (3, 4), (7, 3)])
@pytest.mark.parametrize("width", [12, 41])
def test_strips_of_columns(
    make_network: MakeNetwork,
    width: int,
    taps: int,
    dilation: int,
    size: int,
    always_tiled: Form,
) -> None:
    """One row of tiles is cut along it, with what follows; the last strip is what is left."""
    shape = (16, 1, width)
    write = partial(residual, taps=taps, dilation=dilation)
    check_numbers(make_network([shape], write), [shape], always_tiled, size)


def row(b: Builder, x: Tensor, outputs: int, seed: int) -> Tensor:
    """A convolution along rows of three taps, without a border and a bias."""
    w = weights(b, (outputs, x.shape[0], 3), seed)
    o, p, q, i, k = b.loops(f"o p:{x.shape[1]} q:{x.shape[2] - 2} i k")
    return b.sum((o, p, q), (i, k), x[i, p, q + k] * w[o, i, k])


def test_strips_of_columns_side_by_side(make_network: MakeNetwork, always_tiled: Form) -> None:
    """Two convolutions of one sequence are computed strip by strip from one V."""
    shape = (16, 1, 41)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        x = relu(b, b.pad(x, [0, 0, 1], [0, 0, 1]))
        return [relu(b, row(b, x, 32, 1)), row(b, x, 16, 2)]

    check_numbers(make_network([shape], write), [shape], always_tiled)


def test_strips_of_columns_at_stride(
    make_network: MakeNetwork, always_tiled_at_stride: Form
) -> None:
    """The same, where tiles of the input are two steps apart."""
    shape = (16, 1, 37)
    write = partial(along, outputs=16, taps=3, axis=2, stride=2)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, write(b, relu(b, x)))),
        [shape],
        always_tiled_at_stride,
    )


def test_strips_of_columns_by_windows_of_rows(
    make_network: MakeNetwork, always_tiled: Form
) -> None:
    """All phases of a dilation are one row of tiles, whose columns have one element."""
    shape = (16, 8, 5)
    write = partial(along, outputs=16, taps=3, axis=1, dilation=4)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, write(b, relu(b, x)))), [shape], always_tiled
    )


def test_strips_of_columns_of_volumes(make_network: MakeNetwork, always_tiled: Form) -> None:
    """Each slice has one row of tiles."""
    shape = (16, 3, 1, 30)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, rows_of_a_volume(b, relu(b, x)))),
        [shape],
        always_tiled,
    )


@pytest.mark.parametrize("taps, dilation", [(3, 1), (3, 4)])
def test_strips_of_columns_without_a_copy(
    make_network: MakeNetwork, make_plan: Any, always_tiled: Form, taps: int, dilation: int
) -> None:
    """Three kernels a strip, with all that follows, and not a single copy between them."""
    shape = (16, 1, 41)
    strips = -(-shape[-1] // (always_tiled.tile * dilation))
    module = make_network([shape], partial(residual, taps=taps, dilation=dilation))
    check_numbers(module, [shape], always_tiled)
    PackChannels().apply(Context(), module)
    before_and_behind = 3  # the first activation, blocks of 16 in, and out
    assert strips > 2
    assert len(calls_of(make_plan(module))) <= 2 * 3 * strips + before_and_behind
