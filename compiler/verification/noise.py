"""What a layer's reference gives: exactly, and as float32 in any order may.

The exact values are those of float64. A sample of what float32 may give is the reference in float32
with every number that it reads, and every one that it makes, off by a random unit in the last
place: where values cancel, that becomes large. Some layers have more than a unit:

- long sums have the square root of their length: compiled code may add one number after the other,
  where numpy and BLAS add parts;
- convolutions with windows have `WINOGRAD` units from -O2 on: their values may be added up and
  subtracted again in tiles, where there are channels enough;
- products that matrix tiles compute have `HALVES`, the last place of two bfloat16 together.

Layers that move values move them exactly, and those that round to int8 read what they are given.
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
"""The last place of a float32, as a part of it."""

WINOGRAD = 32.0
"""Units that a convolution may lose in tiles, on the average of a channel."""

HALVES = 2.0**7
"""The last place of two bfloat16 is that of 16 bits."""

TERMS_OF_A_UNIT = 64
"""Terms of a sum that have a unit. If n numbers of one size are added one after the other, rounding
is an eighth of the root of n units of the result, on the average.
"""


def exact(op: Layer, arrays: Sequence[Array]) -> list[Array]:
    """The results of a layer in float64; of one that rounds to int8 in float32, as its rule is."""
    if rounds(op):
        return op.reference_all([_as(array, np.float32) for array in arrays])
    with np.errstate(all="ignore"):
        return op.reference_all([_as(array, np.float64) for array in arrays])


def _as(array: Array, dtype: type[np.floating[Any]]) -> Array:
    """Floats of 32 or 64 bits as others."""
    return array.astype(dtype, copy=False) if array.dtype in (np.float32, np.float64) else array


def rounds(op: Layer) -> bool:
    """Whether a layer rounds to int8."""
    return isinstance(op, QuantizeOp | RequantizeOp) or any(
        getattr(op, term, 0) for term in ("int8_scale_term", "quantize_term")
    )


@dataclass
class Noise:
    """Samples of what float32 gives, for code of these options; each call is one more."""

    options: Options
    seed: int = 0
    generator: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(self.seed)

    def __call__(self, op: Layer, arrays: Sequence[Array]) -> list[Array]:
        """The results of a layer, as its reference may give them in float32."""
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
        """Each number of an array off by this part of it."""
        if array.dtype != np.float32:
            return array
        factors = np.array([1 - size, 1 + size], np.float32)
        return np.asarray(array * factors[self.generator.integers(0, 2, array.shape, np.int8)])


def units(op: Layer, shapes: Sequence[tuple[int, ...]], options: Options) -> float:
    """By how many units in the last place what a layer reads and makes is off."""
    if isinstance(op, MovingLayer):
        return 0.0
    least = 1.0
    if options.tiles and isinstance(op, Filtering | InnerProductOp | GemmOp | Attention):
        least = HALVES
    elif isinstance(op, ConvolutionLayer | DeconvolutionLayer) and options.opt_level >= 2:
        least = WINOGRAD if _may_be_in_tiles(op, shapes, options.target.costs) else 1.0
    return max(least, sqrt(_terms(op, shapes) / TERMS_OF_A_UNIT))


def _may_be_in_tiles(
    op: ConvolutionLayer | DeconvolutionLayer,
    shapes: Sequence[tuple[int, ...]],
    costs: CostModel,
) -> bool:
    """Whether a convolution may be computed in tiles, groups joined and phases of strides apart."""
    filters = op.params(*shapes)
    if filters.channels.depthwise or prod(filters.kernel) == 1:
        return False
    phases = prod(window.stride for window in filters.windows)
    return min(filters.num_output, filters.num_input) * phases >= costs.fewest_tiled_channels


def _terms(op: Layer, shapes: Sequence[tuple[int, ...]]) -> float:
    """How many terms one sum of a layer has."""
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
