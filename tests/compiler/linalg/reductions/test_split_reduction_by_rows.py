"""Images are summed row by row where they are large, behind the operation that makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.reductions.split_reduction_by_rows import SplitReductionByRows
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.same_numbers import after, marked

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Summed: TypeAlias = Callable[..., list[tuple[int, ...]]]

LARGE = (2, 48, 48, 16)
"""Blocks of 144 KB."""


def pooled(b: Builder, x: Tensor) -> Tensor:
    """The sum over rows and columns, on top of 3."""
    c, y, x_, lane = b.loops_of(x.shape)
    return b.sum((c, lane), over=(y, x_), of=x[c, y, x_, lane], init=3.0)


def of_plain_channels(b: Builder, x: Tensor) -> Tensor:
    """As pooled, of channels that lie one behind the other."""
    c, y, x_ = b.loops_of(x.shape)
    return b.sum((c,), over=(y, x_), of=x[c, y, x_])


def doubled(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] + x[at])


@pytest.fixture
def sums(make_network: MakeNetwork) -> Summed:
    """The shapes of all sums that the pass leaves, in order; the numbers stay the same."""

    def rewritten(write: Callable[..., Tensor], *shapes: tuple[int, ...]) -> list[tuple[int, ...]]:
        views = after(make_network(list(shapes), write), SplitReductionByRows())
        return [shape_of(linalg_op.op.results[0]) for linalg_op in views if linalg_op.reduced]

    return rewritten


def test_rows_first(sums: Summed) -> None:
    """Also of what the caller made."""
    assert sums(pooled, LARGE) == [(48, 2, 16), (2, 16)]
    assert sums(of_plain_channels, (3, 224, 224)) == [(224, 3), (3,)]


def test_rows_of_a_concat(sums: Summed) -> None:
    """They are summed as those of any other image."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return pooled(b, b.concat([doubled(b, x), x], axis=0))

    assert sums(write, LARGE) == [(48, 4, 16), (4, 16)]


def largest(b: Builder, x: Tensor) -> Tensor:
    c, y, x_, lane = b.loops_of(x.shape)
    return b.max((c, lane), over=(y, x_), of=x[c, y, x_, lane])


def of_squares(b: Builder, x: Tensor) -> Tensor:
    c, y, x_, lane = b.loops_of(x.shape)
    return b.sum((c, lane), over=(y, x_), of=x[c, y, x_, lane] * x[c, y, x_, lane])


def of_columns(b: Builder, x: Tensor) -> Tensor:
    c, y, x_, lane = b.loops_of(x.shape)
    return b.sum((c, y, lane), over=(x_,), of=x[c, y, x_, lane])


def of_a_diagonal(b: Builder, x: Tensor) -> Tensor:
    c, y, lane = b.loops_of((x.shape[0], *x.shape[2:]))
    return b.sum((c,), over=(y, lane), of=x[c, y, y, lane])


def of_one_channel(b: Builder, x: Tensor) -> Tensor:
    y, x_, lane = b.loops_of(x.shape[1:])
    return b.sum((lane,), over=(y, x_), of=x[1, y, x_, lane])


def of_every_second_row(b: Builder, x: Tensor) -> Tensor:
    c, y, x_, lane = b.loops_of((x.shape[0], x.shape[1] // 2, *x.shape[2:]))
    return b.sum((c, lane), over=(y, x_), of=x[c, y * 2, x_, lane])


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (pooled, (8, 28, 28, 16)),
        (of_plain_channels, (2048, 7, 7)),
        (largest, LARGE),
        (of_squares, LARGE),
        (of_columns, LARGE),
        (of_a_diagonal, LARGE),
        (of_one_channel, LARGE),
        (of_every_second_row, LARGE),
    ],
    ids=[
        "many blocks",
        "many channels",
        "no sum",
        "computed",
        "rows",
        "diagonal",
        "channel",
        "some rows",
    ],
)
def test_what_stays(sums: Summed, write: Callable[..., Tensor], shape: tuple[int, ...]) -> None:
    """Nothing is gained, or it is no sum over an image that the network makes."""
    assert len(sums(write, shape)) == 1


def test_sums_with_attributes_stay(make_network: MakeNetwork) -> None:
    """A tail is one of the whole image."""
    views = after(marked(make_network([LARGE], pooled)), SplitReductionByRows())
    assert sum(bool(linalg_op.reduced) for linalg_op in views) == 1
