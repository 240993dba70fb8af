"""Mean, variance and the like of a region: some axes of a blob, taken together.

They are folds over the region, and spread back in the linalg operation that reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Indices
from ncc.dialects.ncnn.layer import Array, Builder, Tensor
from ncc.dialects.scalar import Scalar, over_size, sqrt


def fold(
    b: Builder, x: Tensor, region: Sequence[int], of: Callable[[Scalar, Indices], Scalar]
) -> Tensor:
    """The sum over the axes `region` of `of(x, ...)`, given the loops of the other axes."""
    at, to, over = b.loops_around(x.shape, region)
    return b.sum(to, over=over, of=of(x[at], to))


def mean_of(b: Builder, x: Tensor, region: Sequence[int]) -> Tensor:
    """The mean over the axes `region`."""
    count = prod(x.shape[axis] for axis in region)
    return b.scaled(fold(b, x, region, lambda value, _: value), over_size(1, count))


def variance_of(b: Builder, x: Tensor, mean: Tensor, region: Sequence[int]) -> Tensor:
    """The mean of (x - mean)^2 over the axes `region`."""

    def squared(value: Scalar, to: Indices) -> Scalar:
        off = value - mean[to]
        return off * off

    count = prod(x.shape[axis] for axis in region)
    return b.scaled(fold(b, x, region, squared), over_size(1, count))


def reciprocal_root(b: Builder, x: Tensor, eps: float) -> Tensor:
    """1 / sqrt(x + eps)."""
    at = b.loops_of(x.shape)
    return b.map(at, 1.0 / sqrt(x[at] + eps))


def normalized_array(x: Array, region: tuple[int, ...], eps: float) -> Array:
    """(x - mean) / sqrt(variance + eps) over the axes `region`."""
    off = x - x.mean(region, keepdims=True)
    variance = np.square(off).mean(region, keepdims=True)
    return np.asarray(off / np.sqrt(variance + np.float32(eps)))


def normalized(
    b: Builder,
    x: Tensor,
    region: Sequence[int],
    eps: float,
    affine: Callable[[Scalar, Sequence[AffineExpr]], Scalar],
) -> Tensor:
    """affine((x - mean) / sqrt(variance + eps), loops) over the axes `region`."""
    mean = mean_of(b, x, region)
    factor = reciprocal_root(b, variance_of(b, x, mean, region), eps)
    at, to, _ = b.loops_around(x.shape, region)
    return b.map(at, affine((x[at] - mean[to]) * factor[to], at))
