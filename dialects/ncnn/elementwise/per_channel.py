"""Arithmetic with numbers of each channel: scales, biases, batch normalization, slopes."""

from __future__ import annotations

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
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.param import held
from ncc.dialects.scalar import select
from ncc.dialects.size import are_equal, is_equal

GIVEN = -233
"""The value of Scale's scale_data_size if the scales are a second input."""


def scale_channels(x: Array, factor: Array, offset: Array | None) -> Array:
    """x * factor + offset, with one factor and offset for each index of axis 0."""
    shape = along_axis(0, x.ndim)
    with np.errstate(all="ignore"):
        scaled = x * factor.reshape(shape)
        return np.asarray(scaled if offset is None else scaled + offset.reshape(shape))


def expand_scale(b: Builder, x: Tensor, factor: Tensor, offset: Tensor | None) -> Tensor:
    """x * factor + offset, with one factor and offset for each index of axis 0."""
    at = b.loops_of(x.shape)
    scaled = x[at] * factor[at[0]]
    return b.map(at, scaled if offset is None else scaled + offset[at[0]])


def check_channels(count: int, x: Shape, what: str, param: str) -> None:
    """Refuse another count of values than the input has channels."""
    if not is_equal(count, x[0]):
        raise LayerError(f"{count} {what} do not fit the {x[0]} channels of {x}", param)


@layer("Scale", inputs=(1, 2), outputs=(1, 2))
class ScaleOp(Layer):
    """x * scale + bias, one scale a channel: stored, or (scale_data_size -233) a second input.

    A second output is the second input, as with every layer that ncnn runs in place.
    """

    scale_data_size = integer(0)
    bias_term = integer(1)

    scale = Weight(lambda op: None if op.scale_data_size == GIVEN else (op.scale_data_size,))
    bias = Weight(
        lambda op: (op.scale_data_size,) if op.bias_term and op.scale_data_size != GIVEN else None
    )

    def check(self) -> None:
        given = self.scale_data_size == GIVEN
        if not given and self.scale_data_size <= 0:
            raise LayerError(f"scale_data_size is {self.scale_data_size}", "scale_data_size")
        if given and self.bias_term:
            raise LayerError("a Scale of two inputs has no bias", "bias_term")
        if len(self.operands) != (2 if given else 1):
            raise LayerError(
                f"scale_data_size is {self.scale_data_size}, so there must be "
                f"{2 if given else 1} inputs, not {len(self.operands)}",
                "scale_data_size",
            )
        if len(self.results) > len(self.operands):
            raise LayerError("a Scale with stored scales has one output, not two")

    def infer(self, x: Shape, scale: Shape | None = None) -> list[Shape]:
        if scale is None:
            check_channels(self.scale_data_size, x, "scales", "scale_data_size")
            return [x]
        if not are_equal(scale, x[:1]):
            raise LayerError(f"scales of shape {scale} do not fit the {x[0]} channels of {x}")
        return [x, scale][: len(self.results)]

    def reference(self, x: Array, scale: Array | None = None) -> list[Array]:
        factor = held(self.scale, "scale").array() if scale is None else scale
        scaled = scale_channels(x, factor, self.bias.array() if self.bias else None)
        return [scaled, factor][: len(self.results)]

    def lower(self, b: Builder, x: Tensor, scale: Tensor | None = None) -> list[Tensor]:
        factor = b.weight(held(self.scale, "scale")) if scale is None else scale
        scaled = expand_scale(b, x, factor, b.weight(self.bias) if self.bias else None)
        return [scaled, factor][: len(self.results)]


@layer("Bias")
class BiasOp(Layer):
    """x + bias, one number for each c; ranks 1 and 2 have a single c."""

    bias_data_size = integer(0)

    bias = Weight(lambda op: (op.bias_data_size,))

    def check(self) -> None:
        check_positive(self, ["bias_data_size"])

    def infer(self, x: Shape) -> Shape:
        if len(x) > 2:
            check_channels(self.bias_data_size, x, "biases", "bias_data_size")
        return x

    def reference(self, x: Array) -> Array:
        bias = held(self.bias, "bias").array()
        return np.asarray(x + (bias.reshape(along_axis(0, x.ndim)) if x.ndim > 2 else bias[0]))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        bias = b.weight(held(self.bias, "bias"))
        at = b.loops_of(x.shape)
        return b.map(at, x[at] + bias[at[0] if x.rank > 2 else 0])


@layer("BatchNorm")
class BatchNormOp(Layer):
    """slope (x - mean) / sqrt(var + eps) + bias, one of each a channel."""

    channels = integer(0)
    eps = real(1)

    slope = Weight(lambda op: (op.channels,))
    mean = Weight(lambda op: (op.channels,))
    var = Weight(lambda op: (op.channels,))
    bias = Weight(lambda op: (op.channels,))

    def check(self) -> None:
        check_positive(self, ["channels"])

    def infer(self, x: Shape) -> Shape:
        check_channels(self.channels, x, "sets of weights", "channels")
        return x

    def scale_and_offset(self) -> tuple[Array, Array]:
        """The layer as x * factor + offset.

        factor = slope / deviation, offset = bias - mean * factor.
        """
        slope, mean, deviation, bias = self._statistics()
        with np.errstate(all="ignore"):
            return slope / deviation, bias - slope * mean / deviation

    def _statistics(self) -> tuple[Array, Array, Array, Array]:
        """Slope, mean, deviation and bias of each channel; a deviation of 0 counts as 1e-4."""
        variance = held(self.var, "var").array()
        with np.errstate(all="ignore"):
            deviation = np.sqrt(variance + np.float32(self.eps))
        deviation = np.where(deviation == 0, np.float32(1e-4), deviation)
        slope, mean = held(self.slope, "slope").array(), held(self.mean, "mean").array()
        return slope, mean, deviation, held(self.bias, "bias").array()

    def reference(self, x: Array) -> Array:
        shape = along_axis(0, x.ndim)
        slope, mean, deviation, bias = (each.reshape(shape) for each in self._statistics())
        with np.errstate(all="ignore"):
            return np.asarray((x - mean) / deviation * slope + bias)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        factor, offset = self.scale_and_offset()
        return expand_scale(b, x, b.table(factor), b.table(offset))


@layer("PReLU")
class PReLUOp(Layer):
    """slope * x below 0, else x; one slope, or one for each index of the channel axis."""

    num_slope = integer(0)

    slope = Weight(lambda op: (op.num_slope,))

    def check(self) -> None:
        check_positive(self, ["num_slope"])

    def infer(self, x: Shape) -> Shape:
        if self.num_slope != 1 and not is_equal(self.num_slope, x[0]):
            raise LayerError(
                f"{self.num_slope} slopes do not fit the {x[0]} channels of {x}", "num_slope"
            )
        return x

    def reference(self, x: Array) -> Array:
        slope = held(self.slope, "slope").array().reshape(along_axis(0, x.ndim))
        return np.where(x < 0, x * slope, x)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        slope = b.weight(held(self.slope, "slope"))
        at = b.loops_of(x.shape)
        value = x[at]
        scaled = value * slope[at[0] if self.num_slope > 1 else 0]
        return b.map(at, select(value < 0.0, scaled, value))
