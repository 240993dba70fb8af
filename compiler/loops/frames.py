"""The border of a padded value as boxes of cells, as few and as long ones as there are.

    row      | < low .. own cells .. high > | < low .. own cells .. high > |
    runs       .                     ..............                     .

Where rows follow one another without gaps, what ends a row and what begins the next is one run;
with whole rows above and below the own ones, so are the end of a plane and the beginning of the
next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ncc.compiler.plan import Frame, Place


@dataclass(frozen=True)
class Box:
    """Cells of a frame: where the first one is and how far apart they are; how many an axis."""

    place: Place
    extents: tuple[int, ...]


def boxes(frame: Frame) -> Iterator[Box]:
    """Boxes that cover every cell of the border once, and no other."""
    strides = frame.place.strides
    dense = tuple(prod(frame.shape[axis + 1 :]) for axis in range(len(frame.shape)))
    return _runs(frame) if strides == dense else _slabs(frame)


def _runs(frame: Frame) -> Iterator[Box]:
    """The runs between two indices of each axis, the inner axes first; then both ends."""
    strides, shape = frame.place.strides, frame.shape
    own = [n - low - high for n, low, high in zip(shape, frame.low, frame.high, strict=True)]
    first = sum(low * stride for low, stride in zip(frame.low, strides, strict=True))
    begin, end = 0, 0
    for axis in reversed(range(len(shape))):
        stride, outer = strides[axis], strides[:axis]
        inside = sum(n * s for n, s in zip(frame.low[axis + 1 :], strides[axis + 1 :], strict=True))
        if begin + end and own[axis] > 1:
            offset = first - inside + stride - end
            yield _box(
                frame, offset, (*outer, stride, 1), (*own[:axis], own[axis] - 1, begin + end)
            )
        begin += frame.low[axis] * stride
        end += frame.high[axis] * stride
    if begin:
        yield _box(frame, 0, (1,), (begin,))
    if end:
        yield _box(frame, prod(shape) - end, (1,), (end,))


def _box(frame: Frame, offset: int, strides: tuple[int, ...], extents: tuple[int, ...]) -> Box:
    place = frame.place
    return Box(Place(place.root, place.offset + offset, strides), extents)


def _slabs(frame: Frame) -> Iterator[Box]:
    """Each border slab in turn: axes before it without their own border, those behind with."""
    for axis in range(len(frame.shape)):
        for begin, size in (
            (0, frame.low[axis]),
            (frame.shape[axis] - frame.high[axis], frame.high[axis]),
        ):
            if size == 0:
                continue
            first, extents = [0] * len(frame.shape), list(frame.shape)
            for before in range(axis):
                first[before] = frame.low[before]
                extents[before] -= frame.low[before] + frame.high[before]
            first[axis], extents[axis] = begin, size
            yield Box(frame.place.moved(first), tuple(extents))
