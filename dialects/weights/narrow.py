"""Weights of float32 in fewer bytes: as float16, where every value is one, or in fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ncc.dialects.shapes import Shape
from ncc.dialects.weights.derived import Moved
from ncc.dialects.weights.sources import Array, Derived, Inline, Random, Weights
from ncc.dialects.weights.stored import Encoding, Stored

_LOOKED_AT_FIRST = 1 << 10
"""Values of a weight: where these are no float16, the others need not be read."""

FRACTION_BITS, SHORT_FRACTION_BITS = 23, 19
"""Bits behind the point of a fraction."""

TOGETHER, WORDS = 16, 20
"""Short fractions that lie in memory together, and the words that they take."""

LEAST_EXPONENT = -100
"""Of the power of two above weights: less, fractions times it were denormal numbers."""

_NARROWED_AT_ONCE = 1 << 16
"""Values that are looked at together: they stay in a cache."""


class Narrow(Derived):
    """Another weight, from a file or a seed, whose every value is a float16, as such."""

    KIND = np.float16

    @property
    def shape(self) -> Shape:
        return self.of.shape

    def array(self) -> Array:
        source, count = self.of.source, prod(self.shape)
        if isinstance(source, Stored) and source.encoding is Encoding.FP16:
            return source.read_halves(count).reshape(self.shape)
        return source.read(count).reshape(self.shape).astype(np.float16)

    def rows(self, first: int, end: int) -> Weights | None:
        some = self.of.rows(first, end)
        return some and Narrow(some).weights


@dataclass(frozen=True)
class _Rows(Derived):
    """What is made of the rows of another weight of float32, all of whose values are finite.

    axes: the axes that number the rows.
    """

    axes: tuple[int, ...]

    def rows(self, first: int, end: int) -> Weights | None:
        some = self.of.rows(first, end) if 0 in self.axes else None
        return some and replace(self, of=some).weights

    def exponents(self, values: Array) -> Array:
        """Of the least power of two that is more than every value of its row; 0 where all are 0.

        The other axes have an extent of 1.
        """
        others = tuple(axis for axis in range(values.ndim) if axis not in self.axes)
        largest = np.maximum(values.max(others, keepdims=True), -values.min(others, keepdims=True))
        _, exponents = np.frexp(largest)
        return np.asarray(exponents.clip(LEAST_EXPONENT))


class FixedPoint(_Rows):
    """Each value as a fraction of the power of two above its row, in 24 bits; (.., 3 bytes)."""

    KIND = "V3"

    @property
    def shape(self) -> Shape:
        return self.of.shape

    def array(self) -> Array:
        lower = _held(self, FRACTION_BITS).reshape(-1, 1).view(np.uint8)[:, :3]
        return np.ascontiguousarray(lower).view("V3").reshape(self.shape)


class ShortFixedPoint(_Rows):
    """The same in 20 bits, from 0 on; sixteen of the last axis as twenty words (.., 2 bytes).

    The first sixteen words are two bytes of each value: the upper ones of those in even places,
    the lower ones of the others. What is left of both of a pair is a byte behind these, that of the
    even place in its upper half.
    """

    KIND = "V2"

    @property
    def shape(self) -> Shape:
        *rows, _ = self.of.shape
        return (*rows, WORDS)

    def array(self) -> Array:
        held = _held(self, SHORT_FRACTION_BITS) + (1 << SHORT_FRACTION_BITS)
        even, odd = held[..., 0::2], held[..., 1::2]
        words = np.empty(self.shape, "<u2")
        words[..., 0:TOGETHER:2], words[..., 1:TOGETHER:2] = even >> 4, odd & 0xFFFF
        halves = (even & 0xF) << 4 | (odd >> 16) & 0xF
        words[..., TOGETHER:] = halves.astype(np.uint8).view("<u2")
        return words.view("V2")


class Scales(_Rows):
    """The power of two of each row."""

    @property
    def shape(self) -> Shape:
        return tuple(self.of.shape[axis] for axis in self.axes)

    def array(self) -> Array:
        values = np.asarray(self.of.array(), np.float32)
        return np.ldexp(np.float32(1), self.exponents(values)).reshape(self.shape)


def _held(fractions: _Rows, bits: int) -> Array:
    """Each value as a fraction of the power of two above its row, with so many bits behind the
    point, as an int32.
    """
    values = np.asarray(fractions.of.array(), np.float32)
    scale = np.ldexp(np.float32(1), bits - fractions.exponents(values))
    nearest = np.rint(values * scale)
    most = (1 << bits) - 1  # what is nearer to a whole one than to it
    return np.ascontiguousarray(np.minimum(nearest, most), "<i4")


def narrowed(weights: Weights) -> Weights | None:
    """The same as float16, whatever file they are from, if that changes no bit of them.

    None where it would, where they are no float32, and where they are computed.
    """
    match weights.source:
        case Moved(of) as source:
            some = narrowed(of)
            return some and Weights(weights.shape, replace(source, of=some))
        case Stored(encoding=Encoding.FP16):
            return Narrow(weights).weights
        case Stored() | Inline() | Random() as source if weights.dtype == np.float32:
            count = prod(weights.shape)
            looked_at = (min(count, _LOOKED_AT_FIRST), count)
            same = all(_are_halves(source.read(some)) for some in looked_at)
            return Narrow(weights).weights if same else None
    return None


def _are_halves(values: Array) -> bool:
    """Whether each of these float32 is that of a float16, bit by bit."""
    parts = (values[k : k + _NARROWED_AT_ONCE] for k in range(0, values.size, _NARROWED_AT_ONCE))
    with np.errstate(all="ignore"):
        wide = ((part, part.astype(np.float16).astype(np.float32)) for part in parts)
        return all(np.array_equal(a.view(np.int32), b.view(np.int32)) for a, b in wide)
