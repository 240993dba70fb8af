"""The arrays that a model runs on: from files, and made up where none is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from tokenize import TokenError
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from numpy.typing import NDArray

from ncc.compiler.driver.specialise import require_shapes
from ncc.compiler.images import LARGEST, read_image
from ncc.dialects.bfloat16 import to_bfloat16
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import HEAD, NPY, other_kind
from ncc.runtime.paths import path_of

Array: TypeAlias = NDArray[Any]
Range: TypeAlias = tuple[float, float]

RANGE: Range = (-1.0, 1.0)
"""The default range of random floats."""

IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"BM")
"""The first bytes of .png, .jpg and .bmp files."""


def random_feeds(
    inputs: Iterable[Binding], seed: int, value_range: Range | None = None
) -> dict[str, Array]:
    """An array for every input: the same for the same seed on every machine.

    Floats are uniform in the range, by default -1..1, those of bfloat16 as their bits; integers in
    -127..127.
    Raises InputError for an input whose shape is open.
    """
    generator = np.random.default_rng(seed)
    inputs = list(inputs)
    require_shapes(inputs)
    return {
        binding.name: _random(
            generator, binding.shape, np.dtype(binding.dtype), value_range or RANGE
        )
        for binding in inputs
    }


def _random(
    generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], value_range: Range
) -> Array:
    if dtype.kind == "i":
        return generator.integers(-127, 128, shape).astype(dtype)
    numbers = generator.uniform(*value_range, shape)
    return to_bfloat16(numbers) if dtype == np.uint16 else numbers.astype(dtype)


def read_arrays(
    paths: Mapping[str, str | os.PathLike[str]], value_range: Range | None = None
) -> dict[str, Array]:
    """The arrays in .npy files and in images, by the names of the blobs they are for.

    An image is (channels, height, width), its values from 0 to 255, or in the range.

    Raises InputError for a file that cannot be read or holds no single plain array, Unsupported for
    an image where Pillow is not installed.
    """
    arrays = {}
    for name, given in paths.items():
        path = path_of(given, f"the array for input {name!r}")
        try:
            with open(path, "rb") as file:
                arrays[name] = _read(path, file, value_range)
        except (SyntaxError, TokenError):  # of the text in it, which numpy parses
            raise InputError(f"{path} cannot be read: its head is broken", name) from None
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path} cannot be read: {reason}", name) from None
    return arrays


def _read(path: str, file: IO[bytes], value_range: Range | None) -> Array:
    """The array in a file; ValueError if its first bytes are of another kind."""
    head = file.read(HEAD)
    file.seek(0)
    if head.startswith(MAGIC_PREFIX):
        array: Array = np.load(file, allow_pickle=False)
        return array
    # Of other files numpy says how they could be loaded unsafely.
    if not head.startswith(IMAGES):
        other = other_kind(path, head, NPY)
        raise ValueError(
            "it is no .npy file, as numpy.save writes them, and no image"
            if other is None
            else f"it is {': '.join(other)}"
        )
    pixels = read_image(file)
    if value_range is None:
        return pixels
    low, high = value_range
    return np.asarray(low + pixels * np.float32((high - low) / LARGEST), np.float32)
