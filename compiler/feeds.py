"""The arrays that a model runs on: from files, and made up where none is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from tokenize import TokenError
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.late import require_shapes
from ncc.dialects.bfloat16 import to_bfloat16
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError

Array: TypeAlias = NDArray[Any]

NPY = b"\x93NUMPY"
"""What a .npy file begins with."""

PICTURE = "a picture: normalize it in Python, and numpy.save it as (channels, height, width)"
FOREIGN = {
    b"PK": "an archive, as numpy.savez makes them: numpy.save one array of it",
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"BM": PICTURE,
}
"""What other files begin with, what they are, and what to do."""


Range: TypeAlias = tuple[float, float]

RANGE: Range = (-1.0, 1.0)
"""Of random floats."""


def random_feeds(
    inputs: Iterable[Binding], seed: int, value_range: Range = RANGE
) -> dict[str, Array]:
    """An array for every input: the same for the same seed on every machine.

    Floats are uniform in the range, those of bfloat16 as their bits; integers in -127..127.
    Raises InputError for an input whose shape is open.
    """
    generator = np.random.default_rng(seed)
    inputs = list(inputs)
    require_shapes(inputs)
    return {
        binding.name: _random(generator, binding.shape, np.dtype(binding.dtype), value_range)
        for binding in inputs
    }


def _random(
    generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], value_range: Range
) -> Array:
    if dtype.kind == "i":
        return generator.integers(-127, 128, shape).astype(dtype)
    numbers = generator.uniform(*value_range, shape)
    return to_bfloat16(numbers) if dtype == np.uint16 else numbers.astype(dtype)


def read_arrays(paths: Mapping[str, str | os.PathLike[str]]) -> dict[str, Array]:
    """The arrays in .npy files, by the names of the blobs they are for.

    Raises InputError for a file that cannot be read or holds no single plain array.
    """
    arrays = {}
    for name, path in paths.items():
        try:
            with open(path, "rb") as file:
                # Of other files numpy says how they could be loaded unsafely.
                _require_npy(file.read(len(NPY)))
                file.seek(0)
                arrays[name] = np.load(file, allow_pickle=False)
        except (SyntaxError, TokenError):  # of the text in it, which numpy parses
            raise InputError(
                f"{os.fspath(path)} cannot be read: its head is broken", name
            ) from None
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{os.fspath(path)} cannot be read: {reason}", name) from None
    return arrays


def _require_npy(head: bytes) -> None:
    """Raise ValueError for what is no .npy file by its first bytes."""
    if head == NPY:
        return
    known = next((what for magic, what in FOREIGN.items() if head.startswith(magic)), None)
    raise ValueError(
        "it is no .npy file, as numpy.save writes them" if known is None else f"it is {known}"
    )
