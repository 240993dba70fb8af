"""The weights by which compiled code acts, as far as they are not those of the file.

Winograd's rounding is as large as what one weight makes that is off by a thousandth. But it is
random, and what a wrong weight makes follows what the weight multiplies: summed up over all places,
the products of the error and of that stand out. They tell how far the weight is off, too:

    error[o, p] = change[o, k] * x[k, p] + rounding[o, p]
    change[o, k] = sum over p of error[o, p] * x[k, p] / sum over p of x[k, p]^2

A bias is a weight that multiplies 1.
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

OF_A_WEIGHT, OF_A_BIAS = 2.0**-24, 1e-6
"""What a wrong weight makes is nothing, as a part of the largest result: half a unit in
the last place, on the average; of a bias as much as weights make that are rounded.
"""


def weights_off(op: Layer, given: Sequence[Array], made: Array, wanted: Array) -> float:
    """How far the weight is off that is off the most, of a convolution by its result and the exact
    one; as a part of the largest weight or bias, and 0 where none stands out.
    """
    error = made - wanted
    size = _largest(error)
    if not isinstance(op, ConvolutionLayer | DeconvolutionLayer) or not 0 < size < inf:
        return 0.0
    error /= size
    error = error.astype(np.float32)
    bias = op.bias_array(*given)
    largest = _largest(wanted) / size
    of_bias = _part(_bias_off(error, OF_A_BIAS * largest), bias)
    params = op.params(*(array.shape for array in given))
    off = _weights_off(op, given, error, OF_A_WEIGHT * largest)
    return max(of_bias, _part(off, op.filters_array(params, *given))) * size


def _largest(values: Array) -> float:
    """The largest of them, whatever its sign; without a copy of all."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _part(off: float, weights: Array | None) -> float:
    """What is off, as a part of the largest weight, if there is any but 0."""
    largest = 0.0 if weights is None else float(np.abs(weights).max())
    return off / largest if largest else 0.0


def _bias_off(error: Array, nothing: float) -> float:
    """How far the mean error of a channel is from zero, where that stands out."""
    flat = error.reshape(len(error), -1)
    mean = np.abs(flat.mean(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = mean / np.sqrt(np.square(flat).mean(1)) * sqrt(flat.shape[1])
    return float(mean[(mean > nothing) & (alike > STANDS_OUT)].max(initial=0.0))


def _weights_off(
    op: ConvolutionLayer | DeconvolutionLayer, given: Sequence[Array], error: Array, nothing: float
) -> float:
    """How far the weight is off that is off the most, where that stands out."""
    params = op.params(*(array.shape for array in given))
    group, windows = params.channels.group, params.windows
    x = given[0].reshape(op.planes_of(given[0].shape, params))
    error = error.reshape(params.num_output, *error.shape[error.ndim - len(windows) :])
    if isinstance(op, ConvolutionLayer):
        _, pads = op.padded(given[0].shape, params)
        wide = np.pad(x, [(0, 0), *pads], constant_values=np.float32(op.pad_value))
        common, by_chance, seen = _common(error, wide, group, windows)
        read = seen[:, None]
    else:
        crops = op.crops(op.full_sizes(x.shape[1:], windows))
        common, by_chance, _ = _common(x, np.pad(error, [(0, 0), *crops]), group, windows)
        read = np.square(x).reshape(group, len(x) // group, -1).sum(2)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(common) / read
        makes = off * np.sqrt(read / error[0].size)
        works = (makes > nothing) & (np.abs(common) > STANDS_OUT * np.sqrt(by_chance))
    return float(off[works].max(initial=0.0))


def _common(
    narrow: Array, wide: Array, group: int, windows: Sequence[Window]
) -> tuple[Array, Array, Array]:
    """The sums of the products of each channel of `narrow` and each cell that windows of `wide`
    see, (group, channels, cells); those of the squares of these, which are the square of what the
    former are by chance; and of the squares of the latter alone, (group, cells).
    """
    split = narrow.reshape(group, -1, *narrow.shape[1:])
    sums: list[Any] = [0.0, 0.0, 0.0]
    for rows, columns in columns_of(wide, group, windows):
        part = split[:, :, rows].reshape(group, split.shape[1], -1)
        squares = np.square(columns)
        more = part @ columns.swapaxes(1, 2), np.square(part) @ squares.swapaxes(1, 2)
        sums = [*map(np.add, sums, (*more, squares.sum(2)))]
    return sums[0], sums[1], sums[2]
