"""Vectors that are interleaved, and split again, shuffle by shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ncc.compiler.loops.emit.transpose import deinterleaved, interleaved, transposed, unfolded


class Lists:
    """A builder whose vectors are lists; it counts shuffles."""

    def __init__(self) -> None:
        self.shuffles = 0

    def binary(self, operation: object, a: list[int], b: list[int]) -> list[int]:
        return [x + y for x, y in zip(a, b, strict=True)]

    def shuffle(self, a: list[int], b: list[int], mask: Sequence[int]) -> list[int]:
        self.shuffles += 1
        return [[*a, *b][lane] for lane in mask]


def rows_of(count: int, lanes: int) -> list[Any]:
    return [list(range(i * lanes, (i + 1) * lanes)) for i in range(count)]


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 8])
def test_what_is_split_can_be_interleaved(count: int, lanes: int) -> None:
    """Each vector has one element of every n, and both ways are inverse."""
    builder: Any = Lists()
    memory = rows_of(count, lanes)
    members = deinterleaved(builder, memory, lanes)
    assert members == [list(range(i, count * lanes, count)) for i in range(count)]
    assert interleaved(builder, members, lanes) == memory


@pytest.mark.parametrize("count, shuffles", [(2, 2), (3, 6), (4, 8), (6, 18), (8, 24)])
def test_rounds_of_shuffles(count: int, shuffles: int) -> None:
    """An even number takes a shuffle for each vector, an odd one a shuffle for each other one."""
    builder: Any = Lists()
    deinterleaved(builder, rows_of(count, 16), 16)
    assert builder.shuffles == shuffles


def test_a_square() -> None:
    """Rows become columns in three rounds."""
    builder: Any = Lists()
    rows = rows_of(8, 8)
    assert transposed(builder, rows) == [list(column) for column in zip(*rows, strict=True)]
    assert builder.shuffles == 24


@pytest.mark.parametrize("times", [2, 4, 8])
def test_what_is_folded_is_added_up(times: int) -> None:
    """Neighbours, first two by two; then the sums are contiguous."""
    builder: Any = Lists()
    bits: Any = [1 << lane for lane in range(16)]
    sums: Any = unfolded(builder, bits, 16, times)
    ones = (1 << times) - 1
    assert sums[: 16 // times] == [ones << (i * times) for i in range(16 // times)]
    assert builder.shuffles == times.bit_length()
