"""The arrays that a model runs on: from files, and made up where none is given."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import inf, nan, prod
from tokenize import TokenError
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from numpy.typing import NDArray

from ncc.compiler.driver.open_binding import OpenBinding, require_shapes
from ncc.compiler.options import seed_of
from ncc.dialects.bfloat16 import to_bfloat16
from ncc.dialects.shapes import shown
from ncc.runtime import images
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import HEAD, NPY, other_kind
from ncc.runtime.paths import path_of
from ncc.runtime.pixel_form import TYPE as PIXELS
from ncc.runtime.pixels import OPAQUE, convert, from_pixels
from ncc.runtime.session import ArrayLike, as_array

Array: TypeAlias = NDArray[Any]
Range: TypeAlias = tuple[float, float]

RANGE: Range = (-1.0, 1.0)
"""The default range of random floats."""

MOST_NUMBERS = sys.maxsize // 8
"""How many float64 an array of numpy may have."""

IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"BM")
"""The first bytes of .png, .jpg and .bmp files."""

_ORDERS: Mapping[tuple[int, ...], str] = {(): "gray", (3,): "rgb", (4,): "rgba"}
"""The order of the channels of pixels, by their number."""

_CONVERSIONS: Mapping[tuple[int, ...], str] = {(): "gray", (3,): "rgb", (4,): "rgba2rgb"}
"""What a network reads of pixels, by their channels."""


def given_arrays(feeds: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
    """The arrays that a caller feeds, by the names of blobs.

    Raises InputError for anything else: no file is read here.
    """
    if feeds is None:
        return {}
    if not isinstance(feeds, Mapping):
        raise InputError("no arrays by name", None, "a dict of arrays", f"a {type(feeds).__name__}")
    return {name: as_array(array, OpenBinding.of(name, None)) for name, array in feeds.items()}


def all_feeds(
    inputs: Iterable[Binding],
    feeds: Mapping[str, ArrayLike] | None,
    seed: int,
    value_range: Range | None = None,
) -> dict[str, Array]:
    """The arrays that a caller feeds, and random ones for all other inputs.

    Raises InputError as `given_arrays` and `random_feeds` do.
    """
    given = given_arrays(feeds)
    return {**random_feeds(inputs, seed, value_range), **given}


def random_feeds(
    inputs: Iterable[Binding], seed: int, value_range: Range | None = None
) -> dict[str, Array]:
    """An array for every input: the same for the same seed on every machine.

    Floats are uniform in the range, by default -1..1, those of bfloat16 as their bits; integers in
    -127..127. Caches are empty.
    Raises InputError for an input whose shape is open, or which no memory holds, and for what is
    no seed or no range.
    """
    generator = np.random.default_rng(seed_of("random numbers", seed))
    low_high = RANGE if value_range is None else range_of(value_range)
    inputs = list(inputs)
    require_shapes(binding for binding in inputs if not binding.first)
    shapes = {one.name: one.first if one.is_open else one.shape for one in inputs}
    for name, shape in shapes.items():
        if prod(shape) > MOST_NUMBERS:
            wanted, found = f"at most {MOST_NUMBERS} numbers", shown(shape)
            raise InputError(f"no memory holds {name!r}", name, wanted, found)
    return {
        one.name: _random(generator, shapes[one.name], np.dtype(one.dtype), low_high)
        for one in inputs
    }


def range_of(value: object) -> Range:
    """A range of numbers as a caller may write it: the least one, and a larger one."""
    low = high = nan
    if isinstance(value, Iterable) and not isinstance(value, str):
        with suppress(TypeError, ValueError):
            low, high = map(float, value)
    if not -inf < low < high < inf:
        raise InputError("no range of numbers", None, "two numbers, as (0, 1)", repr(value))
    return low, high


def _random(
    generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], value_range: Range
) -> Array:
    if dtype.kind == "i":
        return generator.integers(-127, 128, shape).astype(dtype)
    numbers = generator.uniform(*value_range, shape)
    return to_bfloat16(numbers) if dtype == np.uint16 else numbers.astype(dtype)


def read_arrays(
    paths: Mapping[str, str | os.PathLike[str]],
    value_range: Range | None = None,
    inputs: Iterable[Binding] = (),
) -> dict[str, Array]:
    """The arrays in .npy files and in images, by the names of the blobs they are for.

    An image is (channels, height, width), its values from 0 to 255, or in the range; for one of
    these inputs that takes pixels, it is pixels with as many channels.

    Raises InputError for a file that cannot be read or holds no single plain array, NccError for
    an image where Pillow is not installed.
    """
    arrays = {}
    taking = {b.name: b for b in inputs if b.dtype == PIXELS and len(b.shape) in (2, 3)}
    for name, given in paths.items():
        path = path_of(given, f"the array for input {name!r}")
        try:
            with open(path, "rb") as file:
                arrays[name] = _read(path, file, value_range, taking.get(name))
        except (SyntaxError, TokenError):  # of the text in it, which numpy parses
            raise InputError(f"{path} cannot be read: its head is broken", name) from None
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path} cannot be read: {reason}", name) from None
    return arrays


def _read(path: str, file: IO[bytes], value_range: Range | None, taking: Binding | None) -> Array:
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
    pixels = images.open(file)
    if taking is not None:
        return convert(pixels, f"{_ORDERS[pixels.shape[2:]]}2{_ORDERS[taking.shape[2:]]}")
    values = from_pixels(pixels, _CONVERSIONS[pixels.shape[2:]])
    if value_range is None:
        return values
    low, high = value_range
    return np.asarray(low + values * np.float32((high - low) / OPAQUE), np.float32)
