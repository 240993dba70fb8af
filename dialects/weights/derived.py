"""Sources of weights that are made of other weights: in another order, or computed.

Nothing is made before the numbers are asked for. `Taken(w, (2, 0)).weights` is a weight of two rows
of w.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ncc.dialects.bfloat16 import bf16_pairs
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Array, Derived, Weights


class Moved(Derived, ABC):
    """The values of another weight in another order, some of them twice, beside zeros."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.of.dtype


@dataclass(frozen=True)
class Blocked(Moved):
    """Another weight in blocks: each axis of `axes` is rounded up to whole blocks with zeros and
    split; the inner axes come last, in this order. (64, 3, 3, 3) by axis 0 is (4, 3, 3, 3, 16).
    """

    axes: tuple[int, ...]
    block: int

    @property
    def shape(self) -> Shape:
        outer = [
            -(-extent // self.block) if axis in self.axes else extent
            for axis, extent in enumerate(self.of.shape)
        ]
        return *outer, *[self.block] * len(self.axes)

    def array(self) -> Array:
        """The blocks as a view of the plain values, where these fill whole blocks."""
        plain = self.of.array()
        rest = [
            -plain.shape[axis] % self.block if axis in self.axes else 0
            for axis in range(plain.ndim)
        ]
        padded = np.pad(plain, [(0, n) for n in rest]) if any(rest) else plain
        split: list[int] = []
        outer: list[int] = []
        inner: dict[int, int] = {}
        for axis, extent in enumerate(padded.shape):
            outer.append(len(split))
            split.append(extent // self.block if axis in self.axes else extent)
            if axis in self.axes:
                inner[axis] = len(split)
                split.append(self.block)
        order = [*outer, *(inner[axis] for axis in self.axes)]
        return padded.reshape(split).transpose(order)

    def write(self, out: Array) -> None:
        source = self.of.source
        if isinstance(source, Transformed) and source.leaves(self.of.shape, self.axes):
            # Whether the other axes are in blocks makes no difference to the transformation.
            source.of_blocks(tuple(axis - 2 for axis in self.axes), self.block).write(out)
        else:
            super().write(out)

    def rows(self, first: int, end: int) -> Weights | None:
        rows = self.block if 0 in self.axes else 1
        some = self.of.rows(first * rows, min(end * rows, self.of.shape[0]))
        return some and Blocked(some, self.axes, self.block).weights


@dataclass(frozen=True)
class Folded(Moved):
    """Another weight in blocks of inputs and, innermost, of outputs; in memory the last of these is
    folded, which has a half or less of its outputs: so many rows, of an input each, are one.

    What `array` has at (k, o) of that block lies at (k // times, o * times + k % times).
    """

    times: int

    @property
    def shape(self) -> Shape:
        return self.of.shape

    @property
    def blocks(self) -> Blocked:
        """The part that is folded."""
        source = self.of.source
        if not isinstance(source, Blocked) or len(source.axes) != 2:
            raise TypeError("weights are folded that are not in blocks of inputs and outputs")
        return source

    @property
    def outputs(self) -> int:
        """The axis of the blocks of outputs."""
        return self.blocks.axes[-1]

    def array(self) -> Array:
        return self.of.array()

    def write(self, out: Array) -> None:
        self.of.write(out)
        last = out[(slice(None),) * self.outputs + (-1,)]
        plain, count = last.copy(), self.blocks.block // self.times
        last[...] = 0
        for place in range(self.times):
            last[..., :count, place :: self.times] = plain[..., place :: self.times, :count]


@dataclass(frozen=True)
class Taken(Moved):
    """Some of another weight along an axis, in any order and any number of times."""

    places: tuple[int, ...]
    axis: int = 0

    @property
    def shape(self) -> Shape:
        plain = self.of.shape
        return *plain[: self.axis], len(self.places), *plain[self.axis + 1 :]

    def array(self) -> Array:
        return self.of.array().take(self.places, self.axis)

    def rows(self, first: int, end: int) -> Weights | None:
        some = self.of.rows(first, end) if self.axis else None
        return some and Taken(some, self.places, self.axis).weights


@dataclass(frozen=True)
class Transposed(Moved):
    """Another weight, its axes in an order: (64, 32, 3, 3) by (0, 2, 3, 1) is (64, 3, 3, 32)."""

    order: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        return tuple(self.of.shape[axis] for axis in self.order)

    def array(self) -> Array:
        return self.of.array().transpose(self.order)

    def rows(self, first: int, end: int) -> Weights | None:
        some = None if self.order[0] else self.of.rows(first, end)
        return some and Transposed(some, self.order).weights


@dataclass(frozen=True)
class Phases(Moved):
    """Another weight, of a transposed convolution, as that of a convolution for all its phases.

    places: of each of its last axes, the taps of each phase in the order of its window, -1 where it
    has none. With two phases of two taps along both, (64, 32, 3, 3) becomes (256, 32, 2, 2).
    """

    places: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def shape(self) -> Shape:
        outputs, inputs = self.of.shape[:2]
        phases = prod(len(places) for places in self.places)
        return outputs * phases, inputs, *(len(places[0]) for places in self.places)

    def array(self) -> Array:
        space = len(self.places)
        taps = np.pad(self.of.array(), [(0, 0), (0, 0), *[(0, 1)] * space])
        for axis, places in enumerate(self.places):
            taps = taps.take(np.array(places), 2 + 2 * axis)
        phases, windows = range(2, 2 + 2 * space, 2), range(3, 3 + 2 * space, 2)
        return taps.transpose(0, *phases, 1, *windows).reshape(self.shape)


@dataclass(frozen=True)
class Unstrided(Moved):
    """Another weight, of a convolution at a stride along both axes, as that of one at a stride of 1
    whose inputs are the phases of each input. (64, 3, 7, 7) by 2 becomes (64, 12, 4, 4).
    """

    stride: int

    @property
    def shape(self) -> Shape:
        outputs, inputs, rows, columns = self.of.shape
        step = self.stride
        return outputs, inputs * step**2, -(-rows // step), -(-columns // step)

    def array(self) -> Array:
        outputs, inputs, *window = self.of.shape
        step = self.stride
        taps = np.pad(self.of.array(), [(0, 0), (0, 0), *((0, -n % step) for n in window)])
        _, _, rows, columns = self.shape
        apart = taps.reshape(outputs, inputs, rows, step, columns, step)
        return apart.transpose(0, 1, 3, 5, 2, 4).reshape(self.shape)


class OfRows(Moved):
    """Another weight, of a convolution, by rows of its window: what multiplies one behind the other
    the elements of a row, all inputs of each. (64, 3, 7, 7) becomes (64, 7, 21).
    """

    @property
    def shape(self) -> Shape:
        outputs, inputs, *window, columns = self.of.shape
        return outputs, *window, columns * inputs

    def array(self) -> Array:
        return np.moveaxis(self.of.array(), 1, -1).reshape(self.shape)


@dataclass(frozen=True)
class Joined(Moved):
    """Another weight, of groups of channels, with groups joined: `count` of them are one, which
    multiplies channels of the others by zero. (6, 8, 8, 3, 3) by twos becomes (3, 16, 16, 3, 3).
    """

    count: int

    @property
    def shape(self) -> Shape:
        groups, outputs, inputs, *window = self.of.shape
        return groups // self.count, self.count * outputs, self.count * inputs, *window

    def array(self) -> Array:
        groups, outputs, inputs, *window = self.of.shape
        parts = self.of.array().reshape(-1, self.count, outputs, inputs, *window)
        shape = groups // self.count, self.count, outputs, self.count, inputs, *window
        joined = np.zeros(shape, parts.dtype)
        for place in range(self.count):
            joined[:, place, :, place] = parts[:, place]
        return joined.reshape(self.shape)


_TERMS_AT_ONCE = 1 << 18
"""Terms of a product that is made at a time: few enough that it stays in the cache, and that BLAS
starts no threads for it. It would lose more by waiting for a thread, on a busy machine, than it
wins.
"""


@dataclass(frozen=True)
class Transformed(Derived):
    """Another weight, two of its axes transformed: `m @ w @ n.T` for two matrices m and n.

    The transformed axes come first: with 6 rows each, (64, 32, 3, 3) becomes (6, 6, 64, 32).
    `first` is the first of the two; by default they are the last. Computed in float64.
    """

    down: tuple[tuple[float, ...], ...]
    across: tuple[tuple[float, ...], ...]
    first: int = -2

    @property
    def shape(self) -> Shape:
        first = self.first % len(self.of.shape)
        others = *self.of.shape[:first], *self.of.shape[first + 2 :]
        return len(self.down), len(self.across), *others

    def array(self) -> Array:
        made = np.empty(self.shape, np.float32)
        self.write(made)
        return made

    def write(self, out: Array) -> None:
        """Slab by panel of the axes that are not transformed."""
        both = np.kron(np.array(self.down, np.float64), np.array(self.across, np.float64))
        axes = (self.first, self.first + 1)
        windows = np.atleast_3d(np.moveaxis(self.of.array(), axes, (0, 1)))
        made = out.reshape(len(both), windows.shape[2], -1)
        wide = np.empty(windows[:, :, :1].shape)
        columns = wide.reshape(both.shape[1], -1)
        step = max(1, _TERMS_AT_ONCE // both.size)
        products = np.empty((len(both), step))
        for panel in range(made.shape[1]):
            wide[:, :, 0] = windows[:, :, panel]
            for start in range(0, columns.shape[1], step):
                some = columns[:, start : start + step]
                product = np.matmul(both, some, out=products[:, : some.shape[1]])
                made[:, panel, start : start + some.shape[1]] = product

    def leaves(self, shape: Shape, axes: tuple[int, ...]) -> bool:
        """Whether axes of what it makes, under a shape, are those in front of the transformed."""
        return self.first == -2 and shape == self.shape and min(axes) > 1

    def of_blocks(self, axes: tuple[int, ...], block: int) -> Transformed:
        """The same of blocks along axes that are not transformed, which come behind all others."""
        first = self.first % len(self.of.shape)
        return Transformed(Blocked(self.of, axes, block).weights, self.down, self.across, first)


_DEQUANTIZED_AT_ONCE = 1 << 20
"""Numbers that are unpacked at a time: intermediate values take several times their memory."""


@dataclass(frozen=True)
class Dequantized(Derived):
    """Rows of `columns` whole numbers of `bits` bits, each `block` of them divided by its scale.

    `of` (rows, bytes) holds them low bits first, in two's complement; `scales` is (rows, blocks).
    A value is q * (1 / scale), each of both steps rounded to float32.
    """

    scales: Weights
    bits: int
    block: int
    columns: int

    @property
    def shape(self) -> Shape:
        return self.of.shape[0], self.columns

    def array(self) -> Array:
        rows, columns = self.shape
        packed, inverse = self.of.array(), np.float32(1) / self.scales.array()
        values = np.empty((rows, columns), np.float32)
        step = max(1, _DEQUANTIZED_AT_ONCE // columns)
        for start in range(0, rows, step):
            part = slice(start, start + step)
            factors = np.repeat(inverse[part], self.block, axis=1)[:, :columns]
            values[part] = unpack_integers(packed[part], self.bits, columns) * factors
        return values


def unpack_integers(packed: Array, bits: int, columns: int) -> Array:
    """The int8 (rows, columns) whose lowest `bits` bits stand one behind the other in each row.

    packed: int8 (rows, bytes); the first number has the lowest bits of the first byte. bits: up to
    8.
    """
    wide = np.pad(packed.view(np.uint8), [(0, 0), (0, 1)]).astype(np.uint16)
    first = np.arange(columns) * bits
    pairs = wide[:, first // 8] | wide[:, first // 8 + 1] << 8
    fields = (pairs >> (first % 8).astype(np.uint16)).astype(np.int16) & (2**bits - 1)
    sign = 1 << bits - 1
    return np.asarray((fields ^ sign) - sign, np.int8)


class Paired(Derived):
    """The int8 values of another weight, two in an int32, its last two axes transposed.

    (..., rows, columns) becomes (..., half, rows) with half the columns, rounded up: low bits are
    those of column k, high bits those of column half + k, or of a zero where there is none.
    """

    KIND = np.int32

    @property
    def shape(self) -> Shape:
        *outer, rows, columns = self.of.shape
        return *outer, -(-columns // 2), rows

    def array(self) -> Array:
        plain = np.swapaxes(self.of.array(), -1, -2).astype(np.int32)
        half = -(-plain.shape[-2] // 2)
        paired = plain[..., :half, :] & 0xFFFF
        above = plain[..., half:, :]
        paired[..., : above.shape[-2], :] |= above << 16
        return paired


@dataclass(frozen=True)
class Surplus(Derived):
    """-128 times the sums of int8 weights over all axes but those of `kept`: what is wrong with a
    sum of products whose other factors have 128 too much. Some of (64, 3, 3, 3) by (0,) is (64,).
    """

    KIND = np.int32

    kept: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        return tuple(self.of.shape[axis] for axis in self.kept)

    def array(self) -> Array:
        summed = tuple(axis for axis in range(len(self.of.shape)) if axis not in self.kept)
        return np.asarray(self.of.array().sum(axis=summed, dtype=np.int32) * np.int32(-128))


class Bits(Derived):
    """The float32 values of another weight taken for int32, bit by bit."""

    KIND = np.int32

    @property
    def shape(self) -> Shape:
        return self.of.shape

    def array(self) -> Array:
        return np.ascontiguousarray(self.of.array()).view(np.int32)


class Bf16Pairs(Derived):
    """Another weight as the sum of two bfloat16, of which the first is the nearest one.

    (.., k, o, q) becomes (.., 2, k, o, q). The second half of what is not finite is 0.
    """

    KIND = np.uint16

    @property
    def shape(self) -> Shape:
        return *self.of.shape[:-3], 2, *self.of.shape[-3:]

    def array(self) -> Array:
        plain = self.of.array()
        made = np.empty(self.shape, np.uint16)
        for at in np.ndindex(plain.shape[:-3][:1]):  # as much as caches hold, or little more
            high, low = bf16_pairs(plain[at])
            made[at][..., 0, :, :, :], made[at][..., 1, :, :, :] = high, low
        return made
