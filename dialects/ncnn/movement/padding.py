"""Padding: a border around a blob, of one value, of a value a channel, or of its own elements.

Mirrored and repeated borders are lowered to concats: the network computes the elements of the
border, and the image between them need not be moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute

from ncc.dialects.ncnn.axes import along_axis
from ncc.dialects.ncnn.checks import check_choice, check_element
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    Weight,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.moving import MovingLayer
from ncc.dialects.scalar import index, number_of_size, select
from ncc.dialects.size import is_open

CONSTANT, REPLICATE, REFLECT = 0, 1, 2

Pads: TypeAlias = list[tuple[int, int]]


@layer("Padding")
class PaddingOp(MovingLayer):
    """Cells before and behind each axis but the channels of rank 4.

    Type 0 fills them with `value`, or with one value for each channel of the result; type 1 repeats
    the element at the edge; type 2 mirrors the elements about the one at the edge.
    """

    top = integer(0)
    bottom = integer(1)
    left = integer(2)
    right = integer(3)
    type = integer(4)
    value = real(5)
    per_channel_pad_data_size = integer(6)
    front = integer(7)
    behind = integer(8)

    per_channel_pad_data = Weight(
        lambda op: (op.per_channel_pad_data_size,) if op.per_channel_pad_data_size else None
    )

    def check(self) -> None:
        check_choice(self, "type", (CONSTANT, REPLICATE, REFLECT))
        if self.per_channel_pad_data_size < 0:
            raise LayerError(
                f"per_channel_pad_data_size is {self.per_channel_pad_data_size}",
                "per_channel_pad_data_size",
            )
        for name in ("top", "bottom", "left", "right", "front", "behind"):
            if getattr(self, name) < 0:
                raise LayerError(f"{name} is {getattr(self, name)}, not 0 or above", name)

    def pads(self, rank: int) -> Pads:
        """The elements before and behind each axis of a blob of that rank."""
        channels: Pads = [(0, 0)] if rank == 4 else []
        inner = [(self.front, self.behind), (self.top, self.bottom), (self.left, self.right)]
        return channels + inner[-rank:]

    @property
    def values(self) -> Array | None:
        """The value of each channel of the result, if they have values of their own."""
        if self.type != CONSTANT or self.per_channel_pad_data is None:
            return None
        return self.per_channel_pad_data.array()

    def element_types(self, *operands: Attribute) -> Attribute | Sequence[Attribute]:
        if self.type == CONSTANT:
            check_element(self, "value", operands[0])
        return super().element_types(*operands)

    def infer(self, x: Shape) -> Shape:
        pads = self.pads(len(x))
        shape = tuple(before + n + behind for n, (before, behind) in zip(x, pads, strict=True))
        if self.type == REFLECT and any(max(p) >= n for p, n in zip(pads, x, strict=True)):
            raise LayerError(f"{x} is too small to be mirrored for the borders {pads}", "type")
        if self.values is not None and (len(x) < 3 or len(self.values) != shape[0]):
            raise LayerError(
                f"{len(self.values)} values do not fit the channels of a result of shape {shape}",
                "per_channel_pad_data_size",
            )
        return shape

    def tables(self, x: Shape) -> int:
        if self.type == CONSTANT and self.values is None:
            return 0
        pads = [(n, pad) for n, pad in zip(x, self.pads(len(x)), strict=True) if not is_open(n)]
        inside = self.type == CONSTANT
        return sum(sum(pad) + n * inside for n, pad in pads if any(pad))

    def reference(self, x: Array) -> Array:
        pads = self.pads(x.ndim)
        if self.type == REPLICATE:
            return np.pad(x, pads, mode="edge")
        if self.type == REFLECT:
            return np.pad(x, pads, mode="reflect")
        if self.values is None:
            return np.pad(x, pads, constant_values=np.float32(self.value))
        filled = np.empty(self.infer(x.shape), x.dtype)
        filled[...] = self.values.reshape(along_axis(0, x.ndim))
        filled[tuple(slice(p, p + n) for (p, _), n in zip(pads, x.shape, strict=True))] = x
        return filled

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        pads = self.pads(x.rank)
        if not any(map(any, pads)):
            return x
        if self.type != CONSTANT:
            return with_borders(b, x, pads, self.type)
        low, high = [before for before, _ in pads], [behind for _, behind in pads]
        if self.values is None:
            return b.pad(x, low, high, self.value)
        return _fill_channels(b, b.pad(x, low, high), b.table(self.values), x.shape, pads)


def with_borders(b: Builder, x: Tensor, pads: Pads, type: int) -> Tensor:
    """Borders in front of x and behind it, an axis at a time: each shows elements of what is there
    so far, which need not be moved for them.
    """
    for axis, (n, pad) in reversed([*enumerate(zip(x.shape, pads, strict=True))]):
        sides = (np.arange(-pad[0], 0), np.arange(pad[1]))
        if is_open(n):
            first = source_elements(sides[0], LONG, type)
            last = source_elements(sides[1] + LONG, LONG, type) - (LONG - 1)
            before, behind = _elements(b, x, axis, first), _elements(b, x, axis, last, n - 1)
        else:
            before, behind = (
                _elements(b, x, axis, source_elements(places, n, type))
                for places in (sides[0], sides[1] + n)
            )
        x = b.concat([*before, x, *behind], axis)
    return x


LONG = 1 << 31
"""More elements than any axis has."""


def _elements(
    b: Builder, x: Tensor, axis: int, places: NDArray[np.int64], base: int = 0
) -> list[Tensor]:
    """Some elements along an axis, by their distance from `base`; nothing of none."""
    if not len(places):
        return []
    table = b.table(places)
    at = b.loops_of((*x.shape[:axis], len(places), *x.shape[axis + 1 :]))
    place = table[at[axis]] + number_of_size(base, index) if is_open(base) else table[at[axis]]
    return [b.map(at, x.at(*(place if k == axis else b.index(i) for k, i in enumerate(at))))]


def source_elements(places: NDArray[np.int64], n: int, type: int) -> NDArray[np.int64]:
    """For places along an axis of n elements with its border, the elements that they show."""
    if type == REPLICATE:
        return np.clip(places, 0, n - 1)
    return np.asarray(n - 1 - np.abs(n - 1 - np.abs(places)))


def _fill_channels(b: Builder, x: Tensor, values: Tensor, inner: Shape, pads: Pads) -> Tensor:
    """x with the value of the channel wherever a place is outside the inner blob."""
    tables = {}
    for axis, (n, (before, behind)) in enumerate(zip(inner, pads, strict=True)):
        if before or behind:
            tables[axis] = _inside(b, n, before, behind)
    at = b.loops_of(x.shape)
    inside = reduce(lambda p, q: p * q, [table[at[axis]] for axis, table in tables.items()])
    return b.map(at, select(inside > 0.0, x[at], values[at[0]]))


def _inside(b: Builder, n: int, before: int, behind: int) -> Tensor:
    """1 for each place along an axis that is inside of the inner blob, else 0."""
    if is_open(n):
        return b.pad(b.full((n,), 1.0), (before,), (behind,))
    return b.table(np.pad(np.ones(n), (before, behind)))
