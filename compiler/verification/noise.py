"""Computes exact results of a layer, and samples of results that float32 may give in any order.

The reference of a layer computes the exact results in float64. For a sample, it computes in
float32, and every number that it reads or makes is moved by a random unit in the last place. Where
values cancel, the result of that is large. Some layers get more than one unit:

- A long sum gets the square root of its length. Compiled code may add one number after another,
  where numpy and BLAS add parts.
- A convolution with a window gets `WINOGRAD` units from -O2 on, if it has channels enough: tiles
  add up its values and subtract them again.
- A product on matrix tiles gets `BF16X3`, the last place of two bfloat16 together.

A layer that only moves values moves them exactly. A layer that rounds to int8 reads its inputs as
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.cost_model import CostModel
from ncc.compiler.options import Options
from ncc.dialects.ncnn.attention.attention import Attention
from ncc.dialects.ncnn.convolution.convolution import ConvolutionLayer, DeconvolutionLayer
from ncc.dialects.ncnn.convolution.filtering import Filtering
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.linear.einsum import EinsumOp
from ncc.dialects.ncnn.linear.gemm import GemmOp
from ncc.dialects.ncnn.linear.linear import InnerProductOp, MatMulOp
from ncc.dialects.ncnn.moving import MovingLayer
from ncc.dialects.ncnn.normalization.normalization import (
    GroupNormOp,
    InnerRegion,
    InstanceNormOp,
    MVNOp,
)
from ncc.dialects.ncnn.normalization.normalize import NormalizeOp
from ncc.dialects.ncnn.pooling.pooling import PoolingLayer
from ncc.dialects.ncnn.pooling.pooling_vectors import SPPOp, StatisticsPoolingOp
from ncc.dialects.ncnn.quantization.quantize import QuantizeOp, RequantizeOp
from ncc.dialects.ncnn.recurrent.recurrent import Recurrent
from ncc.dialects.ncnn.reduction.reduction import ReductionOp, SoftmaxOp
from ncc.dialects.ncnn.window import planes

Array: TypeAlias = NDArray[Any]

UNIT = 2.0**-23
"""The last place of a float32, as a part of the number."""

WINOGRAD = 32.0
"""Units that a convolution in tiles may lose, on the average of a channel."""

BF16X3 = 2.0**7
"""The last place of two bfloat16 is that of 16 bits."""

TERMS_OF_A_UNIT = 64
"""The number of terms from which on a sum gets more than one unit. If n numbers of one size are
added one after another, the sum is off by an eighth of the square root of n units, on the average.
"""


def exact(op: Layer, arrays: Sequence[Array]) -> list[Array]:
    """The results of a layer in float64. The rule of a layer that rounds to int8 is in float32."""
    if rounds(op):
        return op.reference_all([_as(array, np.float32) for array in arrays])
    with np.errstate(all="ignore"):
        return op.reference_all([_as(array, np.float64) for array in arrays])


def _as(array: Array, dtype: type[np.floating[Any]]) -> Array:
    """An array of floats in another width; any other array as it is."""
    return array.astype(dtype, copy=False) if array.dtype in (np.float32, np.float64) else array


def rounds(op: Layer) -> bool:
    """Whether a layer rounds to int8."""
    return isinstance(op, QuantizeOp | RequantizeOp) or any(
        getattr(op, term, 0) for term in ("int8_scale_term", "quantize_term")
    )


@dataclass
class Noise:
    """Makes samples of results in float32, for code of these options. Each call makes another."""

    options: Options
    seed: int = 0
    generator: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(self.seed)

    def __call__(self, op: Layer, arrays: Sequence[Array]) -> list[Array]:
        """One sample of the results of a layer."""
        plain = [_as(array, np.float32) for array in arrays]
        size = units(op, [array.shape for array in arrays], self.options) * UNIT
        if not size:
            return op.reference_all(plain)
        with np.errstate(all="ignore"):
            if not rounds(op):
                moved = {id(array): self._moved(array, size) for array in plain}
                plain = [moved[id(array)] for array in plain]
            return [self._moved(result, size) for result in op.reference_all(plain)]

    def _moved(self, array: Array, size: float) -> Array:
        """The array, each number larger or smaller by this part of it."""
        if array.dtype != np.float32:
            return array
        larger = self.generator.integers(0, 2, array.shape, np.int8).view(np.bool_)
        moved = np.where(larger, np.float32(1 + size), np.float32(1 - size))
        moved *= array  # In place: an index of each number would take 64 bits.
        return np.asarray(moved)


def units(op: Layer, shapes: Sequence[tuple[int, ...]], options: Options) -> float:
    """The units in the last place by which samples move what a layer reads and makes."""
    if isinstance(op, MovingLayer):
        return 0.0
    least = 1.0
    if options.tiles and isinstance(op, Filtering | InnerProductOp | GemmOp | Attention):
        least = BF16X3
    elif isinstance(op, ConvolutionLayer | DeconvolutionLayer) and options.opt_level >= 2:
        least = WINOGRAD if _may_be_in_tiles(op, shapes, options.target.costs) else 1.0
    return max(least, sqrt(_terms(op, shapes) / TERMS_OF_A_UNIT))


def _may_be_in_tiles(
    op: ConvolutionLayer | DeconvolutionLayer,
    shapes: Sequence[tuple[int, ...]],
    costs: CostModel,
) -> bool:
    """Whether a convolution may be computed in tiles. Passes may join its groups, and split
    a stride into phases.
    """
    filters = op.params(*shapes)
    if filters.channels.depthwise or prod(filters.kernel) == 1:
        return False
    phases = prod(window.stride for window in filters.windows)
    return (
        min(filters.num_output, filters.num_input) * phases >= costs.winograd.fewest_tiled_channels
    )


def _terms(op: Layer, shapes: Sequence[tuple[int, ...]]) -> float:
    """The number of terms in one sum of a layer."""
    if not shapes:
        return 1
    x = shapes[0]
    match op:
        case Filtering():
            filters = op.params(*shapes)
            return prod(filters.shape) / filters.num_output
        case InnerProductOp():
            return op.weight_data_size / op.num_output
        case GemmOp():
            return op.sizes(shapes).k
        case MatMulOp() | Recurrent() | Attention() | EinsumOp():
            return max(max(shape) for shape in shapes)
        case PoolingLayer() | SPPOp() | StatisticsPoolingOp() | ReductionOp():
            return prod(x) / prod(op.infer_all(shapes)[0])
        case InnerRegion():
            return prod(x[axis] for axis in op.region(x))
        case GroupNormOp():
            return prod(x) / op.group
        case InstanceNormOp():
            return prod(x[1:])
        case MVNOp() | NormalizeOp():
            image = planes(x, 3)
            return prod(image[axis] for axis in op.region(len(image)))
        case SoftmaxOp():
            return x[op.along(len(x))]
    return 1
