"""Layers between element types: float32, int8, int32 sums of products, and half precision."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, i8, i32
from xdsl.ir import Attribute

from ncc.dialects.bfloat16 import from_bfloat16, to_bfloat16
from ncc.dialects.casts import saturated_int8
from ncc.dialects.element import BLOB_ELEMENTS, dtype_of
from ncc.dialects.index_notation import Indices
from ncc.dialects.ncnn.axes import along_axis
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.elementwise.activation import activate, activate_array, check_activation
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
    reals,
)
from ncc.dialects.ncnn.param import held
from ncc.dialects.ncnn.quantization.int8 import quantize_array
from ncc.dialects.scalar import Scalar, convert


class Scaling(Layer):
    """A layer of elements of its own and numbers for all channels, or one for each channel.

    The channels of a vector are one: the first number is that of all its elements.
    """

    def infer(self, x: Shape) -> Shape:
        channels = 1 if len(x) == 1 else x[0]
        for name in self.LAYER.weights:
            held = self.properties.get(name)
            if isinstance(held, WeightAttr) and 1 < held.shape[0] < channels:
                raise LayerError(f"'{name}' has {held.shape[0]} numbers for {channels} channels")
        return x

    def numbers(self, held: WeightAttr | None, x: Array) -> Array | np.float32:
        """The numbers as they meet the elements of x; 0 where there are none."""
        if held is None:
            return np.float32(0)
        if x.ndim == 1 or held.shape[0] == 1:
            return np.float32(held.array()[0])
        return held.array()[: x.shape[0]].reshape(along_axis(0, x.ndim))

    def number(self, b: Builder, held: WeightAttr, x: Tensor) -> _Number:
        """The number that meets an element of x, by its place."""
        if x.rank == 1 or held.shape[0] == 1:
            return _Number(float(held.array()[0]))
        return _Number(b.table(held.array()[: x.shape[0]]))


class _Number:
    """One number, or one a channel."""

    def __init__(self, held: float | Tensor) -> None:
        self.held = held

    def at(self, place: Indices) -> Scalar | float:
        return self.held if isinstance(self.held, float) else self.held[place[0]]


@layer("Quantize")
class QuantizeOp(Scaling):
    """y = x * scale as int8: rounded, halves away from zero, and limited to [-127, 127]."""

    scale_data_size = integer(0, 1)

    scale_data = Weight(lambda op: (op.scale_data_size,))

    def check(self) -> None:
        check_positive(self, ["scale_data_size"])

    def element_types(self, *operands: Attribute) -> Attribute:
        return i8

    def reference(self, x: Array) -> Array:
        return quantize_array(x, self.numbers(self.scale_data, x))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        scale = self.number(b, held(self.scale_data, "scale_data"), x)
        at = b.loops_of(x.shape)
        return b.map(at, saturated_int8(x[at] * scale.at(at)))


@layer("Dequantize")
class DequantizeOp(Scaling):
    """y = x * scale + bias of int32 sums, as float32."""

    scale_data_size = integer(0, 1)
    bias_data_size = integer(1)

    scale_data = Weight(lambda op: (op.scale_data_size,))
    bias_data = Weight(lambda op: (op.bias_data_size,) if op.bias_data_size else None)

    def check(self) -> None:
        check_positive(self, ["scale_data_size"])
        if self.bias_data_size < 0:
            raise LayerError(f"bias_data_size is {self.bias_data_size}", "bias_data_size")

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return (i32,)

    def reference(self, x: Array) -> Array:
        y = x.astype(np.float32) * self.numbers(self.scale_data, x)
        return np.asarray(y + self.numbers(self.bias_data, x))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        scale = self.number(b, held(self.scale_data, "scale_data"), x)
        bias = None if self.bias_data is None else self.number(b, self.bias_data, x)
        at = b.loops_of(x.shape)
        y = convert(x[at], f32) * scale.at(at)
        return b.map(at, y if bias is None else y + bias.at(at))


@layer("Requantize")
class RequantizeOp(Scaling):
    """y = act(x * scale_in + bias) * scale_out of int32 sums, as int8 like Quantize's."""

    scale_in_data_size = integer(0, 1)
    scale_out_data_size = integer(1, 1)
    bias_data_size = integer(2)
    activation_type = integer(3)
    activation_params = reals(4)

    scale_in_data = Weight(lambda op: (op.scale_in_data_size,))
    scale_out_data = Weight(lambda op: (op.scale_out_data_size,))
    bias_data = Weight(lambda op: (op.bias_data_size,) if op.bias_data_size else None)

    def check(self) -> None:
        check_positive(self, ["scale_in_data_size", "scale_out_data_size"])
        if self.bias_data_size < 0:
            raise LayerError(f"bias_data_size is {self.bias_data_size}", "bias_data_size")
        check_activation(self.activation_type, self.activation_params)

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return (i32,)

    def element_types(self, *operands: Attribute) -> Attribute:
        return i8

    def reference(self, x: Array) -> Array:
        y = x.astype(np.float32) * self.numbers(self.scale_in_data, x)
        y = np.asarray(y + self.numbers(self.bias_data, x))
        y = activate_array(y, self.activation_type, self.activation_params)
        return quantize_array(y, self.numbers(self.scale_out_data, x))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        scale_in = self.number(b, held(self.scale_in_data, "scale_in_data"), x)
        scale_out = self.number(b, held(self.scale_out_data, "scale_out_data"), x)
        bias = None if self.bias_data is None else self.number(b, self.bias_data, x)
        at = b.loops_of(x.shape)
        y = convert(x[at], f32) * scale_in.at(at)
        y = activate(
            y if bias is None else y + bias.at(at), self.activation_type, self.activation_params
        )
        return b.map(at, saturated_int8(y * scale_out.at(at)))


_CAST_TYPES = {1: f32, 2: f16, 3: i8, 4: bf16}
"""The element types by ncnn's numbers."""

_CASTS = {(1, 2), (2, 1), (3, 1), (1, 4), (4, 1)}
"""The conversions that ncnn has; of others it leaves the result unwritten."""


@layer("Cast")
class CastOp(Layer):
    """The elements in another type: float32 to and from float16 and bfloat16, int8 to float32.

    A number between two of the narrower type becomes the nearer one, halves the even one.
    """

    type_from = integer(0)
    type_to = integer(1)

    def check(self) -> None:
        pair = (self.type_from, self.type_to)
        if self.type_from != self.type_to and pair not in _CASTS:
            raise LayerError(f"ncnn has no conversion from type {pair[0]} to {pair[1]}", "type_to")

    def infer(self, x: Shape) -> Shape:
        return x

    def takes(self, position: int) -> tuple[Attribute, ...]:
        if self.type_from == self.type_to:
            return tuple(BLOB_ELEMENTS.values())
        return (_CAST_TYPES[self.type_from],)

    def element_types(self, *operands: Attribute) -> Attribute:
        return operands[0] if self.type_from == self.type_to else _CAST_TYPES[self.type_to]

    def reference(self, x: Array) -> Array:
        match self.type_from, self.type_to:
            case (4, 1):
                return from_bfloat16(x)
            case (1, 4):
                return to_bfloat16(x)
            case (a, b) if a == b:
                return x
        with np.errstate(over="ignore"):
            return x.astype(dtype_of(_CAST_TYPES[self.type_to]))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if self.type_from == self.type_to:
            return x
        at = b.loops_of(x.shape)
        return b.map(at, convert(x[at], _CAST_TYPES[self.type_to]))
