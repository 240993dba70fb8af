"""Machine code that a test calls, and what it is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


class Code(Protocol):
    """What the fixture `compiled` gives."""

    llvm: str

    def call(self, name: str, *arguments: object) -> None:
        """Call a function."""


Compile = Callable[..., Code]


def random(*shape: int) -> Floats:
    """Reproducible numbers around 0."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def constants(*numbers: int) -> str:
    """Index constants %c0, %c1 ... by their values."""
    each = dict.fromkeys(numbers)
    return "\n".join(f"%c{number} = arith.constant {number} : index" for number in each)
