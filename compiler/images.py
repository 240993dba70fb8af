"""Images as arrays that networks read. Pillow decodes them, where it is installed."""

from __future__ import annotations

from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.diagnostics import Unsupported

Array: TypeAlias = NDArray[Any]

LARGEST = 255.0
"""Of what an image holds."""


def read_image(file: IO[bytes]) -> Array:
    """The pixels as float32 from 0 to 255: (3, height, width), red first; (1, height, width) of
    grey ones.

    Raises Unsupported where Pillow is not installed, OSError and ValueError for what is no image.
    """
    try:
        from PIL import Image
    except ImportError:
        raise Unsupported(
            "an image without Pillow, which reads it", how="pip install pillow"
        ) from None
    with Image.open(file) as image:
        if image.mode[0] in "IF":
            raise ValueError("its pixels are no bytes: numpy.save it as (channels, height, width)")
        pixels = np.asarray(image.convert("L" if image.mode in ("1", "L") else "RGB"), np.float32)
    channels_last = pixels.reshape(*pixels.shape[:2], -1)
    return np.ascontiguousarray(channels_last.transpose(2, 0, 1))
