"""One iteration of the sums on matrix tiles: 32 numbers of P tiles of points by Q of vectors.

    tiles 0 to 3    the sums: that of points p and vectors q is number p * Q + q
    tiles 4, 5      points, their high or their low parts
    tiles 6, 7      vectors, their high or their low parts

    low x * high w,  high x * high w,  high x * low w

In this order every part is loaded once, and loads are between products that do not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from xdsl.ir import Operation

from ncc.dialects.tile import MultiplyOp

HIGH, LOW = 0, 1
"""The parts of a number: the first bf16, and the one for the rest."""

Load: TypeAlias = Callable[[int, int, int], Operation]
"""Loads a tile, by its number: a part of the points or vectors at a position."""


def products_of(p: int, q: int, points: Load, vectors: Load) -> Iterator[Operation]:
    """The loads and products of an iteration, in order."""
    if q == 1:
        return _tall(p, points, vectors)
    return _pair(points, vectors) if p == 1 else _square(points, vectors)


def _tall(p: int, points: Load, vectors: Load) -> Iterator[Operation]:
    """Any tiles of points by one of vectors, whose parts stay loaded."""
    yield vectors(6, HIGH, 0)
    yield vectors(7, LOW, 0)
    for k in range(p):
        yield points(4, LOW, k)
        yield MultiplyOp(k, 4, 6)
        yield points(5, HIGH, k)
        yield MultiplyOp(k, 5, 6)
        yield MultiplyOp(k, 5, 7)


def _pair(points: Load, vectors: Load) -> Iterator[Operation]:
    """One tile of points by two of vectors."""
    yield vectors(6, HIGH, 0)
    yield points(4, LOW, 0)
    yield MultiplyOp(0, 4, 6)
    yield vectors(7, HIGH, 1)
    yield MultiplyOp(1, 4, 7)
    yield points(5, HIGH, 0)
    yield MultiplyOp(0, 5, 6)
    yield vectors(6, LOW, 0)
    yield MultiplyOp(1, 5, 7)
    yield vectors(7, LOW, 1)
    yield MultiplyOp(0, 5, 6)
    yield MultiplyOp(1, 5, 7)


def _square(points: Load, vectors: Load) -> Iterator[Operation]:
    """Two tiles of points by two of vectors."""
    yield vectors(6, HIGH, 0)
    yield points(4, LOW, 0)
    yield MultiplyOp(0, 4, 6)
    yield vectors(7, HIGH, 1)
    yield MultiplyOp(1, 4, 7)
    yield points(5, LOW, 1)
    yield MultiplyOp(2, 5, 6)
    yield points(4, HIGH, 0)
    yield MultiplyOp(3, 5, 7)
    yield MultiplyOp(0, 4, 6)
    yield points(5, HIGH, 1)
    yield MultiplyOp(1, 4, 7)
    yield MultiplyOp(2, 5, 6)
    yield vectors(6, LOW, 0)
    yield MultiplyOp(3, 5, 7)
    yield vectors(7, LOW, 1)
    yield MultiplyOp(0, 4, 6)
    yield MultiplyOp(2, 5, 6)
    yield MultiplyOp(1, 4, 7)
    yield MultiplyOp(3, 5, 7)
