"""All constants of a model in one blob, and how to pack them.

This file needs no IR, so that ncc can pack a model from its files and a thin model.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.background import background
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.stored import release
from ncc.runtime.artifact import Table
from ncc.runtime.memory import Memory, give_back

PART = 4 << 20
"""Bytes packed until they are handed on, and pages of the .bin that they were in are given back."""


class _Part(NamedTuple):
    """Weights by their byte offsets in a blob, and where they begin and end in it."""

    start: int
    end: int
    weights: tuple[tuple[int, Weights], ...]

    def pack(self, room: memoryview) -> memoryview:
        """What stands there, put into the first bytes of `room`."""
        done = 0
        for offset, weights in self.weights:
            first = offset - self.start
            room[done:first] = bytes(first - done)
            subview = np.frombuffer(room, weights.dtype, prod(weights.shape), first)
            weights.write(subview.reshape(weights.shape))
            done = first + subview.nbytes
        room[done : self.end - self.start] = bytes(self.end - self.start - done)
        release()
        return room[: self.end - self.start]


class Constants(NamedTuple):
    """Weights by their byte offsets, growing multiples of 64, in a blob of `size` bytes."""

    size: int
    weights: tuple[tuple[int, Weights], ...]

    def packed(self) -> NDArray[np.uint8]:
        """The blob, in huge pages: small ones would cost as much as what is put into them."""
        blob = memoryview(Memory(self.size).bytes)[: self.size]
        for part in self._parts():
            part.pack(blob[part.start :])
        give_back()
        return np.frombuffer(blob, np.uint8)

    def chunks(self) -> Iterator[memoryview]:
        """The same from front to back; a thread packs each chunk while the one before is in use.

        A chunk holds until the next one is asked for: two rooms take turns.
        """
        parts = list(self._parts())
        size = max(part.end - part.start for part in parts)
        if len(parts) == 1:
            yield parts[0].pack(memoryview(Memory(size).bytes))
            return
        rooms = [memoryview(Memory(size).bytes) for _ in range(2)]
        with background() as packer:
            packed = packer.submit(parts[0].pack, rooms[0])
            for number, part in enumerate(parts[1:], 1):
                chunk, packed = packed, packer.submit(part.pack, rooms[number % 2])
                yield chunk.result()
            yield packed.result()

    def tables(self) -> tuple[Table, ...]:
        """The constants of 64 bits. They are places, which code follows wherever they lead; what
        layers have, be it in a .bin, are values.
        """
        subviews = [(at, weights) for at, weights in self.weights if weights.dtype == np.int64]
        held = [(at, weights.array().tobytes()) for at, weights in subviews]
        return tuple(Table(at, len(data), crc32(data)) for at, data in held)

    def _parts(self) -> Iterator[_Part]:
        """What is handed on together."""
        start = 0
        held: list[tuple[int, Weights]] = []
        for first, weights in self.weights:
            for some in weights.parts(PART):
                if first - start >= PART:
                    yield _Part(start, first, tuple(held))
                    start, held = first, []
                held.append((first, some))
                first += some.dtype.itemsize * prod(some.shape)
        yield _Part(start, self.size, tuple(held))
