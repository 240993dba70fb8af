"""Convolutions and their transposes: dense, grouped, depthwise.

Both are one contraction. A convolution walks its result once; a transposed one walks each phase of
its strides, where the taps that meet a place are every stride-th one:

    y[o, p] = sum over i, u of x[i, p * s + u * d] * w[o, i, u]
    y[o, q * s + r] = sum over i, u of x[i, q - u] * w[o, i, u * s + r]

A class names its axes and declares its params; everything else holds for any number of axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import ClassVar

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.linear import Activated, inner_product, require_float
from ncc.dialects.ncnn.window import (
    PAD_NAMES,
    SAME_LOWER,
    SAME_UPPER,
    Pad,
    Window,
    check_positive,
    convolution_pads,
    output_sizes,
    padded_shape,
    planes,
    windows_of,
)


@dataclass(frozen=True)
class Channels:
    """`group` independent banks of filters, each from `inputs` channels to `outputs`."""

    group: int
    outputs: int
    inputs: int

    @property
    def depthwise(self) -> bool:
        return self.group > 1 and self.outputs == self.inputs == 1

    @property
    def axes(self) -> Shape:
        """The channel axes of what a contraction writes."""
        if self.group == 1:
            return (self.outputs,)
        return (self.group,) if self.depthwise else (self.group, self.outputs)

    @property
    def kept(self) -> list[bool]:
        """Which of the weights' axes (group, outputs, inputs) a contraction reads."""
        grouped = self.group > 1
        return [grouped, not self.depthwise, not grouped or self.inputs > 1]


@dataclass(frozen=True)
class Sweep:
    """How a contraction walks one axis.

    out[y * out_step + out_start] takes x[y * x_step + u * x_tap + x_start] times
    w[u * tap_step + tap_start], for y < count and u < taps; `kernel` is the extent of w.
    """

    count: int
    taps: int
    kernel: int
    out_step: int = 1
    out_start: int = 0
    x_step: int = 1
    x_tap: int = 1
    x_start: int = 0
    tap_step: int = 1
    tap_start: int = 0

    def out(self, y: AffineExpr) -> AffineExpr:
        return _linear(y, self.out_step, self.out_start)

    def x(self, y: AffineExpr, u: AffineExpr) -> AffineExpr:
        at = _linear(y, self.x_step, self.x_start)
        return at if self.taps == 1 else at + _linear(u, self.x_tap, 0)

    def tap(self, u: AffineExpr) -> AffineExpr | int:
        return self.tap_start if self.taps == 1 else _linear(u, self.tap_step, self.tap_start)


def _linear(loop: AffineExpr, factor: int, offset: int) -> AffineExpr:
    scaled = loop if factor == 1 else loop * factor
    return scaled if offset == 0 else scaled + offset


def contract(
    b: Builder,
    x: Tensor,
    w: Tensor,
    channels: Channels,
    sweeps: Sequence[Sweep],
    init: Tensor | float,
) -> Tensor:
    """One convolution along `sweeps`: x (channels, *space), w as `filters` views it.

    The result has the axes `channels.axes` and then one a sweep.
    """
    read = [
        s.count if s.taps == s.x_step == 1 and s.x_start == 0 else n
        for s, n in zip(sweeps, x.shape[1:], strict=True)
    ]  # a loop that indexes an axis alone runs over all of it
    x = b.slice(x, [0] * x.rank, (x.shape[0], *read))
    space = range(len(sweeps))
    names = [f"g:{channels.group}", f"o:{channels.outputs}"]
    names += [f"y{k}:{sweeps[k].count}" for k in space]
    names += [f"i:{channels.inputs}", *(f"u{k}:{sweeps[k].taps}" for k in space)]
    g, o, *rest = b.loops(" ".join(names))
    ys, i, us = rest[: len(sweeps)], rest[len(sweeps)], rest[len(sweeps) + 1 :]
    kept = channels.kept
    lead = [g] * kept[0] + [o] * kept[1]
    at = i if channels.group == 1 else g
    if channels.group > 1 and channels.inputs > 1:
        at = g * channels.inputs + i
    places = [sweep.x(y, u) for sweep, y, u in zip(sweeps, ys, us, strict=True)]
    taps = [s.tap(u) for s, u in zip(sweeps, us, strict=True) if s.kernel > 1]
    over = [i] * kept[2] + [u for s, u in zip(sweeps, us, strict=True) if s.taps > 1]
    target = [*lead, *(sweep.out(y) for sweep, y in zip(sweeps, ys, strict=True))]
    term = x[(at, *places)] * w[(*lead, *[i] * kept[2], *taps)]
    if over or any(sweep.out_step > 1 for sweep in sweeps):
        return b.sum(target, over=over, of=term, init=init)
    return b.map(target, term + init[target] if isinstance(init, Tensor) else term)


