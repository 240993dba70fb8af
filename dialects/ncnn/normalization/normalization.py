"""Normalizations by mean and variance: of innermost axes, of groups of channels, of each, of all.

A layer says which axes are taken together (its region).
"""

from __future__ import annotations

from math import prod

import numpy as np

from ncc.dialects.ncnn.axes import along_axis
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.normalization.statistics import (
    fold,
    mean_of,
    normalized,
    normalized_array,
    reciprocal_root,
    variance_of,
)
from ncc.dialects.ncnn.window import planes
from ncc.dialects.scalar import over_size, sqrt
from ncc.dialects.size import is_equal


class InnerRegion(Layer):
    """A layer that takes the innermost axes together, as many as have `affine_size` elements.

    Of (c, h, w): w, or h and w. Of (c, d, h, w): w, or h and w, or d, h and w. Otherwise w.
    Without weights the widest is taken where none fits.
    """

    affine_size = integer(0)
    eps = real(1, 0.001)
    affine = integer(2, 1)

    def check(self) -> None:
        if self.affine:
            check_positive(self, ["affine_size"])

    def region(self, x: Shape) -> tuple[int, ...]:
        """The axes that are taken together, ascending."""
        most = len(x) - 1 if len(x) > 2 else 1
        regions = [tuple(range(len(x) - count, len(x))) for count in range(1, most + 1)]
        for axes in regions:
            if is_equal(prod(x[axis] for axis in axes), self.affine_size):
                return axes
        if self.affine:
            raise LayerError(
                f"affine_size {self.affine_size} is not the size of innermost axes of {x}",
                "affine_size",
            )
        return regions[-1]

    def infer(self, x: Shape) -> Shape:
        self.region(x)
        return x


@layer("LayerNorm")
class LayerNormOp(InnerRegion):
    """gamma * (x - mean) / sqrt(variance + eps) + beta over the innermost axes."""

    gamma = Weight(lambda op: (op.affine_size,) if op.affine else None)
    beta = Weight(lambda op: (op.affine_size,) if op.affine else None)

    def reference(self, x: Array) -> Array:
        region = self.region(x.shape)
        y = normalized_array(x, region, self.eps)
        if self.gamma is None or self.beta is None:
            return y
        inner = x.shape[region[0] :]
        return y * self.gamma.array().reshape(inner) + self.beta.array().reshape(inner)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        region = self.region(x.shape)
        if self.gamma is None or self.beta is None:
            return normalized(b, x, region, self.eps, lambda value, _: value)
        inner = x.shape[region[0] :]
        gamma = b.reshape(b.weight(self.gamma), inner)
        beta = b.reshape(b.weight(self.beta), inner)
        first = region[0]
        return normalized(
            b, x, region, self.eps, lambda v, at: v * gamma[at[first:]] + beta[at[first:]]
        )


@layer("RMSNorm")
class RMSNormOp(InnerRegion):
    """gamma * x / sqrt(mean of x^2 + eps) over the innermost axes."""

    gamma = Weight(lambda op: (op.affine_size,) if op.affine else None)

    def reference(self, x: Array) -> Array:
        region = self.region(x.shape)
        power_of_x = np.square(x).mean(region, keepdims=True)
        y = np.asarray(x / np.sqrt(power_of_x + np.float32(self.eps)))
        return y if self.gamma is None else y * self.gamma.array().reshape(x.shape[region[0] :])

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        region = self.region(x.shape)
        squares = fold(b, x, region, lambda value, _: value * value)
        squares = b.scaled(squares, over_size(1, prod(x.shape[axis] for axis in region)))
        factor = reciprocal_root(b, squares, self.eps)
        gamma = None
        if self.gamma is not None:
            gamma = b.reshape(b.weight(self.gamma), x.shape[region[0] :])
        at, to, _ = b.loops_around(x.shape, region)
        value = x[at] * factor[to]
        return b.map(at, value if gamma is None else value * gamma[at[region[0] :]])


