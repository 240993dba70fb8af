"""The weights by which compiled code acts, as far as they are not those of the file.

Winograd's rounding is as large as what one weight makes that is off by a thousandth. But it is
random, and what a wrong weight makes follows what the weight multiplies: summed up over all places,
the products of the error and of that stand out. They tell how far the weight is off, too:

    error[o, p] = change[o, k] * x[k, p] + rounding[o, p]
    change[o, k] = sum over p of error[o, p] * x[k, p] / sum over p of x[k, p]^2
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.convolution.convolution import (
    ConvolutionLayer,
    DeconvolutionLayer,
    columns_of,
)
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.window import Window

Array: TypeAlias = NDArray[Any]

STANDS_OUT = 15.0
"""How many times what random errors have in common with what a weight multiplies. Rounding of
neighbours that a tile shares is not quite random: it reaches 10.
"""

NEXT_TO_NOTHING = 1e-6
"""What a weight multiplies is nothing, as a part of the largest that one does."""


def weights_off(op: Layer, given: Sequence[Array], error: Array) -> float:
    """How far the weight is off that is off the most, of a convolution by its error; as a part of
    the largest one, and 0 where none stands out.
    """
    size = float(np.abs(error).max(initial=0.0))
    if not isinstance(op, ConvolutionLayer | DeconvolutionLayer) or not 0 < size < inf:
        return 0.0
    error = (error / size).astype(np.float32)
    params = op.params(*(array.shape for array in given))
    group, windows = params.channels.group, params.windows
    x = given[0].reshape(op.planes_of(given[0].shape, params))
    error = error.reshape(params.num_output, *error.shape[error.ndim - len(windows) :])
    if isinstance(op, ConvolutionLayer):
        _, pads = op.padded(given[0].shape, params)
        wide = np.pad(x, [(0, 0), *pads], constant_values=np.float32(op.pad_value))
        change, power = _common(error, wide, group, windows)
        read, made = power[:, None], _power(error, group)[:, :, None]
    else:
        crops = op.crops(op.full_sizes(x.shape[1:], windows))
        change, power = _common(x, np.pad(error, [(0, 0), *crops]), group, windows)
        read, made = _power(x, group)[:, :, None], power[:, None]
    largest = float(np.abs(op.filters_array(params, *given)).max())
    works = read > read.max() * NEXT_TO_NOTHING**2
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.abs(change) / np.sqrt(read * made) * sqrt(error[0].size)
        off = np.abs(change) / read * (size / largest)
    return float(off[works & (alike > STANDS_OUT)].max(initial=0.0))


def _common(
    narrow: Array, wide: Array, group: int, windows: Sequence[Window]
) -> tuple[Array, Array]:
    """The sums of the products of each channel of `narrow` and each cell that windows of `wide`
    see, (group, channels, cells), and those of the squares of the latter, (group, cells).
    """
    split = narrow.reshape(group, -1, *narrow.shape[1:])
    products: Any = 0.0
    squares: Any = 0.0
    for rows, columns in columns_of(wide, group, windows):
        part = split[:, :, rows].reshape(group, split.shape[1], -1)
        products = products + part @ columns.swapaxes(1, 2)
        squares = squares + np.square(columns).sum(2)
    return np.asarray(products), np.asarray(squares)


def _power(x: Array, group: int) -> Array:
    """The sum of the squares of each channel, (group, channels)."""
    return np.asarray(np.square(x).reshape(group, len(x) // group, -1).sum(2))
