"""Col2Im: columns of patches, added where patches overlap, as an image."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integers
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.onnx.windows import Window, windows
from ncc.dialects.scalar import select, to_index
from ncc.dialects.shapes import shown


@operator("Col2Im", since=18, inputs=3)
class Col2ImOp(Operator):
    """(batch, channels * window, places) to (batch, channels, *image)."""

    SETTLES = (1, 2)

    dilations = integers()
    pads = integers()
    strides = integers()

    def windows(self) -> tuple[Window, ...]:
        """The window along each axis of the image."""
        image, block = (tuple(map(int, self.constant(k).reshape(-1))) for k in self.SETTLES)
        if len(image) != len(block) or min(*image, *block) < 1:
            raise LayerError(f"an image {shown(image)} of blocks {shown(block)}")
        return windows(image, block, self.strides, self.dilations, self.pads, "NOTSET")

    def infer(self, x: Shape, *others: Shape) -> Shape:
        at = self.windows()
        kernel, counts = prod(w.kernel for w in at), prod(w.count for w in at)
        if len(x) != 3 or x[1] % kernel or x[2] != counts:
            raise LayerError(f"columns {shown(x)} of {counts} blocks of {kernel}")
        return (x[0], x[1] // kernel, *(w.size for w in at))

    def sources(self) -> Array:
        """For each pixel and each element of the window the number of the element of a channel's
        columns that falls there; -1 for none: (pixels, window).
        """
        at = self.windows()
        counts, kernel = [w.count for w in at], [w.kernel for w in at]
        image = np.indices([w.size for w in at]).reshape(len(at), -1, 1)
        taps = np.indices(kernel).reshape(len(at), 1, -1)
        number = np.zeros((image.shape[1], taps.shape[2]), np.int64)
        hit = np.ones(number.shape, np.bool_)
        for axis, w in enumerate(at):
            off = image[axis] + w.low - taps[axis] * w.dilation
            place = off // w.stride
            hit &= (off % w.stride == 0) & (place >= 0) & (place < counts[axis])
            number = number * counts[axis] + place
        tap = np.arange(number.shape[1])
        return np.where(hit, tap * prod(counts) + number, -1)

    def reference(self, x: Array, *others: Array) -> Array:
        shape, sources = self.infer(x.shape), self.sources()
        columns = x.reshape(*shape[:2], -1)
        taken = np.where(sources >= 0, columns[..., sources], np.zeros((), x.dtype))
        return np.asarray(taken.sum(-1, dtype=x.dtype)).reshape(shape)

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        shape, sources = self.infer(x.shape), self.sources()
        columns = b.reshape(x, (*shape[:2], prod(x.shape[1:]) // shape[1]))
        inside = b.constant(np.maximum(sources, 0), i64)
        known = b.constant(sources, i64)
        n, c, pixel, tap = b.loops_of([*shape[:2], *sources.shape])
        taken = columns.at(b.index(n), b.index(c), to_index(inside[pixel, tap]))
        value = select(known[pixel, tap] < 0, 0, taken)
        return b.reshape(b.sum([n, c, pixel], over=[tap], of=value), shape)