@layer("GroupNorm")
class GroupNormOp(Layer):
    """gamma[c] * (x - mean) / sqrt(variance + eps) + beta[c] over each group of channels.

    The channels are the outermost axis.
    """

    group = integer(0, 1)
    channels = integer(1)
    eps = real(2, 0.001)
    affine = integer(3, 1)

    gamma = Weight(lambda op: (op.channels,) if op.affine else None)
    beta = Weight(lambda op: (op.channels,) if op.affine else None)

    def check(self) -> None:
        check_positive(self, ["group", "channels"])
        if self.channels % self.group:
            raise LayerError(
                f"channels {self.channels} is not divisible by group {self.group}", "group"
            )

    def infer(self, x: Shape) -> Shape:
        if not is_equal(x[0], self.channels):
            raise LayerError(f"takes {self.channels} channels, not {x}", "channels")
        return x

    def reference(self, x: Array) -> Array:
        split = x.reshape(self.group, -1)
        y = normalized_array(split, (1,), self.eps).reshape(x.shape)
        return _affine_array(y, self.gamma, self.beta)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        inside = self.channels // self.group
        groups = [[0, 1], *([axis + 1] for axis in range(1, x.rank))]
        split = b.expand(x, groups, (self.group, inside, *x.shape[1:]))
        region = range(1, split.rank)
        if self.gamma is None or self.beta is None:
            y = normalized(b, split, region, self.eps, lambda value, _: value)
        else:
            gamma = b.expand(b.weight(self.gamma), [[0, 1]], (self.group, inside))
            beta = b.expand(b.weight(self.beta), [[0, 1]], (self.group, inside))
            y = normalized(
                b, split, region, self.eps, lambda v, at: v * gamma[at[:2]] + beta[at[:2]]
            )
        return b.collapse(y, groups)


@layer("InstanceNorm")
class InstanceNormOp(Layer):
    """gamma[c] * (x - mean) / sqrt(variance + eps) + beta[c] over the space of each channel."""

    channels = integer(0)
    eps = real(1, 0.001)
    affine = integer(2, 1)

    gamma = Weight(lambda op: (op.channels,) if op.affine else None)
    beta = Weight(lambda op: (op.channels,) if op.affine else None)

    def check(self) -> None:
        if self.affine:
            check_positive(self, ["channels"])

    def infer(self, x: Shape) -> Shape:
        if len(x) < 3 or (self.affine and not is_equal(x[0], self.channels)):
            wanted = f"{self.channels} channels" if self.affine else "channels"
            raise LayerError(f"takes {wanted} and axes of space, not {x}")
        return x

    def reference(self, x: Array) -> Array:
        y = normalized_array(x, tuple(range(1, x.ndim)), self.eps)
        return _affine_array(y, self.gamma, self.beta)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        region = range(1, x.rank)
        if self.gamma is None or self.beta is None:
            return normalized(b, x, region, self.eps, lambda value, _: value)
        gamma, beta = b.weight(self.gamma), b.weight(self.beta)
        return normalized(b, x, region, self.eps, lambda v, at: v * gamma[at[0]] + beta[at[0]])


def _affine_array(y: Array, gamma: WeightAttr | None, beta: WeightAttr | None) -> Array:
    """gamma * y + beta along the outermost axis, or y where there are none."""
    if gamma is None or beta is None:
        return y
    shape = along_axis(0, y.ndim)
    return y * gamma.array().reshape(shape) + beta.array().reshape(shape)


@layer("MVN")
class MVNOp(Layer):
    """x - mean, and with normalize_variance over (standard deviation + eps).

    Over the space of each channel, or over everything. Fewer than three axes are one channel of
    (1, h, w), also in the result.
    """

    normalize_variance = integer(0)
    across_channels = integer(1)
    eps = real(2, 0.0001)

    def infer(self, x: Shape) -> Shape:
        return planes(x, 3)

    def region(self, rank: int) -> tuple[int, ...]:
        return tuple(range(0 if self.across_channels else 1, rank))

    def reference(self, x: Array) -> Array:
        x = x.reshape(self.infer(x.shape))
        region = self.region(x.ndim)
        off = np.asarray(x - x.mean(region, keepdims=True))
        if not self.normalize_variance:
            return off
        deviation = np.sqrt(np.square(off).mean(region, keepdims=True))
        return np.asarray(off / (deviation + np.float32(self.eps)))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        x = b.reshape(x, self.infer(x.shape))
        region = self.region(x.rank)
        mean = mean_of(b, x, region)
        factor = None
        if self.normalize_variance:
            variance = variance_of(b, x, mean, region)
            at = b.loops_of(variance.shape)
            factor = b.map(at, 1.0 / (sqrt(variance[at]) + self.eps))
        at, to, _ = b.loops_around(x.shape, region)
        off = x[at] - mean[to]
        return b.map(at, off if factor is None else off * factor[to])
