"""Filters that slide: what convolutions, their transposes and patches say, for any axes.

The filters of one run are a `Bank`. They are stored, or with dynamic_weight they are an input, and
the bias another one: then the file says nothing of their number and kernel, the input's shape does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.axes import extents
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.convolution.sweep import Sweep
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
)
from ncc.dialects.ncnn.quantization.int8 import Int8Layer, product
from ncc.dialects.ncnn.window import (
    PAD_NAMES,
    SAME_LOWER,
    SAME_UPPER,
    Pad,
    Window,
    planes,
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
        return (self.group,) if self.outputs == 1 else (self.group, self.outputs)

    @property
    def kept(self) -> list[bool]:
        """Which of the weights' axes (group, outputs, inputs) a contraction reads."""
        grouped = self.group > 1
        return [grouped, not grouped or self.outputs > 1, not grouped or self.inputs > 1]


@dataclass(frozen=True)
class Bank:
    """The filters of one run: their channels, and the window along each axis in numpy order."""

    channels: Channels
    windows: tuple[Window, ...]

    @property
    def num_output(self) -> int:
        return self.channels.group * self.channels.outputs

    @property
    def num_input(self) -> int:
        return self.channels.group * self.channels.inputs

    @property
    def kernel(self) -> Shape:
        return tuple(window.kernel for window in self.windows)

    @property
    def shape(self) -> Shape:
        """The filters as (group, outputs, inputs, *kernel)."""
        c = self.channels
        return (c.group, c.outputs, c.inputs, *self.kernel)

    @property
    def kept(self) -> list[bool]:
        """Which axes of `shape` a contraction reads: those of one cycle are gone."""
        return [*self.channels.kept, *(k > 1 for k in self.kernel)]


def contract(
    b: Builder,
    x: Tensor,
    w: Tensor,
    channels: Channels,
    sweeps: Sequence[Sweep],
    init: Tensor | float,
) -> Tensor:
    """One convolution along `sweeps`: x (channels, *space), w the axes that `Bank.kept` says.

    The result has the axes `channels.axes` and then one a sweep.
    """
    x = whole_reads(b, x, sweeps)
    space = range(len(sweeps))
    names = [f"g:{channels.group}", f"o:{channels.outputs}"]
    names += [f"y{k}:{sweeps[k].count}" for k in space]
    names += [f"i:{channels.inputs}", *(f"u{k}:{sweeps[k].taps}" for k in space)]
    g, o, *rest = b.loops(" ".join(names))
    ys, i, us = rest[: len(sweeps)], rest[len(sweeps)], rest[len(sweeps) + 1 :]
    kept = channels.kept
    lead = [g] * kept[0] + [o] * kept[1]
    at: AffineExpr = i if channels.group == 1 else g
    if channels.group > 1 and channels.inputs > 1:
        at = g * channels.inputs + i
    places = [sweep.x(y, u) for sweep, y, u in zip(sweeps, ys, us, strict=True)]
    taps = [s.tap(u) for s, u in zip(sweeps, us, strict=True) if s.kernel > 1]
    over = [i] * kept[2] + [u for s, u in zip(sweeps, us, strict=True) if s.taps > 1]
    target = [*lead, *(sweep.out(y) for sweep, y in zip(sweeps, ys, strict=True))]
    term = product(x[(at, *places)], w[(*lead, *[i] * kept[2], *taps)])
    if over or any(sweep.out_step > 1 for sweep in sweeps):
        return b.sum(target, over=over, of=term, init=init)
    return b.map(target, term + init[target] if isinstance(init, Tensor) else term)


def whole_reads(b: Builder, x: Tensor, sweeps: Sequence[Sweep]) -> Tensor:
    """x without what no sweep along its last axes reads where one walks it alone, cell by cell.

    A loop that indexes an axis alone runs over all of it.
    """
    lead = x.rank - len(sweeps)
    read = [
        s.count if s.taps == s.x_step == 1 and s.x_start == 0 else n
        for s, n in zip(sweeps, x.shape[lead:], strict=True)
    ]
    return b.slice(x, [0] * x.rank, (*x.shape[:lead], *read))


