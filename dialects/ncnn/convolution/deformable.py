"""DeformableConv2D: a convolution whose taps are moved, each by an input of its own.

It is two linalg operations: every tap of every window read between the pixels, a matrix product of
that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.convolution.contraction import FilterParams
from ncc.dialects.ncnn.convolution.filtering import Filtering
from ncc.dialects.ncnn.convolution.windowed import OnPlane
from ncc.dialects.ncnn.layer import Array, Builder, LayerError, Shape, Tensor, layer
from ncc.dialects.ncnn.param import held
from ncc.dialects.ncnn.sampling.sampling import (
    frame,
    interpolate,
    interpolate_arrays,
    linear_tap_arrays,
    linear_taps,
)
from ncc.dialects.ncnn.window import Window, output_sizes, padded_shape
from ncc.dialects.scalar import minimum, number_of_index, select
from ncc.dialects.size import are_equal

NOWHERE = -2.0
"""A place that lies between no pixels of the image: at -1, the first would weigh 0, NaN or not."""


@layer("DeformableConv2D", inputs=(2, 3))
class DeformableConv2DOp(OnPlane, Filtering):
    """y[o, p] = act(bias[o] + sum over i, u of mask[u, p] * x[i, q[u, p]] * w[o, i, u]).

    q[u, p] = p * stride + u * dilation - pad + offset[u, p], read bilinearly with zeros outside.
    A tap that lies a pixel or more outside, or nowhere, is 0 whatever its mask is.
    Inputs: x (c, h, w), the offsets (2 * taps, h', w'), of each tap that along h, then that along
    w; and, if there are three, the mask (taps, h', w').
    """

    @property
    def data_inputs(self) -> tuple[int, int]:
        return 2, 3

    def check(self) -> None:
        super().check()
        if min(width for pad in self.pads for width in pad) < 0:
            raise LayerError("the pads of a DeformableConv2D are no codes", "pad_left")

    def infer(self, *xs: Shape) -> Shape:
        params = self.params(*xs)
        shape = self.planes_of(xs[0], params)
        sizes = output_sizes(params.windows, padded_shape(shape[1:], self.pads), "kernel")
        taps = int(np.prod(params.kernel))
        for what, given, wanted in zip(("offsets", "mask"), xs[1:], (2 * taps, taps), strict=False):
            if not are_equal(given, (wanted, *sizes)):
                raise LayerError(f"the {what} {given} are not {(wanted, *sizes)}")
        return (params.num_output, *sizes)

    def reference(self, *xs: Array) -> Array:
        shapes = [x.shape for x in xs]
        params, shape = self.params(*shapes), self.infer(*shapes)
        x = xs[0].reshape(self.planes_of(shapes[0], params))
        offsets = xs[1].reshape(*params.kernel, 2, *shape[1:])
        starts = [
            _starts(window, count, before)
            for window, count, (before, _) in zip(params.windows, shape[1:], self.pads, strict=True)
        ]
        rows = starts[0][:, None, :, None] + offsets[:, :, 0]
        columns = starts[1][None, :, None, :] + offsets[:, :, 1]
        inside = (rows > -1) & (rows < x.shape[1]) & (columns > -1) & (columns < x.shape[2])
        places = [np.where(inside, place, np.float32(NOWHERE)) for place in (rows, columns)]
        elements = interpolate_arrays(x, [linear_tap_arrays(place) for place in places])
        if len(xs) > 2:
            elements = elements * np.where(inside, xs[2].reshape(inside.shape), np.float32(0))
        w, bias = self.filters_array(params), self.bias_array()
        y = w.reshape(shape[0], -1) @ elements.reshape(-1, shape[1] * shape[2])
        y = y if bias is None else y + bias[:, None]
        return self.activate_array(y.reshape(shape))

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        shapes = [x.shape for x in xs]
        params, shape = self.params(*shapes), self.infer(*shapes)
        elements = self._elements(b, params, shape[1:], *xs)
        w = b.collapse(b.weight(held(self.weight, "weight")), [[0], [1], [2, 3]])
        init = self.spread_bias(b, params, shape[1:])
        o, y, z, i, u = b.loops("o y z i u")
        term = elements[i, u, y, z] * w[o, i, u]
        return self.finish(b, b.sum((o, y, z), over=(i, u), of=term, init=init), params)

    def _elements(self, b: Builder, params: FilterParams, sizes: Shape, *xs: Tensor) -> Tensor:
        """The values that each tap reads, times the mask: (c, taps, h', w')."""
        x = b.reshape(xs[0], self.planes_of(xs[0].shape, params))
        high, wide = params.kernel
        image = frame(b, x)
        offsets = b.reshape(xs[1], (high, wide, 2, *sizes))
        mask = None if len(xs) < 3 else b.reshape(xs[2], (high, wide, *sizes))
        c, v, u, y, z = b.loops_of((x.shape[0], high, wide, *sizes))
        starts = [
            number_of_index(b.index(at) * w.stride + b.index(tap) * w.dilation - before)
            for at, tap, w, (before, _) in zip(
                (y, z), (v, u), params.windows, self.pads, strict=True
            )
        ]
        places = [start + offsets[v, u, k, y, z] for k, start in enumerate(starts)]
        near = [
            minimum(select(place > -1.0, place, NOWHERE), n)
            for place, n in zip(places, x.shape[1:], strict=True)
        ]
        element = interpolate(image, b.index(c), [linear_taps(place) for place in near])
        if mask is not None:
            share = mask[v, u, y, z]
            for place, n in zip(near, x.shape[1:], strict=True):
                share = select(place > -1.0, select(place < n, share, 0.0), 0.0)
            element = element * share
        return b.collapse(b.map((c, v, u, y, z), element), [[0], [1, 2], [3], [4]])


def _starts(window: Window, count: int, before: int) -> NDArray[np.float32]:
    """Where each tap of each of `count` windows looks before it is moved: (taps, windows)."""
    taps = np.arange(window.kernel) * window.dilation
    starts = np.arange(count) * window.stride - before
    return np.add.outer(taps, starts).astype(np.float32)
