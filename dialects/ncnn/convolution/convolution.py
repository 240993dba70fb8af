"""Convolutions and their transposes: dense, grouped, depthwise.

Both are one contraction. A convolution walks its result once; a transposed one walks each phase of
its strides, where the taps that meet a place are every stride-th one:

    y[o, p] = sum over i, u of x[i, p * s + u * d] * w[o, i, u]
    y[o, q * s + r] = sum over i, u of x[i, q - u] * w[o, i, u * s + r]

A class names its axes and declares its params; everything else holds for any number of axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import i8

from ncc.dialects.ncnn.checks import check_element
from ncc.dialects.ncnn.convolution.contraction import FilterParams, contract
from ncc.dialects.ncnn.convolution.filtering import Filtering, Grouped
from ncc.dialects.ncnn.convolution.window_domain import WindowDomain, crossed, phases
from ncc.dialects.ncnn.convolution.windowed import OnPlane
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    Weight,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.linear.linear import inner_product
from ncc.dialects.ncnn.quantization.int8 import LAST_FLOAT_TERM, Int8, int8_of
from ncc.dialects.ncnn.window import (
    SAME_LOWER,
    SAME_UPPER,
    Pad,
    Window,
    convolution_pads,
    output_sizes,
    padded_shape,
    tap_places,
    windows_of,
)
from ncc.dialects.size import is_open

_TERMS_AT_ONCE = 1 << 22
"""Values of windows that lie in memory at a time: all of them are as many images as a window has
elements.
"""


def correlate(x: Array, w: Array, bias: Array | None, windows: Sequence[Window]) -> Array:
    """Grouped convolution of a padded x (channels, *space), w (group, outputs, inputs, *kernel)."""
    group, outputs = w.shape[:2]
    sizes = tuple(w.output(n) for w, n in zip(windows, x.shape[1:], strict=True))
    y = np.empty((group, outputs, *sizes), np.result_type(x, w))
    matrix = w.reshape(group, outputs, -1).astype(y.dtype, copy=False)
    for rows, columns in columns_of(x, group, windows):
        y[:, :, rows] = (matrix @ columns).reshape(group, outputs, -1, *sizes[1:])
    y = y.reshape(group * outputs, *sizes)
    if bias is not None:
        y += bias.reshape(-1, *[1] * len(windows))
    return y


def columns_of(x: Array, group: int, windows: Sequence[Window]) -> Iterator[tuple[slice, Array]]:
    """What the windows of some rows of the result see, row by row: (group, inputs * taps, points),
    of x (channels, *space).
    """
    view, space = windows_of(x, windows), len(windows)
    columns = np.moveaxis(view, range(1 + space, 1 + 2 * space), range(1, 1 + space))
    terms = prod(columns.shape[: 1 + space]) // group
    for rows in _slabs(columns.shape[1 + space], columns.size):
        some = columns[(slice(None),) * (1 + space) + (rows,)]
        yield rows, some.reshape(group, terms, -1)


def spread_out(x: Array, w: Array, windows: Sequence[Window], sizes: Shape) -> Array:
    """Transposed convolution of x without cropping: each element adds its window to the result.

    x (channels, *space), w (group, outputs, inputs, *kernel); the result is (channels, *sizes).
    """
    group, outputs, inputs = w.shape[:3]
    y = np.zeros((group * outputs, *sizes), np.result_type(x, w))
    matrix = np.moveaxis(w, 2, -1).reshape(group, -1, inputs).astype(y.dtype, copy=False)
    terms = matrix.shape[0] * matrix.shape[1] * prod(x.shape[1:])
    for rows in _slabs(x.shape[1], terms):
        some = x[:, rows]
        parts = matrix @ some.reshape(group, inputs, -1)
        parts = parts.reshape(group * outputs, *w.shape[3:], *some.shape[1:])
        made = np.moveaxis(y[:, rows.start * windows[0].stride :], 0, -1)
        for tap in product(*(range(w.kernel) for w in windows)):
            places = tap_places(tap, windows, some.shape[1:])
            made[places] += np.moveaxis(parts, 0, -1)[tap]
    return y


def _slabs(rows: int, terms: int) -> list[slice]:
    """Parts of rows, of so many terms in all, that have few enough of these."""
    step = max(1, rows * _TERMS_AT_ONCE // terms)
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


class ConvolutionLayer(Filtering):
    """y[o, p] = act(bias[o] + sum over i, u of x[i, p * stride + u * dilation] * w[o, i, u])."""

    pad_value = real(18)
    dynamic_weight = integer(19)

    def borders(self, sizes: Sequence[int], windows: Sequence[Window]) -> list[Pad]:
        """The padding of each axis, codes resolved."""
        return convolution_pads(self.pads, windows, sizes)

    def padded(self, x: Shape, params: FilterParams) -> tuple[Shape, list[Pad]]:
        """The input with its padding, as (channels, *space), and the padding of the space."""
        shape = self.planes_of(x, params)
        pads = self.borders(shape[1:], params.windows)
        return (shape[0], *padded_shape(shape[1:], pads)), pads

    def infer(self, *xs: Shape) -> Shape:
        params = self.params(*xs)
        inside = self.padded(xs[0], params)[0][1:]
        return (params.num_output, *output_sizes(params.windows, inside, "kernel"))

    def reference(self, *xs: Array) -> Array:
        params = self.params(*(x.shape for x in xs))
        _, pads = self.padded(xs[0].shape, params)
        x, w = xs[0].reshape(self.planes_of(xs[0].shape, params)), self.filters_array(params, *xs)
        if self.int8 is not None:
            wide = np.pad(
                self.int8.quantized(x), [(0, 0), *pads], constant_values=int(self.pad_value)
            )
            exact = wide.astype(np.float64), w.astype(np.float64)
            return self.int8.finished(correlate(*exact, None, params.windows), self)
        wide = np.pad(x, [(0, 0), *pads], constant_values=np.float32(self.pad_value))
        y = correlate(wide, w, self.bias_array(*xs), params.windows)
        del wide  # An image in float64 is the most that `ncc verify` has in memory.
        return self.activate_array(y)

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        shapes = [x.shape for x in xs]
        params = self.params(*shapes)
        _, pads = self.padded(shapes[0], params)
        sizes = ConvolutionLayer.infer(self, *shapes)[1:]
        x = b.reshape(xs[0], self.planes_of(shapes[0], params))
        x = x if self.int8 is None else self.int8.quantize(b, x)
        x = b.pad(x, [0, *(p[0] for p in pads)], [0, *(p[1] for p in pads)], self.pad_value)
        sweeps = [
            WindowDomain(n, w.kernel, w.kernel, x_step=w.stride, x_tap=w.dilation)
            for n, w in zip(sizes, params.windows, strict=True)
        ]
        init = self.spread_bias(b, params, sizes, *xs)
        y = contract(b, x, self.filters_tensor(b, params, *xs), params.channels, sweeps, init)
        return self.finish(b, y, params)


class PlaneConvolution(OnPlane, ConvolutionLayer):
    """Convolutions of (c, h, w), which may compute in int8."""

    int8_scale_term = integer(8)

    weight_data_int8_scales = Weight(lambda op: (op.weight_scales,) if op.int8_scale_term else None)
    bottom_blob_int8_scales = Weight(lambda op: (1,) if op.int8_scale_term else None)
    top_blob_int8_scales = Weight(lambda op: (1,) if op.int8_scale_term > LAST_FLOAT_TERM else None)

    @property
    def weight_scales(self) -> int:
        """How many scales int8 weights have."""
        return self.num_output

    @property
    def int8(self) -> Int8 | None:
        scales = self.weight_data_int8_scales, self.bottom_blob_int8_scales
        return int8_of(self.num_output, self.weight, self.bias, *scales, self.top_blob_int8_scales)

    def check(self) -> None:
        super().check()
        if self.is_dynamic and self.int8_scale_term:
            raise LayerError("weights that are inputs have no int8 scales", "int8_scale_term")
        if self.int8_scale_term:
            check_element(self, "pad_value", i8)


@layer("Convolution", inputs=(1, 3))
class ConvolutionOp(PlaneConvolution):
    """Convolution of (c, h, w). A vector into a 1x1 kernel is an inner product instead."""

    def takes_vector(self, x: Shape, params: FilterParams) -> bool:
        """Whether x is a vector of all channels: ncnn then multiplies by the matrix of weights."""
        return set(params.kernel) == {1} and x == (params.num_input,)

    def infer(self, *xs: Shape) -> Shape:
        params = self.params(*xs)
        if not self.takes_vector(xs[0], params):
            return super().infer(*xs)
        if self.makes_int8:
            raise LayerError("a vector cannot become an int8 result", "int8_scale_term")
        return (params.num_output,)

    def reference(self, *xs: Array) -> Array:
        params = self.params(*(x.shape for x in xs))
        if not self.takes_vector(xs[0].shape, params):
            return super().reference(*xs)
        w, bias = self.filters_array(params, *xs), self.bias_array(*xs)
        w = w.reshape(params.num_output, -1)
        if self.int8 is not None:
            return self.int8.finished(w.astype(np.float64) @ self.int8.quantized(xs[0]), self)
        y = w @ xs[0]
        return self.activate_array(y if bias is None else y + bias)

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        params = self.params(*(x.shape for x in xs))
        if not self.takes_vector(xs[0].shape, params):
            return super().lower(b, *xs)
        init = self.spread_bias(b, params, (), *xs)
        x = xs[0] if self.int8 is None else self.int8.quantize(b, xs[0])
        y = inner_product(b, x, self.filters_tensor(b, params, *xs), init)
        return self.activate(b, y) if self.int8 is None else self.int8.finish(b, y, self)


@layer("ConvolutionDepthWise", inputs=(1, 3))
class ConvolutionDepthWiseOp(Grouped, PlaneConvolution):
    """Convolution of (c, h, w) in groups of channels; depthwise where each channel is a group."""

    @property
    def weight_scales(self) -> int:
        return self.group if self.int8_scale_term in (1, 101) else 1

    @property
    def int8(self) -> Int8 | None:
        int8 = super().int8
        if int8 is None or self.group % 8 or not self.channels.depthwise:
            return int8
        return replace(int8, estimated=True)


class DeconvolutionLayer(Filtering):
    """Transposed convolution: each element of x adds its window, scaled, to the result.

        y[o, p * stride + u * dilation] += x[i, p] * w[o, i, u]

    The result is then cropped by the pads, or to `output_w`, ....
    """

    INPUT_MAJOR: ClassVar[bool] = True
    OUTPUT_PADS: ClassVar[tuple[str, ...]]
    OUTPUTS: ClassVar[tuple[str, ...]]

    dynamic_weight = integer(28)

    def check(self) -> None:
        super().check()
        for name in (*self.OUTPUT_PADS, *self.OUTPUTS):
            if getattr(self, name) < 0:
                raise LayerError(f"{name} is {getattr(self, name)}, but must not be negative", name)

    def full_sizes(self, space: Sequence[int], windows: Sequence[Window]) -> Shape:
        """The extents before cropping."""
        more = [getattr(self, name) for name in self.OUTPUT_PADS]
        return tuple(
            (n - 1) * w.stride + w.extent + extra
            for n, w, extra in zip(space, windows, more, strict=True)
        )

    def crops(self, full: Sequence[int]) -> list[Pad]:
        """The elements to drop before and behind each axis."""
        if any(value > 0 for pad in self.pads for value in pad):
            return self.pads
        wanted = [getattr(self, name) for name in self.OUTPUTS]
        if not all(wanted):
            return [(0, 0)] * len(full)
        codes = {value for pad in self.pads for value in pad}
        excess = [n - want for n, want in zip(full, wanted, strict=True)]
        if codes == {SAME_UPPER}:
            crops = [(n // 2, n - n // 2) for n in excess]
        elif codes == {SAME_LOWER}:
            crops = [(n - n // 2, n // 2) for n in excess]
        else:
            raise LayerError("an output size needs pads of -233 or -234", self.OUTPUTS[-1])
        if any(n < 0 for n in excess):
            raise LayerError(f"the output sizes {wanted} exceed {list(full)}", self.OUTPUTS[-1])
        return crops

    def infer(self, *xs: Shape) -> Shape:
        params = self.params(*xs)
        full = self.full_sizes(self.planes_of(xs[0], params)[1:], params.windows)
        sizes = [n - low - high for n, (low, high) in zip(full, self.crops(full), strict=True)]
        if any(n <= 0 for n in sizes):
            raise LayerError(
                f"cropping {list(full)} by {self.pads} leaves nothing of input {xs[0]}"
            )
        return (params.num_output, *sizes)

    def reference(self, *xs: Array) -> Array:
        params = self.params(*(x.shape for x in xs))
        shape = self.planes_of(xs[0].shape, params)
        full = self.full_sizes(shape[1:], params.windows)
        w, bias = self.filters_array(params, *xs), self.bias_array(*xs)
        y = spread_out(xs[0].reshape(shape), w, params.windows, full)
        if bias is not None:
            y += bias.reshape(-1, *[1] * len(full))
        inside = [slice(a, n - z) for n, (a, z) in zip(full, self.crops(full), strict=True)]
        y = y[(slice(None), *inside)]
        return self.activate_array(y)

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        shapes = [x.shape for x in xs]
        params = self.params(*shapes)
        shape = self.planes_of(shapes[0], params)
        full = self.full_sizes(shape[1:], params.windows)
        crops, result = self.crops(full), self.infer(*shapes)
        if is_open(*(before for before, _ in crops)):
            # Which taps an element takes depends on what stands before it: crop afterwards.
            whole = self._spread(b, xs, params, full, [0] * len(full))
            return b.slice(whole, [0, *(before for before, _ in crops)], result)
        return self._spread(b, xs, params, result[1:], [before for before, _ in crops])

    def _spread(
        self,
        b: Builder,
        xs: Sequence[Tensor],
        params: FilterParams,
        sizes: Shape,
        crops: Sequence[int],
    ) -> Tensor:
        """Elements of these sizes, so many of each axis cropped before them."""
        shape = self.planes_of(xs[0].shape, params)
        lows, highs, walks = [0], [0], []
        for w, n, size, before in zip(params.windows, shape[1:], sizes, crops, strict=True):
            low, high, sweeps = phases(w, n, size, before)
            lows.append(low)
            highs.append(high)
            walks.append(sweeps)
        x = b.pad(b.reshape(xs[0], shape), lows, highs)
        y = self.spread_bias(b, params, sizes, *xs)
        if isinstance(y, float) and any(w.stride > 1 for w in params.windows):
            y = b.full((*params.channels.axes, *sizes), y)
        weight = self.filters_tensor(b, params, *xs)
        for sweeps_of_axes in crossed(walks):
            y = contract(b, x, weight, params.channels, sweeps_of_axes, y)
        assert isinstance(y, Tensor)
        return self.finish(b, y, params)


class DeconvolutionOnPlane(OnPlane, DeconvolutionLayer):
    """The params of transposed convolutions of (c, h, w)."""

    OUTPUT_PADS: ClassVar[tuple[str, ...]] = ("output_pad_bottom", "output_pad_right")
    OUTPUTS: ClassVar[tuple[str, ...]] = ("output_h", "output_w")

    output_pad_right = integer(18)
    output_pad_bottom = integer(19, "output_pad_right")
    output_w = integer(20)
    output_h = integer(21, "output_w")


@layer("Deconvolution", inputs=(1, 3))
class DeconvolutionOp(DeconvolutionOnPlane):
    """Transposed convolution of (c, h, w)."""


@layer("DeconvolutionDepthWise", inputs=(1, 3))
class DeconvolutionDepthWiseOp(Grouped, DeconvolutionOnPlane):
    """Transposed convolution of (c, h, w) in groups of channels."""