def filters(b: Builder, weight: WeightAttr, channels: Channels, kernel: Sequence[int]) -> Tensor:
    """Weights as `contract` reads them: axes that have one cycle are gone."""
    kept = [*channels.kept[4 - len(weight.shape) + len(kernel) - 1 :], *(k > 1 for k in kernel)]
    groups: list[list[int]] = []
    for axis, keep in enumerate(kept):
        if groups and not (keep and any(kept[:axis])):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return b.collapse(b.weight(weight), groups)


def spread_bias(b: Builder, bias: WeightAttr | None, axes: Shape, sizes: Shape) -> Tensor | float:
    """The bias at every place of a result (*axes, *sizes), or 0 where there is none."""
    if bias is None:
        return 0.0
    held = b.weight(bias)
    held = b.expand(held, [list(range(len(axes)))], axes)
    loops = b.loops_of((*axes, *sizes))
    return b.map(loops, held[loops[: len(axes)]])


def correlate(x: Array, w: Array, bias: Array | None, windows: Sequence[Window]) -> Array:
    """Grouped convolution of a padded x (channels, *space), w (group, outputs, inputs, *kernel)."""
    group, outputs, inputs = w.shape[:3]
    view = windows_of(x, windows)
    space = len(windows)
    sizes, taps = view.shape[1 : 1 + space], prod(view.shape[1 + space :])
    columns = np.moveaxis(view, range(1 + space, 1 + 2 * space), range(1, 1 + space))
    y = w.reshape(group, outputs, -1) @ columns.reshape(group, inputs * taps, -1)
    y = y.reshape(group * outputs, *sizes)
    return y if bias is None else y + bias.reshape(-1, *[1] * space)


def spread_out(x: Array, w: Array, windows: Sequence[Window], sizes: Shape) -> Array:
    """Transposed convolution of x without cropping: each cell adds its window to the result.

    x (channels, *space), w (group, outputs, inputs, *kernel); the result is (channels, *sizes).
    """
    group, outputs, inputs = w.shape[:3]
    flat = np.moveaxis(w, 2, -1).reshape(group, -1, inputs)
    parts = flat @ x.reshape(group, inputs, -1)
    parts = parts.reshape(group * outputs, *w.shape[3:], *x.shape[1:])
    y = np.zeros((group * outputs, *sizes), np.float32)
    for tap in product(*(range(w.kernel) for w in windows)):
        places = [
            slice(k * w.dilation, k * w.dilation + (n - 1) * w.stride + 1, w.stride)
            for k, w, n in zip(tap, windows, x.shape[1:], strict=True)
        ]
        np.moveaxis(y, 0, -1)[tuple(places)] += np.moveaxis(parts, 0, -1)[tap]
    return y


