"""int8 arithmetic inside a layer: weights and inputs as int8, exact int32 sums, float32 results.

    q(v, s) = v * s rounded, halves away from zero, and limited to [-127, 127]
    y[o] = act(sum over k of q(x[k], s_x) * q(w[o, k], s_w[o]) * factor[o] + b[o])
    factor[o] = 1 / (s_x * s_w[o]), or 0 where s_w[o] is 0

ncnn's release only estimates the factors of depthwise convolutions of a multiple of 8 channels; so
do we, since what it rounds to int8 would differ.

`int8_scale_term` 0 stands for plain float32 arithmetic; above 100 the result is q(y, s_y). Weights
may be stored as int8 or as float32, and an input may be int8 already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from ncc.dialects.casts import saturated_int8
from ncc.dialects.ncnn.axes import along_axis
from ncc.dialects.ncnn.elementwise.activation import Activated
from ncc.dialects.ncnn.layer import Array, Builder, LayerError, Shape, Tensor, WeightAttr
from ncc.dialects.ncnn.reciprocal import estimated_reciprocal
from ncc.dialects.scalar import Scalar, convert

LAST_FLOAT_TERM = 100
"""A layer with a higher int8_scale_term makes an int8 result."""


def quantize_array(x: Array, scale: Array | np.float32) -> Array:
    """x * scale as int8; NaN becomes -127."""
    with np.errstate(all="ignore"):
        scaled = np.asarray(x * scale, np.float32)
    limited = np.fmin(np.fmax(scaled, np.float32(-127)), np.float32(127)).astype(np.float64)
    return np.copysign(np.floor(np.abs(limited) + 0.5), limited).astype(np.int8)


def product(x: Scalar, w: Scalar) -> Scalar:
    """x * w; of int8 factors as int32."""
    if x.type == w.type == i8:
        return convert(x, i32) * convert(w, i32)
    return x * w


@dataclass(frozen=True)
class Int8:
    """The numbers of one layer that computes in int8, and its arithmetic.

    weight_scales: one for all outputs, or one for each of so many equal runs of them. output_scale:
    None for a float32 result. estimated: whether the factors are estimates.
    """

    stored: WeightAttr
    bias: WeightAttr | None
    weight_scales: WeightAttr
    input_scale: WeightAttr
    output_scale: WeightAttr | None
    outputs: int
    estimated: bool = False

    @property
    def weight(self) -> WeightAttr:
        """The weights as int8, in the shape in which they are stored."""
        if self.stored.element_type == i8:
            return self.stored
        scales = self.weight_scales.array()
        rows = self.stored.array().reshape(len(scales), -1)
        return WeightAttr.of(quantize_array(rows, scales[:, None]).reshape(self.stored.shape))

    @property
    def factors(self) -> Array:
        """The value of one unit in the sum of each output."""
        scales = self.weight_scales.array()
        units = self.input_scale.array()[0] * scales
        with np.errstate(divide="ignore"):
            factors = estimated_reciprocal(units) if self.estimated else np.float32(1) / units
        factors = np.where(scales == 0, np.float32(0), factors)
        return np.repeat(factors, self.outputs // len(factors))

    # --- in numpy ---------------------------------------------------------------------------

    def quantized(self, x: Array) -> Array:
        """The input as int8."""
        return x if x.dtype == np.int8 else quantize_array(x, self.input_scale.array()[0])

    def finished(self, sums: Array, op: Activated, axis: int = 0) -> Array:
        """The result of the layer from its sums; `axis` holds the outputs."""
        along = along_axis(axis, sums.ndim)
        y = sums.astype(np.int32).astype(np.float32) * self.factors.reshape(along)
        if self.bias is not None:
            y = y + self.bias.array().reshape(along)
        y = op.activate_array(y)
        if self.output_scale is None:
            return y
        return quantize_array(y, self.output_scale.array()[0])

    # --- in index notation ------------------------------------------------------------------

    def quantize(self, b: Builder, x: Tensor) -> Tensor:
        """The input as int8."""
        if x.element_type == i8:
            return x
        at = b.loops_of(x.shape)
        return b.map(at, saturated_int8(x[at] * float(self.input_scale.array()[0])))

    def finish(
        self, b: Builder, sums: Tensor, op: Activated, axes: Shape | None = None, first: int = 0
    ) -> Tensor:
        """The result of the layer from its sums.

        `axes`: the extents of the axes that hold the outputs (more than one where these are in
        groups), from axis `first` on.
        """
        axes = axes or (self.outputs,)
        groups = [list(range(len(axes)))]
        factors = b.expand(b.table(self.factors), groups, axes)
        bias = None if self.bias is None else b.expand(b.weight(self.bias), groups, axes)
        at = b.loops_of(sums.shape)
        own = at[first : first + len(axes)]
        y = convert(sums[at], f32) * factors[own]
        y = op.activated(y if bias is None else y + bias[own])
        if self.output_scale is not None:
            y = saturated_int8(y * float(self.output_scale.array()[0]))
        return b.map(at, y)


class Int8Layer(Activated):
    """A layer that computes in int8 where its int8_scale_term says so."""

    @property
    def int8(self) -> Int8 | None:
        """Its int8 arithmetic; None where it computes in float32."""
        return None

    @property
    def makes_int8(self) -> bool:
        """Whether the result is int8."""
        return self.int8 is not None and self.int8.output_scale is not None

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return (f32, i8) if position == 0 and self.int8 is not None else (f32,)

    def element_types(self, *operands: Attribute) -> Attribute:
        weight = self.properties.get("weight")
        if self.int8 is None and isinstance(weight, WeightAttr):
            refuse_int8(weight, "int8_scale_term")
        return i8 if self.makes_int8 else f32


def refuse_int8(weight: WeightAttr, param: str) -> None:
    """ncnn does not load int8 weights without the scales that give them a meaning."""
    if weight.element_type == i8:
        raise LayerError("its weights are int8, but there are no scales", param)


def int8_of(
    outputs: int,
    weight: WeightAttr | None,
    bias: WeightAttr | None,
    weight_scales: WeightAttr | None,
    input_scale: WeightAttr | None,
    output_scale: WeightAttr | None = None,
) -> Int8 | None:
    """The int8 arithmetic of a layer with so many outputs; None without scales."""
    if weight is None or weight_scales is None or input_scale is None:
        return None
    return Int8(weight, bias, weight_scales, input_scale, output_scale, outputs)
