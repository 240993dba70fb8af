"""Arrays that tests of layers feed, and what stands for them in IR."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.test import TestOp

from ncc.dialects.index_notation import Tensor
from ncc.dialects.ncnn.layer import Array


def ramp(*shape: int) -> Array:
    """0, 1, 2, ... in this shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def array(*rows: object) -> list[Array]:
    """One array of these rows, as layers take and make lists of them."""
    return [np.array(rows, np.float32)]


def random(*shape: int) -> Array:
    """Numbers between -1 and 1, the same for the same shape."""
    return np.random.default_rng(shape).uniform(-1, 1, shape).astype(np.float32)


def tensor(*shape: int) -> Tensor:
    """A value that nothing is known of but its shape."""
    return Tensor(TestOp(result_types=[TensorType(f32, list(shape))]).results[0], shape)
