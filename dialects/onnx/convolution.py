"""Convolutions of images of any number of axes, batch and channels in front."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, integers, string
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.onnx.windows import Window, windows
from ncc.dialects.shapes import shown


@operator("Conv", inputs=(2, 3))
class ConvOp(Operator):
    """Sums of windows of x, of all channels of a group, weighted by filters w; and a bias."""

    auto_pad = string("NOTSET")
    dilations = integers()
    group = integer(1)
    kernel_shape = integers()
    pads = integers()
    strides = integers()

    def windows(self, x: Shape, w: Shape) -> tuple[Window, ...]:
        """The window along each axis of the image."""
        kernel = self.kernel_shape or w[2:]
        if kernel != w[2:]:
            raise LayerError(f"the filters have the kernel {shown(w[2:])}, not {shown(kernel)}")
        return windows(x[2:], kernel, self.strides, self.dilations, self.pads, self.auto_pad)

    def infer(self, x: Shape, w: Shape, bias: Shape | None = None) -> Shape:
        if len(x) < 3 or len(w) != len(x):
            raise LayerError(f"an image {shown(x)} and filters {shown(w)}")
        if self.group < 1 or x[1] != w[1] * self.group or w[0] % self.group:
            raise LayerError(f"filters {shown(w)} of {self.group} groups for {x[1]} channels")
        if bias is not None and bias != w[:1]:
            raise LayerError(f"a bias {shown(bias)} for {w[0]} channels")
        found = tuple(window.count for window in self.windows(x, w))
        if min(found) < 1:
            raise LayerError(f"the windows are larger than the image {shown(x)}")
        return (x[0], w[0], *found)

    def reference(self, x: Array, w: Array, bias: Array | None = None) -> Array:
        at = self.windows(x.shape, w.shape)
        n, groups = x.shape[0], self.group
        padded = np.pad(x, [(0, 0), (0, 0), *((a.low, a.high) for a in at)])
        padded = padded.reshape(n, groups, -1, *padded.shape[2:])
        filters = w.reshape(groups, -1, *w.shape[1:])
        y = np.zeros((n, groups, filters.shape[1], *(a.count for a in at)), x.dtype)
        for place in product(*(range(a.kernel) for a in at)):
            starts = [k * a.dilation for k, a in zip(place, at, strict=True)]
            box: Any = (...,) + tuple(
                slice(start, start + (a.count - 1) * a.stride + 1, a.stride)
                for start, a in zip(starts, at, strict=True)
            )
            tap: Any = (..., *place)
            y += np.einsum("ngi...,goi->ngo...", padded[box], filters[tap])
        y = y.reshape(n, w.shape[0], *y.shape[3:])
        return y if bias is None else y + bias.reshape(-1, *[1] * len(at))

    def lower(self, b: Builder, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
        at = self.windows(x.shape, w.shape)
        axes, groups = range(len(at)), self.group
        shape = self.infer(x.shape, w.shape)
        padded = b.pad(x, [0, 0, *(a.low for a in at)], [0, 0, *(a.high for a in at)])
        n, channels, *sizes = padded.shape
        outputs = w.shape[0] // groups
        image = b.reshape(padded, (n, groups, channels // groups, *sizes))
        filters = b.reshape(w, (groups, outputs, *w.shape[1:]))
        extents = [n, groups, outputs, *shape[2:], *filters.shape[2:]]
        loops = b.loops_of(extents)
        batch, g, o, *rest = loops
        to, i, taps = rest[: len(at)], rest[len(at)], rest[len(at) + 1 :]
        seen = [to[k] * at[k].stride + taps[k] * at[k].dilation for k in axes]
        product_ = image[batch, g, i, *seen] * filters[g, o, i, *taps]
        init: Tensor | float = 0.0
        if bias is not None:
            kept = b.reshape(bias, (groups, outputs))
            spread = b.loops_of([n, groups, outputs, *shape[2:]])
            init = b.map(spread, kept[spread[1], spread[2]])
            loops = b.loops_of(extents)
        y = b.sum([batch, g, o, *to], over=[i, *taps], of=product_, init=init)
        return b.reshape(y, shape)