class Windowed(Layer):
    """A window that slides along the axes `AXES`."""

    AXES: ClassVar[str]

    kernel_w = integer(1)
    dilation_w = integer(2, 1)
    stride_w = integer(3, 1)
    pad_left = integer(4)
    pad_right = integer(15, "pad_left")

    @property
    def windows(self) -> list[Window]:
        """The window along each axis that the params say, in numpy order."""
        return [
            Window(*(getattr(self, f"{what}_{axis}") for what in ("kernel", "stride", "dilation")))
            for axis in self.AXES
        ]

    @property
    def pads(self) -> list[Pad]:
        """The padding params of each axis, in numpy order; they may be codes."""
        return [(getattr(self, PAD_NAMES[a][0]), getattr(self, PAD_NAMES[a][1])) for a in self.AXES]

    def names(self, *params: str) -> list[str]:
        """The names of these params for every axis, in ncnn's order: w first."""
        return [f"{param}_{axis}" for param in params for axis in reversed(self.AXES)]

    def check_pads(self) -> None:
        """Refuse pads below zero but a code that is not contradicted by another pad."""
        for name in (name for axis in reversed(self.AXES) for name in PAD_NAMES[axis]):
            value = getattr(self, name)
            known = value >= 0 or value in (SAME_UPPER, SAME_LOWER)
            if not known or (value < 0 and any(v > 0 for pad in self.pads for v in pad)):
                raise LayerError(f"{name} is {value}, but other pads are not its code", name)


class OnPlane(Windowed):
    """The params of the second axis."""

    AXES: ClassVar[str] = "hw"

    kernel_h = integer(11, "kernel_w")
    dilation_h = integer(12, "dilation_w")
    stride_h = integer(13, "stride_w")
    pad_top = integer(14, "pad_left")
    pad_bottom = integer(16, "pad_top")


