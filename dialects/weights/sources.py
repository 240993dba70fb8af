"""Sources of the numbers of a weight: a file, a seed, or another weight.

This file needs no IR: a thin model can describe the weights of a model, and ncc can pack them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ncc.dialects.shapes import Shape
from ncc.dialects.weights.stored import Encoding, Raw, Stored

Array: TypeAlias = NDArray[Any]

LOOKED_AT = 1 << 18
"""Bytes of weights that are looked at together: they stay in a cache."""


class Inline(NamedTuple):
    """Values that a rewrite computed: the bytes themselves."""

    data: bytes
    dtype: str = "f4"

    def read(self, count: int) -> Array:
        return np.frombuffer(self.data, "<" + self.dtype, count)


class Random(NamedTuple):
    """Values of a seed, the same on every machine: normal, `mean + scale * n`, or any bytes ("i1").

    Normal numbers are float32; bytes are int8, all equally likely.
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
class Derived(ABC):
    """A weight that is computed from another weight; see `derived`."""

    KIND: ClassVar[DTypeLike] = np.float32
    """The element type of its values, where that is always the same."""

    of: Weights

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The shape in which it makes them."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of its values."""
        return np.dtype(self.KIND)

    @abstractmethod
    def array(self) -> Array:
        """Its values, with any strides."""

    def read(self, count: int) -> Array:
        """The first of its values."""
        return self.array().ravel()[:count]

    def write(self, out: Array) -> None:
        """Put it into an array of its shape and dtype, whose memory is dense."""
        out[...] = self.array()

    def rows(self, first: int, end: int) -> Weights | None:
        """Some rows of the first axis, where nothing else has to be read for them."""
        return None

    @property
    def weights(self) -> Weights:
        """Its values as a weight."""
        return Weights(self.shape, self)


Source: TypeAlias = Stored | Raw | Inline | Random | Derived


@dataclass(frozen=True)
class Weights:
    """A shape (numpy order) and where its values are."""

    shape: Shape
    source: Source

    @property
    def dtype(self) -> np.dtype[Any]:
        """int8 if the file has int8, else float32; derived weights have their own type."""
        match self.source:
            case Inline(dtype=dtype) | Random(dtype=dtype) | Raw(dtype=dtype):
                return np.dtype("<" + dtype)
            case Stored(encoding=Encoding.INT8):
                return np.dtype(np.int8)
            case Derived() as source:
                return source.dtype
        return np.dtype(np.float32)

    def write(self, out: Array) -> None:
        """Put the values into an array of this shape and dtype, whose memory is dense.

        A transformation writes there directly: its result is the largest of all weights.
        """
        match self.source:
            case Derived() as source:
                source.write(out.reshape(source.shape))
            case _:
                out[...] = self.array()

    def array(self) -> Array:
        """The values in this shape, with any strides; read-only where they view the file."""
        match self.source:
            case Derived() as source:
                return source.array().reshape(self.shape)
            case source:
                return source.read(prod(self.shape)).reshape(self.shape)

    def parts(self, most: int) -> list[Weights]:
        """These values, some rows of the first axis after the other, of up to `most` bytes each
        (but of one row at least); as a whole where the file does not hold them row by row.
        """
        step = max(1, most // (self.dtype.itemsize * prod(self.shape[1:]) or 1))
        firsts = range(0, self.shape[0] if self.shape else 0, step)
        parts = (self.rows(first, min(first + step, self.shape[0])) for first in firsts)
        return [part for part in parts if part is not None] or [self]

    def rows(self, first: int, end: int) -> Weights | None:
        """Some rows of the first axis, if the file holds them so."""
        match self.source:
            case Derived() as source if source.shape == self.shape:
                return source.rows(first, end)
            case Stored(path, offset, encoding) if encoding is not Encoding.CODEBOOK:
                start = offset + encoding.bytes_of(first * prod(self.shape[1:]))
                return Weights((end - first, *self.shape[1:]), Stored(path, start, encoding))
            case Raw(path, offset, dtype):
                start = offset + first * prod(self.shape[1:]) * self.dtype.itemsize
                return Weights((end - first, *self.shape[1:]), Raw(path, start, dtype))
        return None
