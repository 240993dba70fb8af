"""The arrays that a model runs on: from files, and made up where none is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from tokenize import TokenError
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from numpy.typing import NDArray

from ncc.compiler.driver.specialise import require_shapes
from ncc.dialects.bfloat16 import to_bfloat16
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import HEAD, NPY, other_kind
from ncc.runtime.paths import path_of

Array: TypeAlias = NDArray[Any]


def random_feeds(inputs: Iterable[Binding], seed: int) -> dict[str, Array]:
    """An array for every input: the same for the same seed on every machine.

    Floats are uniform in -1..1, those of bfloat16 as their bits; integers in -127..127.
    Raises InputError for an input whose shape is open.
    """
    generator = np.random.default_rng(seed)
    inputs = list(inputs)
    require_shapes(inputs)
    return {
        binding.name: _random(generator, binding.shape, np.dtype(binding.dtype))
        for binding in inputs
    }


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "i":
        return generator.integers(-127, 128, shape).astype(dtype)
    numbers = generator.uniform(-1, 1, shape)
    return to_bfloat16(numbers) if dtype == np.uint16 else numbers.astype(dtype)


def read_arrays(paths: Mapping[str, str | os.PathLike[str]]) -> dict[str, Array]:
    """The arrays in .npy files, by the names of the blobs they are for.

    Raises InputError for a file that cannot be read or holds no single plain array.
    """
    arrays = {}
    for name, given in paths.items():
        path = path_of(given, f"the array for input {name!r}")
        try:
            with open(path, "rb") as file:
                # Of other files numpy says how they could be loaded unsafely.
                _require_npy(path, file.read(HEAD))
                file.seek(0)
                arrays[name] = np.load(file, allow_pickle=False)
        except (SyntaxError, TokenError):  # of the text in it, which numpy parses
            raise InputError(f"{path} cannot be read: its head is broken", name) from None
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path} cannot be read: {reason}", name) from None
    return arrays


def _require_npy(path: str, head: bytes) -> None:
    """Raise ValueError for what is no .npy file by its first bytes."""
    if head.startswith(MAGIC_PREFIX):
        return
    other = other_kind(path, head, NPY)
    raise ValueError(
        "it is no .npy file, as numpy.save writes them"
        if other is None
        else f"it is {': '.join(other)}"
    )
