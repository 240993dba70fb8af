"""Strided convolutions of few channels as those of phases: the same numbers, at a stride of 1."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.convolutions.space_to_depth import SpaceToDepth
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.same_numbers import after

MakeNetwork = Callable[..., ModuleOp]
Write = Callable[[Builder, Tensor], Tensor]


def strided(
    outputs: int,
    window: int,
    stride: int,
    low: int = 0,
    high: int = 0,
    *,
    dilation: int = 1,
    wide: int | None = None,
    border: float = 0.0,
) -> Write:
    """A convolution of a padded image, with a bias; `wide` if windows have
    another width.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, [0, low, low], [0, high, high], border)
        windows = window, window if wide is None else wide
        w = whole_numbers(b, outputs, x.shape[0], *windows)
        rows, columns = (
            (n - dilation * (k - 1) - 1) // stride + 1
            for n, k in zip(x.shape[1:], windows, strict=True)
        )
        bias = b.spread(whole_numbers(b, outputs), (outputs, rows, columns), axis=0)
        o, p, q, i, k, m = b.loops(f"o p:{rows} q:{columns} i k m")
        data = x[i, p * stride + k * dilation, q * stride + m * dilation]
        return b.sum((o, p, q), (i, k, m), data * w[o, i, k, m], bias)

    return write


def sums(views: list[LinalgOp]) -> list[tuple[int, ...]]:
    """The extents of what is summed over."""
    return [
        tuple(linalg_op.extents[d] for d in linalg_op.reduced)
        for linalg_op in views
        if linalg_op.reduced
    ]


@pytest.mark.parametrize(
    ("shape", "write", "summed"),
    [
        ((3, 115, 119), strided(64, 11, 4), (48, 3, 3)),
        ((3, 112, 112), strided(64, 11, 4, 2, 2), (48, 3, 3)),
        ((3, 113, 111), strided(64, 11, 4, 2, 1), (48, 3, 3)),
        ((3, 112, 112), strided(64, 11, 4, 2, 2, border=2.0), (48, 3, 3)),
        ((4, 64, 67), strided(64, 9, 3, 4, 4), (36, 3, 3)),
    ],
)
def test_numbers(
    make_network: MakeNetwork, shape: tuple[int, ...], write: Write, summed: tuple[int, ...]
) -> None:
    """Phases are channels, whether or not the image ends with a whole one of each."""
    assert sums(after(make_network([shape], write), SpaceToDepth())) == [summed]


@pytest.mark.parametrize(
    ("shape", "write"),
    [
        ((3, 64, 64), strided(64, 11, 1, 5, 5)),
        ((3, 64, 64), strided(64, 5, 4)),  # tiles are not worth it
        ((3, 64, 64), strided(64, 7, 2, 3, 3)),  # twelve channels
        ((3, 64, 64), strided(64, 4, 4)),  # each cell is read once
        ((3, 112, 112), strided(64, 11, 4, wide=9)),
        ((3, 112, 112), strided(64, 11, 4, dilation=2)),
        ((16, 112, 112), strided(64, 11, 4)),  # channels enough as they are
    ],
)
def test_stays(make_network: MakeNetwork, shape: tuple[int, ...], write: Write) -> None:
    """What has no stride, is no cheaper, or has no square window."""
    before = make_network([shape], write)
    text = str(before)
    after(before, SpaceToDepth())
    assert str(before) == text


def test_two_readers_of_a_padded_image(make_network: MakeNetwork) -> None:
    """The other one reads the pad as before."""

    def write(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
        x = b.pad(x, [0, 2, 2], [0, 2, 2])
        y, at = strided(64, 11, 4)(b, x), b.loops_of(x.shape)
        return y, b.map(at, x[at] * 2.0)

    views = after(make_network([(3, 112, 112)], write), SpaceToDepth())
    assert (48, 3, 3) in sums(views)
