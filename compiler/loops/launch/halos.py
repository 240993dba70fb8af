"""The border of a padded value as boxes of elements, as few and as long ones as there are.

    row      | < low .. own elements .. high > | < low .. own elements .. high > |
    runs       .                     ..............                     .

Where rows follow one another without gaps, what ends a row and what begins the next is one run;
with whole rows above and below the own ones, so are the end of a plane and the beginning of the
next.

Where sizes depend on the inputs, some boxes may have no elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ncc.compiler.plan import Halo, Subview


@dataclass(frozen=True)
class Box:
    """Cells of a frame: where the first one is and how far apart they are; how many an axis."""

    subview: Subview
    extents: tuple[int, ...]


def boxes(halo: Halo) -> Iterator[Box]:
    """Boxes that cover every element of the border once, and no other."""
    strides = halo.subview.strides
    dense = tuple(prod(halo.shape[axis + 1 :]) for axis in range(len(halo.shape)))
    return _runs(halo) if strides == dense else _slabs(halo)


def _runs(halo: Halo) -> Iterator[Box]:
    """The runs between two indices of each axis, the inner axes first; then both ends."""
    strides, shape = halo.subview.strides, halo.shape
    own = [n - low - high for n, low, high in zip(shape, halo.low, halo.high, strict=True)]
    first = sum(low * stride for low, stride in zip(halo.low, strides, strict=True))
    begin, end = 0, 0
    for axis in reversed(range(len(shape))):
        stride, outer = strides[axis], strides[:axis]
        inside = sum(n * s for n, s in zip(halo.low[axis + 1 :], strides[axis + 1 :], strict=True))
        between = own[axis] - 1
        if begin + end != 0 and own[axis] >= 1 and between != 0:
            offset = first - inside + stride - end
            yield _box(halo, offset, (*outer, stride, 1), (*own[:axis], between, begin + end))
        begin += halo.low[axis] * stride
        end += halo.high[axis] * stride
    if begin != 0:
        yield _box(halo, 0, (1,), (begin,))
    if end != 0:
        yield _box(halo, prod(shape) - end, (1,), (end,))


def _box(halo: Halo, offset: int, strides: tuple[int, ...], extents: tuple[int, ...]) -> Box:
    subview = halo.subview
    return Box(Subview(subview.buffer, subview.offset + offset, strides), extents)


def _slabs(halo: Halo) -> Iterator[Box]:
    """Each border panel in turn: axes before it without their own border, those behind with."""
    for axis in range(len(halo.shape)):
        for begin, size in (
            (0, halo.low[axis]),
            (halo.shape[axis] - halo.high[axis], halo.high[axis]),
        ):
            if size == 0:
                continue
            first, extents = [0] * len(halo.shape), list(halo.shape)
            for before in range(axis):
                first[before] = halo.low[before]
                extents[before] -= halo.low[before] + halo.high[before]
            first[axis], extents[axis] = begin, size
            yield Box(halo.subview.moved(first), tuple(extents))