class Filtering(Activated):
    """What convolutions and their transposes have in common, for the axes `AXES`."""

    AXES: ClassVar[str]

    num_output = integer(0)
    kernel_w = integer(1)
    dilation_w = integer(2, 1)
    stride_w = integer(3, 1)
    pad_left = integer(4)
    pad_right = integer(15, "pad_left")
    bias_term = integer(5)
    weight_data_size = integer(6)

    weight = Weight(lambda op: op.weight_shape, tagged=True)
    bias = Weight(lambda op: (op.num_output,) if op.bias_term else None)

    @property
    def groups(self) -> int:
        """The number of independent banks of filters."""
        return 1

    @property
    def windows(self) -> list[Window]:
        """The window along each axis, in numpy order."""
        return [
            Window(*(getattr(self, f"{what}_{axis}") for what in ("kernel", "stride", "dilation")))
            for axis in self.AXES
        ]

    @property
    def pads(self) -> list[Pad]:
        """The padding params of each axis, in numpy order; they may be codes."""
        return [(getattr(self, PAD_NAMES[a][0]), getattr(self, PAD_NAMES[a][1])) for a in self.AXES]

    @property
    def channels(self) -> Channels:
        taps = prod(window.kernel for window in self.windows)
        inputs = self.weight_data_size // (self.num_output * taps)
        return Channels(self.groups, self.num_output // self.groups, inputs)

    @property
    def weight_shape(self) -> Shape:
        """Stored weights: (outputs, inputs, *kernel), with a group axis in front where grouped."""
        c = self.channels
        return (c.outputs, c.inputs, *(window.kernel for window in self.windows))

    def check(self) -> None:
        names = [f"{what}_{a}" for what in ("kernel", "dilation", "stride") for a in self.AXES]
        check_positive(self, ["num_output", *reversed(names), "weight_data_size"])
        filters = self.num_output * prod(window.kernel for window in self.windows)
        if self.weight_data_size % filters:
            raise LayerError(
                f"weight_data_size is {self.weight_data_size}, not a multiple of {filters} "
                f"(num_output {self.num_output} times the kernel)",
                "weight_data_size",
            )
        for name, value in (
            (n, getattr(self, n)) for a in reversed(self.AXES) for n in PAD_NAMES[a]
        ):
            known = value >= 0 or value in (SAME_UPPER, SAME_LOWER)
            if not known or (value < 0 and any(v > 0 for pad in self.pads for v in pad)):
                raise LayerError(f"{name} is {value}, but other pads are not its code", name)
        super().check()

    def planes_of(self, x: Shape) -> Shape:
        """The input as (channels, *space), fewer axes being one channel; or `LayerError`."""
        rank = len(self.AXES) + 1
        wanted = self.channels.group * self.channels.inputs
        shape = planes(x, rank)
        if len(shape) != rank or shape[0] != wanted:
            raise LayerError(f"input {x} has not {wanted} channels and {rank - 1} axes of space")
        return shape

    def filters_array(self) -> Array:
        """The weights as (group, outputs, inputs, *kernel)."""
        assert self.weight is not None
        c = self.channels
        kernel = [window.kernel for window in self.windows]
        return self.weight.array().reshape(c.group, c.outputs, c.inputs, *kernel)

    def bias_array(self) -> Array | None:
        return None if self.bias is None else self.bias.array()

    def filters_tensor(self, b: Builder) -> Tensor:
        assert self.weight is not None
        return filters(b, self.weight, self.channels, [window.kernel for window in self.windows])

    def finish(self, b: Builder, y: Tensor) -> Tensor:
        """Outputs of all groups side by side, and the activation."""
        if len(self.channels.axes) == 2:
            y = b.collapse(y, [[0, 1], *([axis] for axis in range(2, y.rank))])
        return self.activate(b, y)


class OnPlane(Filtering):
    """The params of the second axis."""

    AXES: ClassVar[str] = "hw"

    kernel_h = integer(11, "kernel_w")
    dilation_h = integer(12, "dilation_w")
    stride_h = integer(13, "stride_w")
    pad_top = integer(14, "pad_left")
    pad_bottom = integer(16, "pad_top")


class Grouped(Filtering):
    """Filters in groups: each sees only its own channels."""

    group = integer(7, 1)

    @property
    def groups(self) -> int:
        return self.group

    @property
    def weight_shape(self) -> Shape:
        return (self.group, *super().weight_shape)

    def check(self) -> None:
        check_positive(self, ["group"])
        super().check()
        if self.num_output % self.group:
            raise LayerError(
                f"num_output {self.num_output} is not divisible by group {self.group}", "group"
            )


class ConvolutionLayer(Filtering):
    """y[o, p] = act(bias[o] + sum over i, u of x[i, p * stride + u * dilation] * w[o, i, u])."""

    int8_scale_term = integer(8)
    pad_value = real(18)
    dynamic_weight = integer(19)

    weight_data_int8_scales = Weight(lambda op: (op.weight_scales,) if op.int8_scale_term else None)
    bottom_blob_int8_scales = Weight(lambda op: (1,) if op.int8_scale_term else None)
    top_blob_int8_scales = Weight(lambda op: (1,) if op.int8_scale_term > 100 else None)

    @property
    def weight_scales(self) -> int:
        """How many scales int8 weights have."""
        return self.num_output

    def check(self) -> None:
        _refuse_unsupported(self, "dynamic_weight")
        super().check()

    def borders(self, sizes: Sequence[int]) -> list[Pad]:
        """The padding of each axis, codes resolved."""
        return convolution_pads(self.pads, self.windows, sizes)

    def padded(self, x: Shape) -> tuple[Shape, list[Pad]]:
        """The input with its padding, as (channels, *space), and the padding of the space."""
        shape = self.planes_of(x)
        pads = self.borders(shape[1:])
        return (shape[0], *padded_shape(shape[1:], pads)), pads

    def infer(self, x: Shape) -> Shape:
        return (self.num_output, *output_sizes(self.windows, self.padded(x)[0][1:], "kernel"))

    def reference(self, x: Array) -> Array:
        require_float(self)
        _, pads = self.padded(x.shape)
        wide = np.pad(
            x.reshape(self.planes_of(x.shape)),
            [(0, 0), *pads],
            constant_values=np.float32(self.pad_value),
        )
        y = correlate(wide, self.filters_array(), self.bias_array(), self.windows)
        return self.activate_array(y)

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        require_float(self)
        _, pads = self.padded(x.shape)
        sizes = self.infer(x.shape)[1:]
        x = b.reshape(x, self.planes_of(x.shape))
        x = b.pad(x, [0, *(p[0] for p in pads)], [0, *(p[1] for p in pads)], self.pad_value)
        sweeps = [
            Sweep(n, w.kernel, w.kernel, x_step=w.stride, x_tap=w.dilation)
            for n, w in zip(sizes, self.windows, strict=True)
        ]
        init = spread_bias(b, self.bias, self.channels.axes, sizes)
        y = contract(b, x, self.filters_tensor(b), self.channels, sweeps, init)
        return self.finish(b, y)


def _refuse_unsupported(op: Filtering, *names: str) -> None:
    for name in names:
        if getattr(op, name):
            raise LayerError(f"{name} {getattr(op, name)} is not supported yet", name)
    if len(op.operands) != 1:
        raise LayerError(f"{op.LAYER.type} has {len(op.operands)} inputs, but takes 1")


@layer("Convolution", inputs=(1, 3))
class ConvolutionOp(OnPlane, ConvolutionLayer):
    """Convolution of (c, h, w). A vector into a 1x1 kernel is an inner product instead."""

    def takes_vector(self, x: Shape) -> bool:
        """Whether x is a vector of all channels: ncnn then multiplies by the matrix of weights."""
        kernels = {window.kernel for window in self.windows}
        return kernels == {1} and x == (self.channels.inputs,)

    def infer(self, x: Shape) -> Shape:
        return (self.num_output,) if self.takes_vector(x) else super().infer(x)

    def reference(self, x: Array) -> Array:
        if not self.takes_vector(x.shape):
            return super().reference(x)
        require_float(self)
        y = self.filters_array().reshape(self.num_output, -1) @ x
        y = y if self.bias is None else y + self.bias.array()
        return self.activate_array(y)

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        if not self.takes_vector(x.shape):
            return super().expand(b, x)
        require_float(self)
        y = inner_product(b, x, self.filters_tensor(b), self.bias)
        return self.activate(b, y)


@layer("ConvolutionDepthWise", inputs=(1, 3))
class ConvolutionDepthWiseOp(Grouped, OnPlane, ConvolutionLayer):
    """Convolution of (c, h, w) in groups of channels; depthwise where each channel is a group."""

    @property
    def weight_scales(self) -> int:
        return self.group if self.int8_scale_term in (1, 101) else 1


class DeconvolutionLayer(Filtering):
    """Transposed convolution: each cell of x adds its window, scaled, to the result.

        y[o, p * stride + u * dilation] += x[i, p] * w[o, i, u]

    The result is then cropped by the pads, or to `output_w`, ....
    """

    OUTPUT_PADS: ClassVar[tuple[str, ...]]
    OUTPUTS: ClassVar[tuple[str, ...]]

    dynamic_weight = integer(28)

    def check(self) -> None:
        _refuse_unsupported(self, "dynamic_weight")
        super().check()
        for name in (*self.OUTPUT_PADS, *self.OUTPUTS):
            if getattr(self, name) < 0:
                raise LayerError(f"{name} is {getattr(self, name)}, but must not be negative", name)

    def full_sizes(self, space: Sequence[int]) -> Shape:
        """The extents before cropping."""
        more = [getattr(self, name) for name in self.OUTPUT_PADS]
        return tuple(
            (n - 1) * w.stride + w.extent + extra
            for n, w, extra in zip(space, self.windows, more, strict=True)
        )

    def crops(self, full: Sequence[int]) -> list[Pad]:
        """The cells to drop before and behind each axis."""
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
        if min(excess) < 0:
            raise LayerError(f"the output sizes {wanted} exceed {list(full)}", self.OUTPUTS[-1])
        return crops

    def infer(self, x: Shape) -> Shape:
        full = self.full_sizes(self.planes_of(x)[1:])
        sizes = [n - low - high for n, (low, high) in zip(full, self.crops(full), strict=True)]
        if min(sizes) <= 0:
            raise LayerError(f"cropping {list(full)} by {self.pads} leaves nothing of input {x}")
        return (self.num_output, *sizes)

    def reference(self, x: Array) -> Array:
        shape = self.planes_of(x.shape)
        full = self.full_sizes(shape[1:])
        y = spread_out(x.reshape(shape), self.filters_array(), self.windows, full)
        if self.bias is not None:
            y = y + self.bias.array().reshape(-1, *[1] * len(full))
        inside = [slice(a, n - z) for n, (a, z) in zip(full, self.crops(full), strict=True)]
        y = y[(slice(None), *inside)]
        return self.activate_array(y)

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        shape = self.planes_of(x.shape)
        crops = self.crops(self.full_sizes(shape[1:]))
        sizes = self.infer(x.shape)[1:]
        lows, highs, walks = [0], [0], []
        for w, n, size, (before, _) in zip(self.windows, shape[1:], sizes, crops, strict=True):
            low, high, sweeps = _phases(w, n, size, before)
            lows.append(low)
            highs.append(high)
            walks.append(sweeps)
        x = b.pad(b.reshape(x, shape), lows, highs)
        axes = self.channels.axes
        y = spread_bias(b, self.bias, axes, sizes)
        if isinstance(y, float) and any(w.stride > 1 for w in self.windows):
            y = b.full((*axes, *sizes), y)
        weight = self.filters_tensor(b)
        for phases in product(*walks):
            y = contract(b, x, weight, self.channels, phases, y)
        assert isinstance(y, Tensor)
        return self.finish(b, y)


def _phases(window: Window, size: int, out: int, before: int) -> tuple[int, int, list[Sweep]]:
    """Walk `out` places of a transposed convolution of `size` cells, `before` of them cropped.

    Place p = q * stride + r takes tap k from cell (p - k * dilation) / stride where that is whole:
    of the taps, those from one on in steps of stride / gcd(stride, dilation). Returns the padding
    that x needs before and behind, and a sweep a phase r that has taps.
    """
    stride, dilation = window.stride, window.dilation
    common = gcd(stride, dilation)
    step, reach = stride // common, dilation // common
    found: list[tuple[int, int, int, int, int]] = []
    for r in range(min(stride, out)):
        taps = [k for k in range(window.kernel) if (r + before - k * dilation) % stride == 0]
        if taps:
            count = (out - r - 1) // stride + 1
            start = (r + before - taps[-1] * dilation) // stride
            found.append((r, count, len(taps), taps[-1], start))
    low = max(0, -min((start for *_, start in found), default=0))
    ends = (count + (taps - 1) * reach + start for _, count, taps, _, start in found)
    high = max(0, max(ends, default=size) - size)
    sweeps = [
        Sweep(
            count,
            taps,
            window.kernel,
            out_step=stride,
            out_start=r,
            x_tap=reach,
            x_start=start + low,
            tap_step=-step,
            tap_start=last,
        )
        for r, count, taps, last, start in found
    ]
    return low, high, sweeps


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
