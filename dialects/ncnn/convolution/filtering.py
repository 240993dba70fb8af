"""Sliding filters along any axes: convolutions and transposed convolutions.

The filters of one run are a `FilterParams`. They are stored, or with dynamic_weight they
are an input, and the bias another one: then the file says nothing of their number and kernel, the
input's shape does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from ncc.dialects.ncnn.axes import extents
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.convolution.contraction import Channels, FilterParams
from ncc.dialects.ncnn.convolution.windowed import Windowed
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
)
from ncc.dialects.ncnn.quantization.int8 import Int8Layer
from ncc.dialects.ncnn.window import Window, planes
from ncc.dialects.size import is_equal


class Filtering(Windowed, Int8Layer):
    """The common part of convolutions and transposed convolutions."""

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

    def params(self, *xs: Shape) -> FilterParams:
        """The filters of a run on inputs of these shapes, or `LayerError`."""
        if not self.is_dynamic:
            return FilterParams(self.channels, tuple(self.windows))
        named, inner_axis = extents(xs[1]), "h" if len(self.AXES) == 1 else "d"
        outer, inner = named["c"], named[inner_axis]
        if not is_equal(outer % self.groups, 0) or len(xs[1]) > len(self.AXES) + 2:
            raise LayerError(f"filters {xs[1]} do not fall into {self.groups} groups")
        share = outer // self.groups
        outputs, inputs = (inner, share) if self.INPUT_MAJOR else (share, inner)
        windows = [
            Window(named[axis], window.stride, window.dilation)
            for axis, window in zip(self.AXES, self.windows, strict=True)
        ]
        params = FilterParams(Channels(self.groups, outputs, inputs), tuple(windows))
        if not is_equal(prod(xs[1]), prod(params.shape)):
            raise LayerError(f"filters {xs[1]} are no filters along {len(self.AXES)} axes")
        if self.bias_term and not is_equal(prod(xs[2]), params.num_output):
            raise LayerError(f"the bias {xs[2]} is not of {params.num_output} channels")
        return params

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

    def planes_of(self, x: Shape, params: FilterParams) -> Shape:
        """The input as (channels, *space), fewer axes being one channel; or `LayerError`."""
        rank = len(self.AXES) + 1
        shape = planes(x, rank)
        if len(shape) != rank or not is_equal(shape[0], params.num_input):
            channels = f"{params.num_input} channel{'s' * (params.num_input != 1)}"
            axes = "1 axis" if rank == 2 else f"{rank - 1} axes"
            raise LayerError(f"takes {channels} and {axes} of space, not {x}")
        return shape

    # --- filters and bias -------------------------------------------------------------------

    @property
    def stored(self) -> WeightAttr | None:
        """Filters that are no input, as they are multiplied with: int8 where that is how."""
        return self.weight if self.int8 is None else self.int8.weight

    def filters_array(self, params: FilterParams, *xs: Array) -> Array:
        """The filters as (group, outputs, inputs, *kernel)."""
        if (stored := self.stored) is not None:
            return stored.array().reshape(-1)[: prod(params.shape)].reshape(params.shape)
        if not self.INPUT_MAJOR:
            return xs[1].reshape(params.shape)
        group, outputs, inputs, *kernel = params.shape
        return xs[1].reshape(group, inputs, outputs, *kernel).swapaxes(1, 2)

    def bias_array(self, *xs: Array) -> Array | None:
        """The bias of each channel of the result, if there is one."""
        if self.is_dynamic:
            return xs[2].reshape(-1) if self.bias_term else None
        return None if self.bias is None else self.bias.array()

    def filters_tensor(self, b: Builder, params: FilterParams, *xs: Tensor) -> Tensor:
        """The filters as `contract` reads them."""
        if (stored := self.stored) is not None:
            if prod(stored.shape) > prod(params.shape):
                stored = WeightAttr.of(self.filters_array(params))
            kept = params.kept[len(params.shape) - len(stored.shape) :]
            return b.collapse(b.weight(stored), _groups(kept))
        if not self.INPUT_MAJOR:
            return b.reshape(xs[1], _kept(params.shape, params.kept))
        group, outputs, inputs, *kernel = params.shape
        w = b.reshape(xs[1], (group, inputs, outputs, *kernel))
        g, o, i, *taps = b.loops_of(params.shape)
        return b.collapse(b.map((g, o, i, *taps), w[[g, i, o, *taps]]), _groups(params.kept))

    def spread_bias(
        self, b: Builder, params: FilterParams, sizes: Shape, *xs: Tensor
    ) -> Tensor | float:
        """The bias at every place of a result (*channels.axes, *sizes), or 0 without one.

        Sums of int8 start from 0: they get the bias when they are scaled.
        """
        axes = params.channels.axes
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

    def finish(self, b: Builder, y: Tensor, params: FilterParams) -> Tensor:
        """Outputs of all groups side by side, and the activation."""
        if self.int8 is not None:
            y = self.int8.finish(b, y, self, params.channels.axes)
        if len(params.channels.axes) == 2:
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
