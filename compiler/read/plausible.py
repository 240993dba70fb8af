"""Finds weights that no training produces: a broken conversion wrote them.

A conversion to fp16 turns small values into zeros and large ones into infinities. A file that is
read from a wrong byte on seems to hold denormal numbers. Such a network computes wrong results, and
all runtimes agree on them.

Of each weight up to `PIECES` pieces are looked at, so that large files take no longer. They decide
nothing but whether to warn. Needs no IR.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.weights.stored import Encoding, Stored

PIECES, PIECE = 16, 1024
"""The most pieces of a weight that are checked, and the values in each."""

MOSTLY = 0.75
"""The part of a weight that is zero, or denormal, in none that was trained and converted well: up
to 0.06 and 0.31 in 53 super-resolution networks, text recognition and detectors.
"""

TABLE = 256
"""The values of a codebook."""

FEWEST = 32
"""Values of which a part says something."""


class _Floats(NamedTuple):
    """A type of floats by the bits of their magnitude."""

    dtype: str
    magnitude: int
    infinity: int
    smallest_normal: int


_FLOATS = {
    Encoding.FP32: _Floats("<u4", 0x7FFFFFFF, 0x7F800000, 0x00800000),
    Encoding.FP16: _Floats("<u2", 0x7FFF, 0x7C00, 0x0400),
}


@dataclass(frozen=True)
class StoredNumbers:
    """One weight in a file, of floats or bytes. multiplies: whether it is a matrix or filters, of
    which zeros are not most values, as they may be of a bias.
    """

    stored: Stored
    count: int
    multiplies: bool

    @staticmethod
    def of(stored: Stored, count: int, multiplies: bool) -> StoredNumbers:
        """Of a codebook it is the table."""
        if stored.encoding is Encoding.CODEBOOK:
            return StoredNumbers(Stored(stored.path, stored.offset), TABLE, False)
        return StoredNumbers(stored, count, multiplies)

    def fault(self, file: int) -> str | None:
        """The problem of its values, in an open file; None if there is none."""
        encoding = self.stored.encoding
        floats = _FLOATS.get(encoding)
        if floats is None:
            return self._zeros(file) if self.multiplies else None
        magnitudes = self._sample(file, np.dtype(floats.dtype)) & floats.magnitude
        if not magnitudes.size:
            return None
        if magnitudes.max() >= floats.infinity:
            unknown = (magnitudes > floats.infinity).any()
            return "has values that are no numbers (NaN)" if unknown else "has infinite values"
        if not self.multiplies or magnitudes.size < FEWEST:
            return None
        small = int(np.count_nonzero(magnitudes < floats.smallest_normal))
        if small <= MOSTLY * magnitudes.size:
            return None
        zeros = magnitudes.size - int(np.count_nonzero(magnitudes))
        if zeros > MOSTLY * magnitudes.size:
            return _part(zeros, magnitudes.size, "zero") + _of_fp16(encoding)
        return _part(small, magnitudes.size, "denormal or zero") + _of_fp16(encoding)

    def _zeros(self, file: int) -> str | None:
        values = self._sample(file, np.dtype(np.int8))
        zeros = values.size - int(np.count_nonzero(values))
        mostly = values.size >= FEWEST and zeros > MOSTLY * values.size
        return _part(zeros, values.size, "zero") if mostly else None

    def _sample(self, file: int, dtype: np.dtype[np.generic]) -> NDArray[np.unsignedinteger]:
        """The values, or pieces that lie evenly between the first and the last of many."""
        size, offset = dtype.itemsize, self.stored.offset
        if self.count <= PIECES * PIECE:
            starts, each = [0], self.count
        else:
            starts, each = [n * (self.count - PIECE) // (PIECES - 1) for n in range(PIECES)], PIECE
        data = b"".join(os.pread(file, each * size, offset + start * size) for start in starts)
        return np.frombuffer(data, dtype, len(data) // size)


def _part(some: int, all: int, what: str) -> str:
    return f"is {100 * some // all} % {what}"


def _of_fp16(encoding: Encoding) -> str:
    if encoding is not Encoding.FP16:
        return ""
    return "; fp16 has no smaller numbers: convert to fp32 (pnnx: fp16=0)"


def faults(numbers: Iterable[StoredNumbers]) -> Iterator[tuple[StoredNumbers, str]]:
    """The weights that no training produces, and their problems. Raises OSError."""
    for path, held in groupby(numbers, key=lambda one: one.stored.path):
        file = os.open(path, os.O_RDONLY)
        try:
            for one in held:
                if (fault := one.fault(file)) is not None:
                    yield one, fault
        finally:
            os.close(file)
