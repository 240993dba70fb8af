"""The largest, the sum or the mean of elements: of each window, or of each channel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ncc.dialects.ncnn.layer import Array, Builder, LayerError, Tensor
from ncc.dialects.ncnn.window import Window, output_sizes
from ncc.dialects.scalar import over_size

LOWEST = float(np.finfo(np.float32).min)
"""The padding value of a maximum over a window."""

MAXIMUM, MEAN = 0, 1


def check_pooling_type(kind: int) -> None:
    """Refuse a `pooling_type` that is neither the largest nor the mean."""
    if kind not in (MAXIMUM, MEAN):
        raise LayerError(f"pooling_type is {kind}, neither 0 (max) nor 1 (average)", "pooling_type")


def cells_of(windows: Sequence[Window]) -> int:
    """How many elements a window has."""
    return prod(window.kernel for window in windows)


def pool(b: Builder, x: Tensor, windows: Sequence[Window], kind: int) -> Tensor:
    """The largest or the sum of each window of a padded (channels, *space)."""
    count = len(windows)
    sizes = {f"y{k}": n for k, n in enumerate(output_sizes(windows, x.shape[1:]))}
    sizes |= {f"u{k}": window.kernel for k, window in enumerate(windows)}
    c, *loops = b.loops(" ".join(["c", *sizes]), **sizes)
    ys, us = loops[:count], loops[count:]
    places = [y * w.stride + u for y, u, w in zip(ys, us, windows, strict=True)]
    element = x[[c, *places]]
    if kind == MAXIMUM:
        return b.max((c, *ys), over=us, of=element)
    return b.sum((c, *ys), over=us, of=element)


def largest(x: Array, axis: int | tuple[int, ...]) -> Array:
    """The largest number: NaN counts for nothing, as for `Builder.max`."""
    return np.asarray(np.fmax.reduce(x, axis=axis))


def pool_all(b: Builder, x: Tensor, kind: int) -> Tensor:
    """The largest or the mean of each channel."""
    c, *space = b.loops_of(x.shape)
    if kind == MAXIMUM:
        return b.max((c,), over=space, of=x[[c, *space]])
    total = b.sum((c,), over=space, of=x[[c, *space]])
    return b.scaled(total, over_size(1, prod(x.shape[1:])))
