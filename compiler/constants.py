"""All constants of a model in one blob: what they are, and the packing of them.

What is said here needs no IR, so that a model can be packed from its files once more when all else
is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.sources import Weights, release
from ncc.runtime.memory import Memory

RELEASED_AFTER = 32 << 20
"""Bytes packed until the pages of the .bin that were read for them are given back."""


@dataclass(frozen=True)
class Constants:
    """Weights by their byte offsets, which are multiples of 64, in a blob of `size` bytes."""

    size: int
    weights: tuple[tuple[int, Weights], ...]

    def packed(self) -> NDArray[np.uint8]:
        """The blob, in huge pages: small ones would cost as much as what is put into them."""
        blob = np.frombuffer(Memory(self.size).bytes, np.uint8, self.size)
        since = 0
        for offset, weights in self.weights:
            place = np.frombuffer(blob.data, weights.dtype, prod(weights.shape), offset)
            weights.write(place.reshape(weights.shape))
            since += place.nbytes
            if since >= RELEASED_AFTER:
                release()
                since = 0
        release()
        return blob
