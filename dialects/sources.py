"""Where the numbers of a weight are: in a file, in a seed, or computed from another weight.

Needs no IR: what a compilation has decided about weights can be kept, and carried out, without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.bfloat16 import bfloat16_halves
from ncc.dialects.shapes import Shape
from ncc.dialects.stored import Encoding, Stored

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Inline:
    """Values that a rewrite computed: the bytes themselves."""

    data: bytes
    dtype: str = "f4"

    def read(self, count: int) -> Array:
        return np.frombuffer(self.data, "<" + self.dtype, count)


@dataclass(frozen=True)
class Random:
    """Values of a seed, the same on every machine: normal, `mean + scale * n`, or any bytes ("i1").

    What is normal is float32; bytes are int8, all equally likely.
    """

    seed: int
    stream: int
    scale: float = 1.0
    mean: float = 0.0
    dtype: str = "f4"

    def read(self, count: int) -> Array:
        generator = np.random.default_rng([self.seed, self.stream])
        if self.dtype == "i1":
            return generator.integers(-128, 128, count, np.int8)
        values = generator.standard_normal(count, np.float32)
        return values * np.float32(self.scale) + np.float32(self.mean)


@dataclass(frozen=True)
class Blocked:
    """Another weight in blocks: each axis of `axes` is rounded up to whole blocks with zeros and
    split; the inner axes come last, in this order. (64, 3, 3, 3) by axis 0 is (4, 3, 3, 3, 16).
    """

    of: Weights
    axes: tuple[int, ...]
    block: int

    def read(self, count: int) -> Array:
        return self.array().ravel()[:count]

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


_TERMS_AT_ONCE = 1 << 18
"""Terms of a product that is made at a time: few enough that it stays in the cache, and that BLAS
starts no threads for it. It would lose more by waiting for a thread, on a busy machine, than it
wins.
"""


@dataclass(frozen=True)
class Transformed:
    """Another weight, two of its axes transformed: `m @ w @ n.T` for two matrices m and n.

    The transformed axes come first: with 6 rows each, (64, 32, 3, 3) becomes (6, 6, 64, 32).
    `first` is the first of the two; by default they are the last. Computed in float64.
    """

    of: Weights
    down: tuple[tuple[float, ...], ...]
    across: tuple[tuple[float, ...], ...]
    first: int = -2

    def read(self, count: int) -> Array:
        made = np.empty(count, np.float32)
        self.write(made)
        return made

    def write(self, out: Array) -> None:
        """Put the values into dense memory of their size, slab by slab of the other axes."""
        both = np.kron(np.array(self.down, np.float64), np.array(self.across, np.float64))
        axes = (self.first, self.first + 1)
        windows = np.atleast_3d(np.moveaxis(self.of.array(), axes, (0, 1)))
        made = out.reshape(len(both), windows.shape[2], -1)
        wide = np.empty(windows[:, :, :1].shape)
        columns = wide.reshape(both.shape[1], -1)
        step = max(1, _TERMS_AT_ONCE // both.size)
        products = np.empty((len(both), step))
        for slab in range(made.shape[1]):
            wide[:, :, 0] = windows[:, :, slab]
            for start in range(0, columns.shape[1], step):
                some = columns[:, start : start + step]
                product = np.matmul(both, some, out=products[:, : some.shape[1]])
                made[:, slab, start : start + some.shape[1]] = product

    def of_blocks(self, axes: tuple[int, ...], block: int) -> Transformed:
        """The same of blocks along axes that are not transformed, which come behind all others."""
        first = self.first % len(self.of.shape)
        return Transformed(self.of.blocked(axes, block), self.down, self.across, first)


_DEQUANTIZED_AT_ONCE = 1 << 20
"""Numbers that are unpacked at a time: what lies between takes several times their memory."""


@dataclass(frozen=True)
class Dequantized:
    """Rows of whole numbers of `bits` bits, every `block` of a row divided by a scale of its own.

    `of` (rows, bytes) holds them low bits first, in two's complement; `scales` is (rows, blocks).
    A value is q * (1 / scale), each of both steps rounded to float32.
    """

    of: Weights
    scales: Weights
    bits: int
    block: int

    def read(self, count: int) -> Array:
        rows = self.of.shape[0]
        columns = count // rows
        packed, inverse = self.of.array(), np.float32(1) / self.scales.array()
        values = np.empty((rows, columns), np.float32)
        step = max(1, _DEQUANTIZED_AT_ONCE // columns)
        for start in range(0, rows, step):
            part = slice(start, start + step)
            factors = np.repeat(inverse[part], self.block, axis=1)[:, :columns]
            values[part] = unpack_integers(packed[part], self.bits, columns) * factors
        return values.ravel()


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


@dataclass(frozen=True)
class Paired:
    """The int8 values of another weight, two in an int32, its last two axes transposed.

    (..., rows, columns) becomes (..., half, rows) with half the columns, rounded up: low bits are
    those of column k, high bits those of column half + k, or of a zero where there is none.
    """

    of: Weights

    def read(self, count: int) -> Array:
        plain = np.swapaxes(self.of.array(), -1, -2).astype(np.int32)
        half = -(-plain.shape[-2] // 2)
        paired = plain[..., :half, :] & 0xFFFF
        above = plain[..., half:, :]
        paired[..., : above.shape[-2], :] |= above << 16
        return paired.ravel()[:count]


@dataclass(frozen=True)
class Bits:
    """The float32 values of another weight taken for int32, bit by bit."""

    of: Weights

    def read(self, count: int) -> Array:
        return np.ascontiguousarray(self.of.array()).view(np.int32).ravel()[:count]


@dataclass(frozen=True)
class Halves:
    """Another weight as the sum of two bfloat16, of which the first is the nearest one.

    (.., k, o, q) becomes (.., 2, k, o, q). The second half of what is not finite is 0.
    """

    of: Weights

    def read(self, count: int) -> Array:
        plain = self.of.array()
        made = np.empty((*plain.shape[:-3], 2, *plain.shape[-3:]), np.uint16)
        for at in np.ndindex(plain.shape[:-3][:1]):  # as much as caches hold, or little more
            high, low = bfloat16_halves(plain[at])
            made[at][..., 0, :, :, :], made[at][..., 1, :, :, :] = high, low
        return made.ravel()[:count]


@dataclass(frozen=True)
class Narrow:
    """Another weight, from a file or a seed, whose every value is a float16, as such."""

    of: Weights

    def read(self, count: int) -> Array:
        source = self.of.source
        if isinstance(source, Stored) and source.encoding is Encoding.FP16:
            return source.read_halves(count)
        return source.read(count).astype(np.float16)


_LOOKED_AT_FIRST = 1 << 10
"""Values of a weight: where these are no float16, the others need not be read."""

_NARROWED_AT_ONCE = 1 << 16
"""Values that are looked at together: they stay in a cache."""


def _are_halves(values: Array) -> bool:
    """Whether each of these float32 is that of a float16, bit by bit."""
    parts = (values[k : k + _NARROWED_AT_ONCE] for k in range(0, values.size, _NARROWED_AT_ONCE))
    with np.errstate(all="ignore"):
        wide = ((part, part.astype(np.float16).astype(np.float32)) for part in parts)
        return all(np.array_equal(a.view(np.int32), b.view(np.int32)) for a, b in wide)


@dataclass(frozen=True)
class Taken:
    """Some of another weight along an axis, in any order and any number of times."""

    of: Weights
    places: tuple[int, ...]
    axis: int = 0

    def read(self, count: int) -> Array:
        return self.of.array().take(self.places, self.axis).ravel()[:count]


@dataclass(frozen=True)
class Phases:
    """Another weight, of a transposed convolution, as that of a convolution for all its phases.

    places: of each of its last axes, the taps of each phase in the order of its window, -1 where it
    has none. With two phases of two taps along both, (64, 32, 3, 3) becomes (256, 32, 2, 2).
    """

    of: Weights
    places: tuple[tuple[tuple[int, ...], ...], ...]

    def read(self, count: int) -> Array:
        space = len(self.places)
        taps = np.pad(self.of.array(), [(0, 0), (0, 0), *[(0, 1)] * space])
        for axis, places in enumerate(self.places):
            taps = taps.take(np.array(places), 2 + 2 * axis)
        phases, windows = range(2, 2 + 2 * space, 2), range(3, 3 + 2 * space, 2)
        return taps.transpose(0, *phases, 1, *windows).ravel()[:count]


@dataclass(frozen=True)
class Joined:
    """Another weight, of groups of channels, with groups joined: `count` of them are one, which
    multiplies channels of the others by zero. (6, 8, 8, 3, 3) by twos becomes (3, 16, 16, 3, 3).
    """

    of: Weights
    count: int

    def read(self, count: int) -> Array:
        groups, outputs, inputs, *window = self.of.shape
        parts = self.of.array().reshape(-1, self.count, outputs, inputs, *window)
        shape = groups // self.count, self.count, outputs, self.count, inputs, *window
        joined = np.zeros(shape, parts.dtype)
        for place in range(self.count):
            joined[:, place, :, place] = parts[:, place]
        return joined.ravel()[:count]


Source: TypeAlias = (
    Stored
    | Inline
    | Random
    | Blocked
    | Transformed
    | Dequantized
    | Paired
    | Bits
    | Halves
    | Narrow
    | Taken
    | Phases
    | Joined
)


@dataclass(frozen=True)
class Weights:
    """A shape (numpy order) and where its values are."""

    shape: Shape
    source: Source

    @property
    def dtype(self) -> np.dtype[Any]:
        """int8 where that is stored, int32 of pairs and bits, bits of bfloat16, float16 of what is
        narrow; else float32.
        """
        match self.source:
            case Inline(dtype=dtype) | Random(dtype=dtype):
                return np.dtype("<" + dtype)
            case Stored(encoding=Encoding.INT8):
                return np.dtype(np.int8)
            case Blocked(of=of) | Taken(of=of) | Phases(of=of) | Joined(of=of):
                return of.dtype
            case Narrow():
                return np.dtype(np.float16)
            case Paired() | Bits():
                return np.dtype(np.int32)
            case Halves():
                return np.dtype(np.uint16)
        return np.dtype(np.float32)

    def write(self, out: Array) -> None:
        """Put the values into an array of this shape and dtype, whose memory is dense.

        What a transformation makes goes there at once: it is the largest of all weights.
        """
        match self.source:
            case Transformed() as source:
                source.write(out)
            case Blocked(Weights(source=Transformed(first=-2) as source), axes, block) if (
                min(axes) > 1
            ):
                # Whether the other axes are in blocks makes no difference to the transformation.
                source.of_blocks(tuple(axis - 2 for axis in axes), block).write(out)
            case _:
                out[...] = self.array()

    def array(self) -> Array:
        """The values in this shape, with any strides; read-only where they view the file."""
        if isinstance(self.source, Blocked):
            return self.source.array()
        return self.source.read(prod(self.shape)).reshape(self.shape)

    def parts(self, most: int) -> list[Weights]:
        """These values, some rows of the first axis after the other, of up to `most` bytes each
        (but of one row at least); as a whole where the file does not hold them row by row.
        """
        step = max(1, most // (self.dtype.itemsize * prod(self.shape[1:]) or 1))
        firsts = range(0, self.shape[0] if self.shape else 0, step)
        parts = (self._rows(first, min(first + step, self.shape[0])) for first in firsts)
        return [part for part in parts if part is not None] or [self]

    def _rows(self, first: int, end: int) -> Weights | None:
        """These rows of the first axis, if the file holds them so."""
        match self.source:
            case Blocked(of, axes, block):
                rows = block if 0 in axes else 1
                some = of._rows(first * rows, min(end * rows, of.shape[0]))
                return some and some.blocked(axes, block)
            case Stored(path, offset, encoding) if encoding is not Encoding.CODEBOOK:
                start = offset + encoding.bytes_of(first * prod(self.shape[1:]))
                return Weights((end - first, *self.shape[1:]), Stored(path, start, encoding))
            case Narrow(of):
                some = of._rows(first, end)
                return some and some.as_narrow()
        return None

    def blocked(self, axes: tuple[int, ...], block: int) -> Weights:
        """These values in blocks along some axes; see `Blocked`."""
        shape = [-(-n // block) if axis in axes else n for axis, n in enumerate(self.shape)]
        return Weights((*shape, *[block] * len(axes)), Blocked(self, axes, block))

    def dequantized(self, scales: Weights, bits: int, block: int, columns: int) -> Weights:
        """The rows of `columns` numbers that these bytes hold; see `Dequantized`."""
        return Weights((self.shape[0], columns), Dequantized(self, scales, bits, block))

    def paired(self) -> Weights:
        """Two int8 values in an int32; see `Paired`."""
        *outer, rows, columns = self.shape
        return Weights((*outer, -(-columns // 2), rows), Paired(self))

    def bits(self) -> Weights:
        """What these float32 values are as int32; see `Bits`."""
        return Weights(self.shape, Bits(self))

    def halves(self) -> Weights:
        """Two bfloat16 for each value; see `Halves`."""
        return Weights((*self.shape[:-3], 2, *self.shape[-3:]), Halves(self))

    def narrow(self) -> Weights | None:
        """The same as float16, whatever file they are from, if that changes no bit of them.

        None where it would, where they are no float32, and where they are computed.
        """
        match self.source:
            case Blocked(of) | Taken(of) | Phases(of) | Joined(of) as source:
                some = of.narrow()
                return some and Weights(self.shape, replace(source, of=some))
            case Stored() | Inline() | Random() as source if self.dtype == np.float32:
                if isinstance(source, Stored) and source.encoding is Encoding.FP16:
                    return self.as_narrow()
                count = prod(self.shape)
                looked_at = (min(count, _LOOKED_AT_FIRST), count)
                same = all(_are_halves(source.read(some)) for some in looked_at)
                return self.as_narrow() if same else None
        return None

    def as_narrow(self) -> Weights:
        """The same as float16, which they are; see `Narrow`."""
        return Weights(self.shape, Narrow(self))

    def taken(self, places: tuple[int, ...], axis: int = 0) -> Weights:
        """These values at some places of an axis; see `Taken`."""
        shape = *self.shape[:axis], len(places), *self.shape[axis + 1 :]
        return Weights(shape, Taken(self, places, axis))

    def phases(self, places: tuple[tuple[tuple[int, ...], ...], ...]) -> Weights:
        """These values with the phases of their last axes as channels; see `Phases`."""
        channels = self.shape[0] * prod(len(phases) for phases in places)
        windows = [len(phases[0]) for phases in places]
        return Weights((channels, self.shape[1], *windows), Phases(self, places))

    def joined(self, count: int) -> Weights:
        """These values with so many groups in each; see `Joined`."""
        groups, outputs, inputs, *window = self.shape
        shape = groups // count, count * outputs, count * inputs, *window
        return Weights(shape, Joined(self, count))

    def transformed(
        self, down: tuple[tuple[float, ...], ...], across: tuple[tuple[float, ...], ...]
    ) -> Weights:
        """These values with their last two axes transformed; see `Transformed`."""
        shape = (len(down), len(across), *self.shape[:-2])
        return Weights(shape, Transformed(self, down, across))
