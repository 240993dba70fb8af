"""All constants of a model in one blob: what they are, and the packing of them.

What is said here needs no IR, so that a model can be packed from its files once more when all else
is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.sources import Weights, release
from ncc.runtime.memory import Memory

PART = 4 << 20
"""Bytes packed until they are handed on, and pages of the .bin that they were in are given back."""


@dataclass(frozen=True)
class Constants:
    """Weights by their byte offsets, growing multiples of 64, in a blob of `size` bytes."""

    size: int
    weights: tuple[tuple[int, Weights], ...]

    def packed(self) -> NDArray[np.uint8]:
        """The blob, in huge pages: small ones would cost as much as what is put into them."""
        blob = memoryview(Memory(self.size).bytes)[: self.size]
        for _ in self._pack(blob):
            pass
        return np.frombuffer(blob, np.uint8)

    def parts(self) -> Iterator[memoryview]:
        """The same from front to back; a thread packs the next part while one is used."""
        from concurrent.futures import ThreadPoolExecutor  # slow to import, and only needed here

        blob = memoryview(Memory(self.size).bytes)[: self.size]
        packing, done = self._pack(blob), 0
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(next, packing, None)
            while (end := coming.result()) is not None:
                coming = beside.submit(next, packing, None)
                yield blob[done:end]
                done = end

    def _pack(self, blob: memoryview) -> Iterator[int]:
        """Fill it, and tell again and again up to where it is whole."""
        done = 0
        for offset, weights in self.weights:
            if offset - done >= PART:
                release()
                yield offset
                done = offset
            place = np.frombuffer(blob, weights.dtype, prod(weights.shape), offset)
            weights.write(place.reshape(weights.shape))
        release()
        yield self.size
