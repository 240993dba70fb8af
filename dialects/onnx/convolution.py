"""Convolutions of images of any number of axes, batch and channels in front."""

from __future__ import annotations

from collections.abc import Container
from itertools import product
from typing import Any, ClassVar

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, integers, string
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.onnx.windows import Window, windows
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, is_equal


class Filters(Operator):
    """The attributes of all operators that convolve."""

    auto_pad = string("NOTSET")
    dilations = integers()
    group = integer(1)
    kernel_shape = integers()
    pads = integers()
    strides = integers()


@operator("Conv", inputs=(2, 3))
class ConvOp(Filters):
    """Sums of windows of x, of all channels of a group, weighted by filters w; and a bias."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2)

    def windows(self, x: Shape, w: Shape) -> tuple[Window, ...]:
        """The window along each axis of the image."""
        kernel = self.kernel_shape or w[2:]
        if kernel != w[2:]:
            raise LayerError(f"the filters have the kernel {shown(w[2:])}, not {shown(kernel)}")
        return windows(x[2:], kernel, self.strides, self.dilations, self.pads, self.auto_pad)

    def infer(self, x: Shape, w: Shape, bias: Shape | None = None) -> Shape:
        if len(x) < 3 or len(w) != len(x):
            raise LayerError(f"an image {shown(x)} and filters {shown(w)}")
        if self.group < 1 or not is_equal(x[1], w[1] * self.group) or w[0] % self.group:
            raise LayerError(f"filters {shown(w)} of {self.group} groups for {x[1]} channels")
        if bias is not None and not are_equal(bias, w[:1]):
            raise LayerError(f"a bias {shown(bias)} for {w[0]} channels")
        found = tuple(window.count for window in self.windows(x, w))
        if any(count < 1 for count in found):
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
        return np.asarray(y if bias is None else y + bias.reshape(-1, *[1] * len(at)))

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


@operator("ConvTranspose", inputs=(2, 3))
class ConvTransposeOp(Filters):
    """The transpose of a convolution: each element of x adds its window to the result."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2)

    output_padding = integers()
    output_shape = integers()

    def windows(self, x: Shape, w: Shape) -> tuple[Window, ...]:
        """The window of each axis, on the result: its padding is cut away."""
        rank, kernel = len(x) - 2, self.kernel_shape or w[2:]
        if kernel != w[2:]:
            raise LayerError(f"the filters have the kernel {shown(w[2:])}, not {shown(kernel)}")
        strides = self.strides or (1,) * rank
        dilations = self.dilations or (1,) * rank
        extra = self.output_padding or (0,) * rank
        pads = self.pads or (0,) * (2 * rank)
        if not len(strides) == len(dilations) == len(extra) == rank == len(pads) // 2:
            raise LayerError(f"its attributes are not for {rank} axes")
        made = []
        for k, size in enumerate(x[2:]):
            full = (size - 1) * strides[k] + dilations[k] * (kernel[k] - 1) + 1 + extra[k]
            low, high = pads[k], pads[k + rank]
            wanted = self.output_shape[-rank:][k] if self.output_shape else None
            if wanted is None and self.auto_pad.startswith("SAME"):
                wanted = size * strides[k]
            if wanted is not None:
                total = full - wanted
                half = max(0, total) // 2
                low = half if self.auto_pad == "SAME_UPPER" else max(0, total) - half
                high = total - low
            made.append(Window(full - low - high, kernel[k], strides[k], dilations[k], low, high))
        return tuple(made)

    def infer(self, x: Shape, w: Shape, bias: Shape | None = None) -> Shape:
        if len(x) < 3 or len(w) != len(x):
            raise LayerError(f"an image {shown(x)} and filters {shown(w)}")
        if self.group < 1 or not is_equal(x[1], w[0]) or w[0] % self.group:
            raise LayerError(f"filters {shown(w)} of {self.group} groups for {x[1]} channels")
        outputs = w[1] * self.group
        if bias is not None and not are_equal(bias, (outputs,)):
            raise LayerError(f"a bias {shown(bias)} for {outputs} channels")
        sizes = tuple(window.size for window in self.windows(x, w))
        if any(size < 1 for size in sizes):
            raise LayerError("nothing is left of the result")
        return (x[0], outputs, *sizes)

    def reference(self, x: Array, w: Array, bias: Array | None = None) -> Array:
        at, shape = self.windows(x.shape, w.shape), self.infer(x.shape, w.shape)
        n, groups = x.shape[0], self.group
        image = x.reshape(n, groups, -1, *x.shape[2:])
        filters = w.reshape(groups, -1, *w.shape[1:])
        full = [a.size + max(a.low, 0) + max(a.high, 0) + a.reach + a.stride for a in at]
        y = np.zeros((n, groups, w.shape[1], *full), x.dtype)
        for place in product(*(range(a.kernel) for a in at)):
            box: Any = (...,) + tuple(
                slice(k * a.dilation, k * a.dilation + (m - 1) * a.stride + 1, a.stride)
                for k, a, m in zip(place, at, x.shape[2:], strict=True)
            )
            tap: Any = (..., *place)
            y[box] += np.einsum("ngi...,gio->ngo...", image, filters[tap])
        y = y.reshape(n, shape[1], *full)
        low = [max(a.low, 0) for a in at]
        inside: Any = (..., *(slice(lo, lo + a.size) for lo, a in zip(low, at, strict=True)))
        y = y[inside]
        return np.asarray(y if bias is None else y + bias.reshape(-1, *[1] * len(at)))

    def lower(self, b: Builder, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
        at, shape = self.windows(x.shape, w.shape), self.infer(x.shape, w.shape)
        n, groups, rank = x.shape[0], self.group, len(self.windows(x.shape, w.shape))
        # stride - 1 zeros go between elements of the image, and the filters the other way round.
        spread = [(m - 1) * a.stride + 1 for m, a in zip(x.shape[2:], at, strict=True)]
        low = [a.reach - 1 - a.low for a in at]
        high = [a.size + a.reach - 1 - lo - s for a, lo, s in zip(at, low, spread, strict=True)]
        cut_low, cut_high = [max(0, -lo) for lo in low], [max(0, -hi) for hi in high]
        wide = x
        if any(a.stride > 1 for a in at):
            zeros = b.full((*x.shape[:2], *spread), 0.0, x.element_type)
            loops = b.loops_of(x.shape)
            to = [loop * a.stride for loop, a in zip(loops[2:], at, strict=True)]
            wide = b.map([*loops[:2], *to], x[loops], into=zeros)
        before, behind = ([0, 0, *(max(0, n) for n in side)] for side in (low, high))
        wide = b.pad(wide, before, behind)
        begin = [0, 0, *cut_low]
        ends = zip(wide.shape, begin, [0, 0, *cut_high], strict=True)
        wide = b.slice(wide, begin, [m - lo - hi for m, lo, hi in ends])
        image = b.reshape(wide, (n, groups, x.shape[1] // groups, *wide.shape[2:]))
        filters = b.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
        extents = [n, groups, w.shape[1], *shape[2:], x.shape[1] // groups, *w.shape[2:]]
        loops = b.loops_of(extents)
        batch, g, o, *rest = loops
        to, i, taps = rest[:rank], rest[rank], rest[rank + 1 :]
        seen = [y + t * a.dilation for y, t, a in zip(to, taps, at, strict=True)]
        back = [t * -1 + (a.kernel - 1) for t, a in zip(taps, at, strict=True)]
        of = image[[batch, g, i, *seen]] * filters[[g, i, o, *back]]
        y = b.reshape(b.sum([batch, g, o, *to], over=[i, *taps], of=of), shape)
        if bias is None:
            return y
        loops = b.loops_of(shape)
        return b.map(loops, y[loops] + bias[loops[1]])
