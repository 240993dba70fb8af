"""Images in files and of Pillow as pixels: read, written, resized."""

from __future__ import annotations

import io
import os
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from ncc.runtime.errors import InputError, needing_packages
from ncc.runtime.pixels import (
    OPAQUE,
    Pixels,
    checked_pixels,
    convert,
    from_pixels,
    to_pixels,
    without_one_channel,
)

if TYPE_CHECKING:
    from PIL.Image import Image as Image

__all__ = [
    "Letterbox",
    "as_image",
    "as_pixels",
    "convert",
    "from_pixels",
    "letterbox",
    "open",
    "resize",
    "save",
    "to_pixels",
]

File: TypeAlias = "str | os.PathLike[str] | IO[bytes] | bytes"

FILL = 114
"""The gray beside an image that was made to fit, with which detectors are trained."""


def _pillow() -> Any:
    with needing_packages("an image", "image"):
        from PIL import Image, ImageOps

    return Image, ImageOps


def open(file: File) -> Pixels:
    """The pixels of an image file: its path, its bytes, or an open file.

    Gray ones are (height, width), others (height, width, 3), red first, with alpha (.., 4). They
    stand as the camera was held. Raises InputError for what is no image, OSError for what cannot be
    read, NccError without Pillow.
    """
    Image, ImageOps = _pillow()
    shown = io.BytesIO(file) if isinstance(file, bytes | bytearray | memoryview) else file
    try:
        with Image.open(shown) as image:
            return as_pixels(ImageOps.exif_transpose(image))
    except Image.DecompressionBombError as error:
        raise InputError(str(error)) from None
    except Image.UnidentifiedImageError as error:
        raise InputError(str(error)) from None


def is_of_pillow(image: object) -> TypeGuard[Image]:
    """Whether an object is an image of Pillow, which need not be installed."""
    return hasattr(image, "getbands")


def as_pixels(image: Pixels | Image) -> Pixels:
    """The pixels of an image of Pillow, or of an array, which are checked.

    Raises InputError for pixels that are no bytes, and for other arrays.
    """
    if not is_of_pillow(image):
        return without_one_channel(checked_pixels(image))
    if image.mode[0] in "IF":
        how = "make bytes of them first"
        raise InputError(f"the pixels of this image are no bytes but of mode {image.mode}: {how}")
    if image.mode in ("1", "L"):
        mode = "L"
    else:
        mode = "RGBA" if image.has_transparency_data else "RGB"
    return np.array(image.convert(mode))


def save(pixels: Pixels, file: str | os.PathLike[str] | IO[bytes], **options: Any) -> None:
    """Write pixels to an image file. options: of Pillow's `Image.save`, as quality=90."""
    as_image(pixels).save(file, **options)


def as_image(pixels: Pixels) -> Image:
    """The image of Pillow with these pixels."""
    made: Image = _pillow()[0].fromarray(np.ascontiguousarray(as_pixels(pixels)))
    return made


def resize(pixels: Pixels | Image, size: tuple[int, int], how: str = "bilinear") -> Pixels:
    """The image with another (height, width), by Pillow.

    how: nearest, box, bilinear, hamming, bicubic or lanczos.
    """
    Image, _ = _pillow()
    ways = {way.name.lower(): way for way in Image.Resampling}
    if how not in ways:
        raise InputError("no way to resize", None, " or ".join(ways), repr(how))
    height, width = _size(size)
    given = as_pixels(pixels)
    if given.shape[:2] == (height, width):
        return given
    return np.array(as_image(given).resize((width, height), ways[how]))


def _size(size: tuple[int, int]) -> tuple[int, int]:
    try:
        height, width = map(int, size)
    except (TypeError, ValueError):
        height = width = 0
    if height < 1 or width < 1:
        raise InputError("no size of an image", None, "(height, width)", repr(size))
    return height, width


class Letterbox(NamedTuple):
    """An image that was made to fit, and where it lies: a point (x, y) of the image is at
    (x * scale + left, y * scale + top) of the pixels.
    """

    pixels: Pixels
    scale: float
    left: int
    top: int


def letterbox(
    pixels: Pixels | Image, size: tuple[int, int], fill: int = FILL, how: str = "bilinear"
) -> Letterbox:
    """The image in the middle of (height, width), as large as fits, its shape kept.

    fill: the value of all channels beside it; alpha there is opaque. how: as for `resize`.
    """
    given = as_pixels(pixels)
    height, width = _size(size)
    scale = min(height / given.shape[0], width / given.shape[1])
    rows, columns = (max(1, round(extent * scale)) for extent in given.shape[:2])
    top, left = (height - rows) // 2, (width - columns) // 2
    framed = np.full((height, width, *given.shape[2:]), fill, np.uint8)
    if given.shape[2:] == (4,):
        framed[..., 3] = OPAQUE
    framed[top : top + rows, left : left + columns] = resize(given, (rows, columns), how)
    return Letterbox(framed, scale, left, top)