class Filtering(Windowed, Int8Layer):
    """What convolutions and their transposes have in common."""

    INPUT_MAJOR: ClassVar[bool] = False
    """Whether filters that are an input are (group * inputs, outputs, *kernel)."""

    num_output = integer(0)
    bias_term = integer(5)
    weight_data_size = integer(6)

    weight = Weight(lambda op: None if op.is_dynamic else op.weight_shape, tagged=True)
    bias = Weight(lambda op: (op.num_output,) if op.bias_term and not op.is_dynamic else None)

    @property
    def groups(self) -> int:
        """The number of independent banks of filters."""
        return 1

    @property
    def is_dynamic(self) -> bool:
        """Whether filters and bias are inputs."""
        return bool(getattr(self, "dynamic_weight", 0))

    @property
    def data_inputs(self) -> tuple[int, int]:
        """The least and the largest number of inputs that are no filters."""
        return 1, 1

    @property
    def channels(self) -> Channels:
        """The channels of stored filters."""
        taps = prod(window.kernel for window in self.windows)
        inputs = self.weight_data_size // (self.num_output * taps)
        return Channels(self.groups, self.num_output // self.groups, inputs)

    @property
    def weight_shape(self) -> Shape:
        """Stored weights: (outputs, inputs, *kernel), with a group axis in front where grouped."""
        c = self.channels
        return (c.outputs, c.inputs, *(window.kernel for window in self.windows))

    def bank(self, *xs: Shape) -> Bank:
        """The filters of a run on inputs of these shapes, or `LayerError`."""
        if not self.is_dynamic:
            return Bank(self.channels, tuple(self.windows))
        named, inner_axis = extents(xs[1]), "h" if len(self.AXES) == 1 else "d"
        outer, inner = named["c"], named[inner_axis]
        if outer % self.groups or len(xs[1]) > len(self.AXES) + 2:
            raise LayerError(f"filters {xs[1]} do not fall into {self.groups} groups")
        share = outer // self.groups
        outputs, inputs = (inner, share) if self.INPUT_MAJOR else (share, inner)
        windows = [
            Window(named[axis], window.stride, window.dilation)
            for axis, window in zip(self.AXES, self.windows, strict=True)
        ]
        bank = Bank(Channels(self.groups, outputs, inputs), tuple(windows))
        if prod(xs[1]) != prod(bank.shape):
            raise LayerError(f"filters {xs[1]} are no filters along {len(self.AXES)} axes")
        if self.bias_term and prod(xs[2]) != bank.num_output:
            raise LayerError(f"the bias {xs[2]} is not of {bank.num_output} channels")
        return bank

    def reads_all(self, x: Shape | None) -> bool:
        """Whether a run on an input of this shape, if it is known, reads all stored filters."""
        return True

    def check(self) -> None:
        self._check_inputs()
        if not self.is_dynamic:
            self._check_filters()
        check_positive(self, self.names("dilation", "stride"))
        self.check_pads()
        super().check()

    def _check_inputs(self) -> None:
        given, extra = 1 + bool(self.bias_term), len(self.operands)
        least, most = self.data_inputs
        if self.is_dynamic:
            least, most = least + given, most + given
        if not least <= extra <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise LayerError(f"{self.LAYER.type} has {extra} inputs, but takes {wanted} here")

    def _check_filters(self) -> None:
        check_positive(self, ["num_output", *self.names("kernel"), "weight_data_size"])
        filters = self.num_output * prod(window.kernel for window in self.windows)
        if self.weight_data_size % filters:
            raise LayerError(
                f"weight_data_size is {self.weight_data_size}, not a multiple of {filters} "
                f"(num_output {self.num_output} times the kernel)",
                "weight_data_size",
            )

    def planes_of(self, x: Shape, bank: Bank) -> Shape:
        """The input as (channels, *space), fewer axes being one channel; or `LayerError`."""
        rank = len(self.AXES) + 1
        shape = planes(x, rank)
        if len(shape) != rank or shape[0] != bank.num_input:
            channels = f"{bank.num_input} channel{'s' * (bank.num_input != 1)}"
            axes = "1 axis" if rank == 2 else f"{rank - 1} axes"
            raise LayerError(f"takes {channels} and {axes} of space, not {x}")
        return shape

    # --- filters and bias -------------------------------------------------------------------

    @property
    def stored(self) -> WeightAttr | None:
        """Filters that are no input, as they are multiplied with: int8 where that is how."""
        return self.weight if self.int8 is None else self.int8.weight

    def filters_array(self, bank: Bank, *xs: Array) -> Array:
        """The filters as (group, outputs, inputs, *kernel)."""
        if (stored := self.stored) is not None:
            return stored.array().reshape(-1)[: prod(bank.shape)].reshape(bank.shape)
        if not self.INPUT_MAJOR:
            return xs[1].reshape(bank.shape)
        group, outputs, inputs, *kernel = bank.shape
        return xs[1].reshape(group, inputs, outputs, *kernel).swapaxes(1, 2)

    def bias_array(self, *xs: Array) -> Array | None:
        """The bias of each channel of the result, if there is one."""
        if self.is_dynamic:
            return xs[2].reshape(-1) if self.bias_term else None
        return None if self.bias is None else self.bias.array()

    def filters_tensor(self, b: Builder, bank: Bank, *xs: Tensor) -> Tensor:
        """The filters as `contract` reads them."""
        if (stored := self.stored) is not None:
            if prod(stored.shape) > prod(bank.shape):
                stored = WeightAttr.of(self.filters_array(bank))
            kept = bank.kept[len(bank.shape) - len(stored.shape) :]
            return b.collapse(b.weight(stored), _groups(kept))
        if not self.INPUT_MAJOR:
            return b.reshape(xs[1], _kept(bank.shape, bank.kept))
        group, outputs, inputs, *kernel = bank.shape
        w = b.reshape(xs[1], (group, inputs, outputs, *kernel))
        g, o, i, *taps = b.loops_of(bank.shape)
        return b.collapse(b.map((g, o, i, *taps), w[[g, i, o, *taps]]), _groups(bank.kept))

    def spread_bias(self, b: Builder, bank: Bank, sizes: Shape, *xs: Tensor) -> Tensor | float:
        """The bias at every place of a result (*channels.axes, *sizes), or 0 without one.

        Sums of int8 start from 0: they get the bias when they are scaled.
        """
        axes = bank.channels.axes
        if self.int8 is not None:
            return 0.0
        if self.bias is not None:
            held = b.expand(b.weight(self.bias), [list(range(len(axes)))], axes)
        elif self.is_dynamic and self.bias_term:
            held = b.reshape(xs[2], axes)
        else:
            return 0.0
        loops = b.loops_of((*axes, *sizes))
        return b.map(loops, held[loops[: len(axes)]])

    def finish(self, b: Builder, y: Tensor, bank: Bank) -> Tensor:
        """Outputs of all groups side by side, and the activation."""
        if self.int8 is not None:
            y = self.int8.finish(b, y, self, bank.channels.axes)
        if len(bank.channels.axes) == 2:
            y = b.collapse(y, [[0, 1], *([axis] for axis in range(2, y.rank))])
        return y if self.int8 is not None else self.activate(b, y)


def _groups(kept: Sequence[bool]) -> list[list[int]]:
    """Axes collapsed so that those that are not kept are gone."""
    groups: list[list[int]] = []
    for axis, keep in enumerate(kept):
        if groups and not (keep and any(kept[:axis])):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _kept(shape: Shape, kept: Sequence[bool]) -> Shape:
    """The extents of the axes that are kept."""
    return tuple(n for n, keep in zip(shape, kept, strict=True) if keep)


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
