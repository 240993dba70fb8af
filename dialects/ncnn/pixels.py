"""Pixels as the values that a network reads: no layer of ncnn, whose Mat does it before a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32
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
from ncc.dialects.scalar import Operand, Scalar, constant, convert, floor, multiply_add
from ncc.runtime.pixel_orders import GRAY_OF_COLOURS, GRAY_SHIFT, Conversion
from ncc.runtime.pixels import OPAQUE, Normalization, from_pixels


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
            return self._plane(b, self._gray(b, x), 0, 0)
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

    def _gray(self, b: Builder, x: Tensor) -> Tensor:
        """Gray of colours, as floats; sums are exact."""
        weights = np.array(self.between.gray_weights(), np.float32) * 0.5**GRAY_SHIFT
        row, column, k = b.loops_of(x.shape)
        share = b.weight(WeightAttr.typed(weights.astype(np.float32)))
        summed = b.sum((row, column), over=(k,), of=convert(x[[row, column, k]], f32) * share[k])
        at = b.loops_of(summed.shape)
        return b.map(at, floor(summed[at]))

    @property
    def _numbers(self) -> tuple[Array | None, Array | None]:
        """What each channel of the result is multiplied by, and what is added."""
        known = Normalization.of(self.mean or None, self.norm or None, self.between.results)
        return known.scale, known.bias


def _scaled(x: Scalar, scale: Operand | None, bias: Operand | None) -> Scalar:
    if scale is not None and bias is not None:
        return multiply_add(x, scale, bias)
    if scale is not None:
        return x * scale
    return x if bias is None else x + bias


declare(PixelsOp, "Pixels", (1, 1), (1, 1))
