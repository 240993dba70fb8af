"""Arrays that tests of layers feed."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.layer import Array


def ramp(*shape: int) -> Array:
    """0, 1, 2, ... in this shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def array(*rows: object) -> list[Array]:
    """One array of these rows, as layers take and make lists of them."""
    return [np.array(rows, np.float32)]
