"""Finds weights by which compiled code acts, and which are not those of the file.

Winograd's rounding is as large as the effect of one weight that is off by a thousandth. But
rounding is random, and the effect of a wrong weight follows the values that the weight multiplies.
Summed up over all places, the products of the error and of these values stand out. They also tell
how far the weight is off:

    error[o, p] = change[o, k] * x[k, p] + rounding[o, p]
    change[o, k] = sum over p of error[o, p] * x[k, p] / sum over p of x[k, p]^2

A bias is a weight that multiplies 1.

A sum stands out from what rounding makes of it, which the squares of its terms tell. Most terms of
a weight that multiplies few large values are its own effect. So the squares are taken once more for
the weights that are likely, without this effect: each term is what is left of the error at a place
if the other places tell the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
"""A sum of products stands out if it is so many times as large as with a random error. Neighbours
in a tile round alike, so that sums of rounding reach 10.
"""

LIKELY, MOST_LIKELY = 4.0, 32
"""The same while a weight's own effect counts as random, and the most weights that are looked at
without it.
"""

OF_A_WEIGHT, OF_A_BIAS = 2.0**-24, 1e-6
"""The effect that counts as none, as a part of the largest result: for a weight, half a unit in the
last place, on the average; for a bias, the effect of rounded weights.
"""


def weights_off(
    op: Layer, given: Sequence[Array], made: Array, wanted: Array, least: float
) -> float:
    """How far the weight of a convolution is off that is off the most, as a part of the largest
    weight or bias. 0 if no weight is off by more than the least part.

    made, wanted: the result and the exact one.
    """
    error = made - wanted
    size = _largest(error)
    if not isinstance(op, ConvolutionLayer | DeconvolutionLayer) or not 0 < size < inf:
        return 0.0
    error /= size
    error = error.astype(np.float32)
    largest = _largest(wanted) / size
    params = op.params(*(array.shape for array in given))
    bias, weights = op.bias_array(*given), op.filters_array(params, *given)
    of_bias = _bias_off(error, OF_A_BIAS * largest) * size if bias is not None else 0.0
    parts = [of_bias / _largest(bias)] if bias is not None and _largest(bias) else []
    if largest_weight := _largest(weights):
        off = _weights_off(op, given, error, OF_A_WEIGHT * largest, least * largest_weight / size)
        parts.append(off * size / largest_weight)
    return max((part for part in parts if part > least), default=0.0)


def _largest(values: Array) -> float:
    """The largest of them, whatever its sign; without a copy of all."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _bias_off(error: Array, nothing: float) -> float:
    """How far the mean error of a channel is from zero, where that stands out."""
    flat = error.reshape(len(error), -1)
    mean = np.abs(flat.mean(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = mean / np.sqrt(np.square(flat).mean(1)) * sqrt(flat.shape[1])
    return float(mean[(mean > nothing) & (alike > STANDS_OUT)].max(initial=0.0))


def _weights_off(
    op: ConvolutionLayer | DeconvolutionLayer,
    given: Sequence[Array],
    error: Array,
    nothing: float,
    least: float,
) -> float:
    """How far the weight is off that is off the most, where that stands out."""
    params = op.params(*(array.shape for array in given))
    group, windows = params.channels.group, params.windows
    x = given[0].reshape(op.planes_of(given[0].shape, params))
    error = error.reshape(params.num_output, *error.shape[error.ndim - len(windows) :])
    if isinstance(op, ConvolutionLayer):
        _, pads = op.padded(given[0].shape, params)
        narrow = error
        wide = np.pad(x, [(0, 0), *pads], constant_values=np.float32(op.pad_value))
        common, by_chance, seen = _common(narrow, wide, group, windows)
        read = np.broadcast_to(seen[:, None], common.shape)
    else:
        crops = op.crops(op.full_sizes(x.shape[1:], windows))
        narrow, wide = x, np.pad(error, [(0, 0), *crops])
        common, by_chance, _ = _common(narrow, wide, group, windows)
        seen = np.square(x).reshape(group, len(x) // group, -1).sum(2)
        read = np.broadcast_to(seen[:, :, None], common.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = common / read
        makes = np.abs(change) * np.sqrt(read / error[0].size)
        alike = np.abs(common) / np.sqrt(by_chance)
    likely = (makes > nothing) & (np.abs(change) > least) & (alike > LIKELY)
    places = sorted(np.argwhere(likely).tolist(), key=lambda place: -alike[tuple(place)])
    trials = [
        _Trial(part, channel, element, change[part, channel, element], read[part, channel, element])
        for part, channel, element in places[:MOST_LIKELY]
    ]
    _look_at(trials, narrow, wide, group, windows, isinstance(op, DeconvolutionLayer))
    return max((trial.off for trial in trials if trial.stands_out), default=0.0)


@dataclass
class _Trial:
    """A weight that is likely to be wrong: its group, the channel and the element that its products
    come from, by how much it is off, and the sum of the squares that it multiplies.

    left: the sum of squares of the products with what is left of the error.
    """

    group: int
    channel: int
    element: int
    change: float
    read: float
    left: float = 0.0

    def add(self, error: Array, x: Array) -> None:
        """Take in some places."""
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (error - self.change * x) / (1 - np.square(x) / self.read)
        self.left += float(np.square(others * x).sum())

    @property
    def off(self) -> float:
        return abs(float(self.change))

    @property
    def stands_out(self) -> bool:
        """Whether rounding has not as much in common with what the weight multiplies."""
        return self.off * self.read > STANDS_OUT * sqrt(self.left)


def _look_at(
    trials: Sequence[_Trial],
    narrow: Array,
    wide: Array,
    group: int,
    windows: Sequence[Window],
    transposed: bool,
) -> None:
    """Fill in what is left of the error. transposed: whether the error is wide, and x narrow."""
    if not trials:
        return
    split = narrow.reshape(group, -1, *narrow.shape[1:])
    for rows, columns in columns_of(wide, group, windows):
        for trial in trials:
            channel = split[trial.group, trial.channel, rows].ravel()
            element = columns[trial.group, trial.element]
            error, x = (element, channel) if transposed else (channel, element)
            trial.add(error, x)


def _common(
    narrow: Array, wide: Array, group: int, windows: Sequence[Window]
) -> tuple[Array, Array, Array]:
    """Multiply each channel of `narrow` by each element that windows of `wide` see.

    Returns the sums of these products, (group, channels, elements); the sums of their squares,
    whose root is what the former sums are by chance; and the sums of the squares of the elements
    alone, (group, elements).
    """
    split = narrow.reshape(group, -1, *narrow.shape[1:])
    sums: list[Any] = [0.0, 0.0, 0.0]
    for rows, columns in columns_of(wide, group, windows):
        part = split[:, :, rows].reshape(group, split.shape[1], -1)
        squares = np.square(columns)
        more = part @ columns.swapaxes(1, 2), np.square(part) @ squares.swapaxes(1, 2)
        sums = [*map(np.add, sums, (*more, squares.sum(2)))]
    return sums[0], sums[1], sums[2]
