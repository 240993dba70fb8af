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


@dataclass(frozen=True)
class Constants:
    """Weights by their byte offsets, which are multiples of 64, in a blob of `size` bytes."""

    size: int
    weights: tuple[tuple[int, Weights], ...]

    def packed(self) -> NDArray[np.uint8]:
        """The blob. Its memory is of huge pages: it costs as much to get small ones as to fill
        them.
        """
        blob = np.frombuffer(Memory(self.size).bytes, np.uint8, self.size)
        for offset, weights in self.weights:
            count = prod(weights.shape)
            place = np.frombuffer(blob.data, weights.dtype, count, offset)
            weights.write(place.reshape(weights.shape))
        release()
        return blob
