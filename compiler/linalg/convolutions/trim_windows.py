"""Convolutions leave out products with the border, if windows reach far beyond the image.

    %p = pad %x by 12              %a = conv(rows and columns of %x, by some of the taps)
    %y = relu(conv(%p))    ->      ...
                                   %y = concat rows (concat columns (relu %a, ..), ..)

With a dilation of 12 on an image of 17 x 17, on average 2.5 taps of a 3 x 3 window meet the image.
Along an axis, the first elements see the image through two of their taps, the middle ones through
one. The pass computes elements that see the image through the same taps together, by these taps
alone, from the image in place. It cuts slices of a volume, too, which are few late in a network. It
cuts both rows and columns or neither, because tiles need square windows. If all elements see the
same taps, there is nothing to cut.

Elements that see nothing, such as the outer ones of a 1 x 1 window with padding, are the initial
value of their sums, with the followers applied. They are always separate parts:

    %p = pad %x by 1               %b = relu(spread %bias)
    %c = conv1x1(%p)       ->      %c = conv1x1(%x)
    %y = relu(%c)                  %y = concat rows (%b, concat columns (%b, relu %c, %b), %b)

Needs: the linalg level before layouts and groups.  Breaks: the order of floating-point sums,
and the NaN of an infinite weight times a zero of the border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims, Window
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value, weights_of
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import (
    Span,
    following,
    image_loops,
    is_space,
    part,
    stands_or_moves,
    start,
    window_of,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.linalg.rewrite.through_views import leaves_whole
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import assuming, is_equal, is_open, most_of
from ncc.dialects.structured import pad_sides
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.weight import WeightAttr


class TrimWindows(LinalgPattern["_Trimming"], CostedPass):
    """Leave out products with zeros of the border, if they are many."""

    name = "trim-windows"

    def match(self, op: GenericOp) -> _Trimming | str | None:
        linalg_op = LinalgOp(op)
        dims = ConvolutionDims.of(linalg_op)
        if dims is None or not linalg_op.reduced or not is_space(linalg_op, stands_or_moves):
            return None
        data, weights, pad = dims.input, dims.filter, dims.input.value.owner
        if not isinstance(pad, tensor.PadOp):
            return None
        if not is_constant(weights.value) or pad_value(pad):
            return "its border is not of zeros, or its weights are computed"
        windows = [window for window in dims.windows[1:] if window is not None]
        if len(data.index) != len(linalg_op.write.index) or not leaves_whole(pad, 0):
            return "it reads no image of channels, or channels are padded, too"
        if [window.image for window in windows] != image_loops(linalg_op):
            return "its windows are no axes of the image and of the weights"
        fronts, extents = pad_sides(pad)[0][1:], shape_of(pad.source)[1:]
        sizes = shape_of(op.results[0])[1:]
        cut = _cut(windows, sizes, fronts, extents, self.costs)
        if cut is None:
            return "its windows see too little border for parts to pay"
        operations = (op, *following(op))
        if _products(cut) == 0 and len(operations) == 1 and isinstance(outs_of(op).owner, FillOp):
            # A fill is no value in memory, as later sums need one.
            return "all of its windows see the border alone"
        return _Trimming(operations, pad, weights.value, cut)

    def rewrite(self, found: _Trimming) -> None:
        b = Builder(Block())
        low, high = zip((0, 0), *(axis.margins() for axis in found.axes), strict=True)
        image = b.pad(tensor_of(found.pad.source), low, high)

        def concat_op(*runs: _Run) -> Tensor:
            """The result for runs of the first axes, and all elements of the other axes."""
            if runs and runs[-1].is_blind:
                others = (_Run((0, axis.count), BLIND) for axis in found.axes[len(runs) :])
                return found.part(b, image, [*runs, *others])
            if len(runs) == len(found.axes):
                return found.part(b, image, runs)
            parts = [concat_op(*runs, run) for run in found.axes[len(runs)].runs]
            return b.concat(parts, 1 + len(runs))

        replace_op(found.operations[-1], b, concat_op())


BLIND: Span = (0, 0)
"""The taps of elements that see nothing of the image."""


@dataclass(frozen=True)
class _Run:
    """Neighbouring elements of the result along an axis, and the taps through which they see the
    image; `BLIND` if they see nothing.
    """

    elements: Span
    taps: Span

    @property
    def is_blind(self) -> bool:
        return self.taps == BLIND

    @property
    def count(self) -> int:
        return self.elements[1] - self.elements[0]


@dataclass(frozen=True)
class _Axis:
    """The windows along an axis: tap k of element p sees element stride * p + dilation * k - low.

    extent: that of the image. runs: all elements of the result, in order.
    """

    window: Window
    low: int
    extent: int
    runs: tuple[_Run, ...]

    @staticmethod
    def of(window: Window, count: int, low: int, extent: int) -> _Axis:
        """The axis for a result of `count` elements."""
        (stride, dilation), taps = window.strides, window.taps
        # Each tap sees the image for one range of elements.
        sides = [side - dilation * tap for tap in range(taps) for side in (low, low + extent)]
        edges = sorted({0, count, *(min(max(0, -(-side // stride)), count) for side in sides)})
        runs: list[_Run] = []
        for p, end in pairwise(edges):
            if is_equal(p, end):
                continue
            first = max(0, -((stride * p - low) // dilation))
            last = min(taps, (extent - 1 + low - stride * p) // dilation + 1)
            seen = (first, last) if first < last else BLIND
            if runs and runs[-1].taps == seen:
                runs[-1] = _Run((runs[-1].elements[0], end), seen)
            else:
                runs.append(_Run((p, end), seen))
        return _Axis(window, low, extent, tuple(runs))

    @staticmethod
    def whole(window: Window, count: int, low: int, extent: int) -> _Axis:
        """The axis with all elements that see the image in one run, and all taps for them."""
        stride, dilation = window.strides
        first = max(0, -((dilation * (window.taps - 1) - low) // stride))
        end = min(count, -(-(low + extent) // stride))
        seen = (BLIND, (0, window.taps), BLIND)
        spans = zip(pairwise((0, first, end, count)), seen, strict=True)
        runs = tuple(_Run(span, taps) for span, taps in spans if not is_equal(*span))
        return _Axis(window, low, extent, runs)

    @property
    def count(self) -> int:
        """The extent of the result."""
        return self.runs[-1].elements[1]

    @property
    def seeing(self) -> tuple[_Run, ...]:
        """The runs that see something of the image."""
        return tuple(run for run in self.runs if not run.is_blind)

    def seen(self, run: _Run) -> Span:
        """The elements that the windows of a run cover; element 0 is the first of the image."""
        stride, dilation = self.window.strides
        first = stride * run.elements[0] + dilation * run.taps[0]
        last = stride * (run.elements[1] - 1) + dilation * (run.taps[1] - 1)
        return first - self.low, last - self.low + 1

    def products(self) -> int:
        return sum(run.count * (run.taps[1] - run.taps[0]) for run in self.runs)

    def margins(self) -> Span:
        """How far the windows of runs reach at most beyond the start and the end of the image."""
        beyond = [(-first, last - self.extent) for first, last in map(self.seen, self.seeing)]
        front, behind = zip((0, 0), *(map(_at_most, ends) for ends in beyond), strict=True)
        return max(front), max(behind)

    def joined(self) -> _Axis:
        """The axis with neighbouring runs that see the image joined; they have all taps."""
        runs: list[_Run] = []
        for run in self.runs:
            if runs and not (runs[-1].is_blind or run.is_blind):
                runs[-1] = _Run((runs[-1].elements[0], run.elements[1]), (0, self.window.taps))
            else:
                runs.append(run)
        return replace(self, runs=tuple(runs))


def _cheapest(axes: Sequence[_Axis], costs: CostModel) -> tuple[_Axis, ...] | None:
    """The axes, cut for the fewest products if that pays, or else only around elements that see
    nothing; None if all products are left.
    """
    slices = len(axes) - 2
    plain, *choices = (
        tuple(
            axis if (deep if k < slices else plane) else axis.joined()
            for k, axis in enumerate(axes)
        )
        for deep, plane in product((False, True), repeat=2)
    )
    large = [one for one in choices if _are_large(one, costs)]
    best = min(large, key=_products, default=plain)
    if _products(best) > costs.convolutions.trimmed_worth * _products(plain):
        best = plain
    every = prod(axis.count * axis.window.taps for axis in axes)
    return best if _products(best) < every else None


def _cut(
    windows: Sequence[Window],
    sizes: Sequence[int],
    fronts: Sequence[int],
    extents: Sequence[int],
    costs: CostModel,
) -> tuple[_Axis, ...] | None:
    """The axes that `_cheapest` chooses. If inputs decide how many elements see the border, parts
    are only around those that see nothing, and only if all images have such elements: strides leave
    remainders, by which some have none.
    """
    if not is_open(*sizes, *extents):
        return _cheapest(list(map(_Axis.of, windows, sizes, fronts, extents)), costs)
    with assuming(kept=False) as assumed:
        cut = tuple(map(_Axis.whole, windows, sizes, fronts, extents))
    has_blind = any(run.is_blind for axis in cut for run in axis.runs)
    return cut if has_blind and not assumed else None


def _at_most(size: int) -> int:
    """The number that a size is never above, if there is one."""
    most = most_of(size)
    return size if most is None else most


def _products(axes: Sequence[_Axis]) -> int:
    return prod(axis.products() for axis in axes)


def _are_large(axes: Sequence[_Axis], costs: CostModel) -> bool:
    """Whether parts that see the image, if there are several, have enough elements."""
    if all(len(axis.seeing) < 2 for axis in axes):
        return True
    least = prod(min((run.count for run in axis.seeing), default=0) for axis in axes)
    return least >= costs.convolutions.fewest_trimmed_elements


class _Trimming(NamedTuple):
    """A convolution of a padded image, with its followers and its windows along each axis."""

    operations: tuple[GenericOp, ...]
    pad: tensor.PadOp
    weights: SSAValue
    axes: tuple[_Axis, ...]

    def part(self, b: Builder, image: Tensor, runs: Sequence[_Run]) -> Tensor:
        """A box of the last result, computed by the taps through which it sees the image."""
        made: dict[SSAValue, Tensor] = {}

        def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
            if access.value in made:
                return made[access.value].value
            if access.value is self.pad.result:
                spans: list[Span] = []
                for axis, run in zip(self.axes, runs, strict=True):
                    (first, last), (margin, _) = axis.seen(run), axis.margins()
                    spans.append((first + margin, last + margin))
                return window_of(b, image, spans).value
            if access.value is self.weights:
                kept = weights_of(self.weights)
                for axis, run in zip(self.axes, runs, strict=True):
                    if axis.window.axis is not None:
                        kept = Taken(kept, tuple(range(*run.taps)), axis.window.axis).weights
                return b.weight(WeightAttr(kept)).value
            if not any(map(access.uses, image_loops(linalg_op))):
                return access.value
            return window_of(b, tensor_of(access.value), [run.elements for run in runs]).value

        for op in self.operations:
            shape = (shape_of(op.results[0])[0], *(run.count for run in runs))
            sees = op is not self.operations[0] or not any(run.is_blind for run in runs)
            made[op.results[0]] = (part if sees else start)(b, op, shape, operand)
        return made[self.operations[-1].results[0]]
