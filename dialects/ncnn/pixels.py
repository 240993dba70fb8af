"""Pixels as the values that a network reads, and back: no layers of ncnn, whose Mat does it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from ncc.dialects.element import ui8
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    WeightAttr,
    declare,
    reals,
    string,
)
from ncc.dialects.scalar import (
    Operand,
    Scalar,
    clamp,
    constant,
    convert,
    floor,
    multiply_add,
    round_even,
)
from ncc.runtime.errors import InputError
from ncc.runtime.pixel_orders import GRAY_OF_COLOURS, GRAY_SHIFT, Conversion
from ncc.runtime.pixels import OPAQUE, Normalization, from_pixels, to_pixels


class PixelsOp(Layer):
    """`from_pixels`: uint8 (height, width, channels), or (height, width) of gray ones, becomes
    float32 (channels, height, width), x * norm - mean * norm.
    """

    conversion = string(0)
    mean = reals(1)
    norm = reals(2)

    @property
    def between(self) -> Conversion:
        return Conversion.of(self.conversion)

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return (ui8,)

    def infer(self, x: Shape) -> Shape:
        channels = self.between.channels
        wanted = ("height", "width") if channels == 1 else ("height", "width", channels)
        if len(x) != len(wanted) or (channels > 1 and x[2] != channels):
            raise LayerError(f"pixels are of shape {x}, and not ({', '.join(map(str, wanted))})")
        return (self.between.results, *x[:2])

    def element_types(self, *operands: Attribute) -> Attribute:
        return f32

    def reference(self, x: Array) -> Array:
        return from_pixels(x, self.conversion, self.mean or None, self.norm or None)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        places = self.between.places()
        if x.rank == 2:
            return b.concat([self._plane(b, x, k, place) for k, place in enumerate(places)], 0)
        if places == [GRAY_OF_COLOURS]:
            return self._plane(b, gray_of(b, x, self.between, 2), 0, 0)
        planes = self._planes(b, x, places)
        if places == list(range(x.shape[2])):
            return planes
        taken = [
            self._plane(b, x, k, None) if place is None else b.cut(planes, 0, place, place + 1)
            for k, place in enumerate(places)
        ]
        return b.concat(taken, 0)

    def _planes(self, b: Builder, x: Tensor, places: Sequence[int | None]) -> Tensor:
        """All channels of the pixels, in their order, by one kernel: it loads them together."""
        of_channel = {place: k for k, place in enumerate(places)}
        used = [of_channel.get(channel, 0) for channel in range(x.shape[2])]
        scales, biases = self._numbers
        at = k, row, column = b.loops_of((x.shape[2], *x.shape[:2]))
        value = convert(x[[row, column, k]], f32)
        scale = None if scales is None else b.weight(WeightAttr.typed(scales[used]))[k]
        bias = None if biases is None else b.weight(WeightAttr.typed(biases[used]))[k]
        return b.map(at, _scaled(value, scale, bias))

    def _plane(self, b: Builder, x: Tensor, k: int, place: int | None) -> Tensor:
        """One channel of the result, of gray pixels, or opaque."""
        scales, biases = self._numbers
        at = b.loops_of((1, *x.shape[:2]))
        value = constant(OPAQUE) if place is None else convert(x[at[1:]], f32)
        scale = None if scales is None else float(scales[k])
        bias = None if biases is None else float(biases[k])
        return b.map(at, _scaled(value, scale, bias))

    @property
    def _numbers(self) -> tuple[Array | None, Array | None]:
        """What each channel of the result is multiplied by, and what is added."""
        known = Normalization.of(self.mean or None, self.norm or None, self.between.results)
        return known.scale, known.bias


class ToPixelsOp(Layer):
    """`to_pixels`: float32 (channels, height, width), before which a batch of 1 may stand, becomes
    uint8 (height, width, channels), or (height, width) of gray ones.

    scale: 1 / norm, since values of float32 have to be exactly what numpy multiplies by.
    """

    conversion = string(0)
    mean = reals(1)
    scale = reals(2)

    @property
    def between(self) -> Conversion:
        return Conversion.of(self.conversion)

    def infer(self, x: Shape) -> Shape:
        image = _image(x)
        if len(image) != 3 or image[0] != self.between.channels:
            wanted = f"({self.between.channels}, height, width)"
            raise InputError(f"{self.layer_name}: no image", None, wanted, str(x))
        return image[1:] if self.between.results == 1 else (*image[1:], self.between.results)

    def element_types(self, *operands: Attribute) -> Attribute:
        return ui8

    def reference(self, x: Array) -> Array:
        image = x.reshape(_image(x.shape))
        norm = 1 / np.array(self.scale) if self.scale else None
        return to_pixels(image, self.conversion, self.mean or None, norm)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        levels = self._levels(b, b.reshape(x, _image(x.shape)))
        places = self.between.places()
        if places != list(range(levels.shape[0])):
            levels = b.concat([self._plane(b, levels, place) for place in places], 0)
        sides = levels.shape[1:]
        if len(places) == 1:
            at = b.loops_of(sides)
            return b.map(at, convert(levels[[0, *at]], ui8))
        row, column, k = b.loops_of((*sides, len(places)))
        return b.map((row, column, k), convert(levels[[k, row, column]], ui8))

    def _levels(self, b: Builder, x: Tensor) -> Tensor:
        """Each channel of the network as it was before mean and norm, limited and rounded."""
        at = b.loops_of(x.shape)
        value = x[at]
        if self.scale:
            value = value * b.weight(WeightAttr.of(np.array(self.scale)))[at[0]]
        if self.mean:
            mean = b.weight(WeightAttr.of(np.array(self.mean)))[at[0]]
            # The sum of float64, rounded, is that of float32. The product is rounded before it,
            # which no instruction for both would do.
            value = convert(convert(value, f64) + convert(mean, f64), f32)
        return b.map(at, round_even(clamp(value, 0.0, float(OPAQUE))))

    def _plane(self, b: Builder, levels: Tensor, place: int | None) -> Tensor:
        """One channel of the pixels, with an axis in front."""
        shape = (1, *levels.shape[1:])
        if place is None:
            return b.full(shape, OPAQUE)
        if place >= 0:
            return b.cut(levels, 0, place, place + 1)
        return b.reshape(gray_of(b, levels, self.between, 0), shape)


def gray_of(b: Builder, x: Tensor, conversion: Conversion, axis: int) -> Tensor:
    """Gray of the colours along an axis, as floats; sums are exact."""
    weights = np.array(conversion.gray_weights(), np.float32) * 0.5**GRAY_SHIFT
    at = b.loops_of(x.shape)
    share = b.weight(WeightAttr.typed(weights.astype(np.float32)))
    sides = [loop for loop in at if loop is not at[axis]]
    summed = b.sum(sides, over=(at[axis],), of=convert(x[at], f32) * share[at[axis]])
    at = b.loops_of(summed.shape)
    return b.map(at, floor(summed[at]))


def _image(shape: Shape) -> Shape:
    """A shape without a batch of 1."""
    return shape[1:] if len(shape) == 4 and shape[0] == 1 else shape


def _scaled(x: Scalar, scale: Operand | None, bias: Operand | None) -> Scalar:
    if scale is not None and bias is not None:
        return multiply_add(x, scale, bias)
    if scale is not None:
        return x * scale
    return x if bias is None else x + bias


declare(PixelsOp, "Pixels", (1, 1), (1, 1))
declare(ToPixelsOp, "ToPixels", (1, 1), (1, 1))
