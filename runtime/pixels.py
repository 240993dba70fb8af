"""Pixels as networks read them, and back: orders of channels, mean and norm.

Pixels are uint8, (height, width) of gray ones, else (height, width, channels). A network reads
float32 of (channels, height, width). Conversions have ncnn's names in small letters ("rgb",
"bgr2rgb", "rgba2rgb"), and mean and norm are those of ncnn's substract_mean_normalize:

    from_pixels(pixels, "bgr2rgb", mean, norm)[k, y, x] = (pixels[y, x, 2 - k] - mean[k]) * norm[k]

computed as ncnn does, x * norm - mean * norm with one rounding of the sum. Bits are those of ncnn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_orders import GRAY_SHIFT, ORDERS, Conversion

Array: TypeAlias = NDArray[Any]
Pixels: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = float | Sequence[float] | Array

OPAQUE = 255

LEVELS = 256
"""The number of values of a channel."""


class Normalization(NamedTuple):
    """x * norm - mean * norm, with a mean and a norm for each channel; None stands for none."""

    mean: tuple[float, ...] | None = None
    norm: tuple[float, ...] | None = None

    @staticmethod
    def of(mean: Numbers | None, norm: Numbers | None, channels: int) -> Normalization:
        """One number is for all channels. Raises InputError for another number of numbers."""
        return Normalization(_each("mean", mean, channels), _each("norm", norm, channels))

    @property
    def scale(self) -> Array | None:
        return None if self.norm is None else np.array(self.norm, np.float32)

    @property
    def bias(self) -> Array | None:
        """What is added to x * norm: one rounding of the product, as in ncnn."""
        if self.mean is None:
            return None
        mean, scale = np.array(self.mean, np.float32), self.scale
        return -mean if scale is None else -mean * scale

    def tables(self, channels: int) -> Array:
        """What each value of a pixel becomes, for each channel."""
        # float64 holds the products, and nearly all sums, exactly: the result is rounded once.
        levels = np.tile(np.arange(LEVELS, dtype=np.float64), (channels, 1))
        if self.scale is not None:
            levels *= self.scale[:, None]
        if self.bias is not None:
            levels += self.bias[:, None]
        return levels.astype(np.float32)

    def undone(self, channel: Array, place: int) -> Array:
        """The values before it, of one channel."""
        values = np.asarray(channel, np.float32)
        if self.norm is not None:
            values = values * np.float32(1 / self.norm[place])  # 255 of 1 / 255
        return values if self.mean is None else values + np.float32(self.mean[place])


def _each(what: str, numbers: Numbers | None, channels: int) -> tuple[float, ...] | None:
    if numbers is None:
        return None
    try:
        given = np.atleast_1d(np.asarray(numbers, np.float64))
    except (TypeError, ValueError):
        given = np.empty((0, 0), np.float64)
    if given.shape not in ((1,), (channels,)) or not np.isfinite(given).all():
        wanted = f"a number, or {channels}, one for each channel"
        raise InputError(f"no {what} of pixels", None, wanted, repr(numbers))
    if what == "norm" and not given.all():
        raise InputError("no norm of pixels", None, "numbers other than 0", repr(numbers))
    return tuple(map(float, np.broadcast_to(given, (channels,))))


def checked_pixels(pixels: object, channels: int | None = None) -> Pixels:
    """An array of pixels, with an axis of channels. Raises InputError for any other array.

    channels: how many there must be.
    """
    array = np.asarray(pixels)
    grown = array[..., None] if array.ndim == 2 else array
    known = {len(letters) for letters in ORDERS.values()}
    wanted = known if channels is None else {channels}
    if array.dtype == np.uint8 and grown.ndim == 3 and grown.shape[-1] in wanted:
        return grown
    shapes = "(height, width)" if channels == 1 else f"(height, width, {channels or '3 or 4'})"
    found = f"{array.dtype} {array.shape}"
    raise InputError("no pixels of that kind", None, f"uint8 {shapes}", found)


def without_one_channel(pixels: Pixels) -> Pixels:
    """Gray pixels without their axis of one channel; others as they are."""
    return pixels[..., 0] if pixels.shape[-1] == 1 else pixels


def _channel(pixels: Pixels, conversion: Conversion, place: int | None) -> Pixels:
    """One channel behind a conversion. place: one of its `places`."""
    if place is None:
        return np.full(pixels.shape[:2], OPAQUE, np.uint8)
    if place >= 0:
        return pixels[..., place]
    weights = np.array(conversion.gray_weights(), np.uint16)
    return ((pixels @ weights) >> GRAY_SHIFT).astype(np.uint8)


def convert(pixels: Pixels, conversion: str) -> Pixels:
    """Pixels in another order of channels, as "rgb2bgr", "rgba2rgb" or "gray2rgb"."""
    chosen = Conversion.of(conversion)
    given = checked_pixels(pixels, chosen.channels)
    channels = [_channel(given, chosen, place) for place in chosen.places()]
    return without_one_channel(np.stack(channels, -1))


def from_pixels(
    pixels: Pixels,
    conversion: str = "rgb",
    mean: Numbers | None = None,
    norm: Numbers | None = None,
) -> NDArray[np.float32]:
    """What a network reads: float32 (channels, height, width), contiguous.

    conversion: the order of the channels, "rgb", "bgr", "gray", "rgba" or "bgra", or two of them as
    "bgr2rgb". mean, norm: subtracted from each channel behind it, then multiplied.
    """
    chosen = Conversion.of(conversion)
    given = checked_pixels(pixels, chosen.channels)
    tables = Normalization.of(mean, norm, chosen.results).tables(chosen.results)
    result = np.empty((chosen.results, *given.shape[:2]), np.float32)
    for place, table, channel in zip(chosen.places(), tables, result, strict=True):
        np.take(table, _channel(given, chosen, place), out=channel)
    return result


def to_pixels(
    blob: Array,
    conversion: str = "rgb",
    mean: Numbers | None = None,
    norm: Numbers | None = None,
) -> Pixels:
    """Pixels of what a network returns as (channels, height, width): `from_pixels` undone.

    Values are multiplied by 1 / norm, mean is added, they are limited to 0 to 255 and rounded (a
    half to the even one). conversion: from the order of the network to that of the pixels.
    """
    chosen = Conversion.of(conversion)
    array = np.asarray(blob)
    if array.ndim != 3 or array.shape[0] != chosen.channels:
        wanted = f"({chosen.channels}, height, width)"
        raise InputError(f"no values of {chosen.source}", None, wanted, str(array.shape))
    before = Normalization.of(mean, norm, chosen.channels)
    pixels = np.empty((*array.shape[1:], chosen.channels), np.uint8)
    for place, channel in enumerate(array):
        values = before.undone(channel, place)
        pixels[..., place] = np.rint(np.minimum(np.fmax(values, 0), OPAQUE))  # NaN becomes 0
    return convert(pixels, str(chosen))
