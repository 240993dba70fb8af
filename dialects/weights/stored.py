"""Weights in files: how ncnn stores them, and which bytes of them a compilation has looked at.

A file is mapped when values of it are asked for, and stays so until `release`. Needs no IR.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ncc.runtime.errors import NccError
from ncc.runtime.memory_files import shown_path


class Piece(NamedTuple):
    """Some bytes of a file."""

    path: str
    offset: int
    size: int


_noted: ContextVar[set[Piece] | None] = ContextVar("noted", default=None)


@contextmanager
def noting() -> Iterator[set[Piece]]:
    """Which bytes of weights are looked at in this block, by this thread."""
    pieces: set[Piece] = set()
    token = _noted.set(pieces)
    try:
        yield pieces
    finally:
        _noted.reset(token)


def note(piece: Piece) -> None:
    """Note that these bytes were read. Every reader of weights calls this."""
    pieces = _noted.get()
    if pieces is not None:
        pieces.add(piece)


class Encoding(StrEnum):
    """How ncnn stores the values of one buffer in a .bin file."""

    FP32 = "fp32"
    FP16 = "fp16"
    INT8 = "int8"
    CODEBOOK = "codebook"  # 256 fp32 values, then one index byte a value

    def bytes_of(self, count: int) -> int:
        """The bytes of so many values, without padding to a multiple of four."""
        match self:
            case Encoding.FP32:
                return 4 * count
            case Encoding.FP16:
                return 2 * count
            case Encoding.INT8:
                return count
            case Encoding.CODEBOOK:
                return 1024 + count


@dataclass(frozen=True)
class Stored:
    """Values in a file, from a byte offset after the tag, if there is one."""

    path: str
    offset: int
    encoding: Encoding = Encoding.FP32

    def read(self, count: int) -> NDArray[Any]:
        """`count` values: a view of the mapped file where that is possible."""
        data = self._data(count)
        match self.encoding:
            case Encoding.FP32:
                return np.frombuffer(data, "<f4", count, self.offset)
            case Encoding.FP16:
                return self.read_halves(count).astype(np.float32)
            case Encoding.INT8:
                return np.frombuffer(data, np.int8, count, self.offset)
            case Encoding.CODEBOOK:
                table = np.frombuffer(data, "<f4", 256, self.offset)
                return table[np.frombuffer(data, np.uint8, count, self.offset + 1024)]

    def read_halves(self, count: int) -> NDArray[np.float16]:
        """`count` values of float16, as they are stored."""
        return np.frombuffer(self._data(count), "<f2", count, self.offset)

    def _data(self, count: int) -> mmap.mmap:
        """The file that so many values are looked at of."""
        return _looked_at(self.path, self.offset, self.encoding.bytes_of(count))


class Raw(NamedTuple):
    """Values in a file from a byte offset on, as memory holds them.

    dtype: numpy's name of their type, without the order of bytes, which is little-endian.
    """

    path: str
    offset: int
    dtype: str

    def read(self, count: int) -> NDArray[Any]:
        """`count` values: a view of the mapped file."""
        type = np.dtype("<" + self.dtype)
        data = _looked_at(self.path, self.offset, count * type.itemsize)
        return np.frombuffer(data, type, count, self.offset)


def _looked_at(path: str, offset: int, wanted: int) -> mmap.mmap:
    """The file that so many bytes are looked at of.

    Raises NccError where it does not hold them: it did when it was measured.
    """
    note(Piece(path, offset, wanted))
    changed, size = _identity(path)
    if size < offset + wanted:
        raise NccError(
            f"{shown_path(path)} was cut off while it was read: it has {size} bytes, and weights "
            f"up to byte {offset + wanted}"
        )
    return _mapped(path, changed, size)


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _mapped(path: str, _changed: int, _size: int) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def release() -> None:
    """Unmap the files that nothing views any more."""
    _mapped.cache_clear()
