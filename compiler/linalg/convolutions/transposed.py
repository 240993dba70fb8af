"""Recognizes transposed convolutions as layers lower them: each phase adds to the result.

    y[o, 2p]     += x[i, p + u - 1] * w[o, i, 3 - 2u]      walk: offset 0, taps {-1: 3, 0: 1}
    y[o, 2p + 1] += x[i, p + u] * w[o, i, 2 - 2u]          walk: offset 1, taps {0: 2, 1: 0}

    window of both, from element p - 1 on                  axis: ((3, 1, -1), (-1, 2, 0))
    the same with an element in front of the result        axis: ((2, 0), (3, 1))

A phase is the elements that lie a stride apart (here 2); it sums the taps that meet them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from operator import sub
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.rewrite.through_views import leaves_whole
from ncc.dialects.element import element_of
from ncc.dialects.structured import pad_sides


@dataclass(frozen=True)
class Walk:
    """A phase along an axis: element stride * q + offset reads element q + d by tap `taps[d]`."""

    stride: int
    offset: int
    taps: Mapping[int, int]

    @staticmethod
    def of(
        linalg_op: LinalgOp, data: TensorAccess, weights: TensorAccess, axis: int, along: int | None
    ) -> Walk | None:
        """The phase along an axis of the image. along: the axis of the weights with its taps.

        None if it does not cover each element at its offset, to the end of the result.
        """
        out, read = linalg_op.write.index[axis], data.index[axis]
        image = out.loops()
        sums = read.loops() - image
        if len(image) != 1 or len(sums) > 1 or not sums <= set(linalg_op.reduced):
            return None
        (loop,) = image
        extent = shape_of(linalg_op.op.results[0])[axis]
        # A single element has the same offset for any stride.
        stride, offset = 1 if extent == 1 else out.coefficient(loop), out.constant
        if read.coefficient(loop) != 1 or not 0 <= offset < stride:
            return None
        if linalg_op.extents[loop] != -(-(extent - offset) // stride):
            return None
        tap = None if along is None else weights.index[along]
        if tap is not None and tap.loops() != sums:
            return None
        taps: dict[int, int] = {}
        count = prod(linalg_op.extents[d] for d in sums)
        for u in range(count):
            at = read.constant + sum(u * read.coefficient(d) for d in sums)
            step = 0 if tap is None else tap.constant + sum(u * tap.coefficient(d) for d in sums)
            taps[at] = step
        return Walk(stride, offset, taps)

    def shifted(self, before: int) -> Walk:
        """The same with so many more elements in front of the result."""
        more, offset = divmod(self.offset + before, self.stride)
        return Walk(self.stride, offset, {d - more: tap for d, tap in self.taps.items()})

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The first and the last d."""
        return min(self.taps), max(self.taps)

    @property
    def is_reversed(self) -> bool:
        """Whether later elements of the image are multiplied by earlier taps."""
        taps = [self.taps[d] for d in sorted(self.taps)]
        return taps != sorted(taps)


class Axis(NamedTuple):
    """All phases of an axis, in one window.

    before: elements in front of the result. first: the first element of the window of element 0.
    taps: for each phase, the tap of each element of the window, -1 where it has none.
    """

    before: int
    first: int
    taps: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(walks: Sequence[Walk]) -> Axis:
        """With as many elements in front as make the window narrowest."""
        stride = walks[0].stride
        # The window changes only where another phase becomes the first.
        choices = sorted({0, *(stride - walk.offset for walk in walks if walk.offset)})
        before = min(choices, key=lambda more: len(_reach(walks, more)))
        moved = [walk.shifted(before) for walk in walks]
        reach, taps_of = _reach(walks, before), {walk.offset: walk.taps for walk in moved}
        taps = tuple(
            tuple(taps_of.get(phase, {}).get(d, -1) for d in reach) for phase in range(stride)
        )
        return Axis(before, reach.start, taps)

    @staticmethod
    def of_phase(walk: Walk) -> Axis:
        """A phase by itself."""
        reach = range(min(walk.taps), max(walk.taps) + 1)
        return Axis(0, min(walk.taps), (tuple(walk.taps.get(d, -1) for d in reach),))

    @staticmethod
    def of_one_element(walks: Sequence[Walk], at: int, extent: int) -> Axis:
        """For an image of one element, at index `at`: each element of the result is a phase."""
        stride = walks[0].stride
        taps_of = {walk.offset: walk.taps for walk in walks}
        split = (divmod(n, stride) for n in range(extent))
        return Axis(0, at, tuple((taps_of.get(phase, {}).get(at - q, -1),) for q, phase in split))

    @property
    def stride(self) -> int:
        return len(self.taps)

    @property
    def window(self) -> int:
        return len(self.taps[0])

    def elements(self, extent: int) -> int:
        """How many elements each phase has, for a result of some extent."""
        return -(-(extent + self.before) // self.stride)


def _reach(walks: Sequence[Walk], before: int = 0) -> range:
    """The d of all phases, with so many more elements in front of the result."""
    more = [(walk.offset + before) // walk.stride for walk in walks]
    first, last = zip(*(walk.ends for walk in walks), strict=True)
    return range(min(map(sub, first, more)), max(map(sub, last, more)) + 1)


class TransposedConvolution(NamedTuple):
    """The phases of a transposed convolution; each adds to the result of the one before.

    walks: for each phase, one for each axis of the image. start: the initial value of the first.
    """

    phases: tuple[GenericOp, ...]
    walks: tuple[tuple[Walk, ...], ...]
    image: SSAValue
    weights: SSAValue
    start: SSAValue | float

    @staticmethod
    def of(op: GenericOp) -> TransposedConvolution | None:
        """The transposed convolution whose first phase is op."""
        start = start_of(op, 1)
        if start is None or (isinstance(start, SSAValue) and not is_constant(start)):
            return None
        found = _phase(op)
        if found is None:
            return None
        image, weights, walks = found
        phases, all_walks = [op], [walks]
        while (after := _next(phases[-1])) is not None:
            found = _phase(after)
            if found is None or found[:2] != (image, weights):
                return None
            phases.append(after)
            all_walks.append(found[2])
        if not _are_all(all_walks):
            return None
        return TransposedConvolution(tuple(phases), tuple(all_walks), image, weights, start)

    @property
    def sizes(self) -> list[int]:
        """The extents of the result along the axes of the image."""
        return list(shape_of(self.phases[-1].results[0])[1:])

    @property
    def reach(self) -> int:
        """The elements of a window for all phases."""
        return prod(len(_reach(walks)) for walks in zip(*self.walks, strict=True))

    def source(self) -> tuple[SSAValue, list[int]]:
        """The image without its border, and the width of the border at the start of each axis."""
        pad = self.image.owner
        if isinstance(pad, tensor.PadOp) and pad_value(pad) == 0 and _is_around(pad):
            return pad.source, pad_sides(pad)[0][1:]
        return self.image, [0] * len(self.walks[0])


def _phase(op: GenericOp) -> tuple[SSAValue, SSAValue, tuple[Walk, ...]] | None:
    """The image, the weights and the walks of a phase; None for other operations."""
    linalg_op = LinalgOp(op)
    dims = ContractionDims.of(linalg_op)
    if dims is None or not linalg_op.may_be_rebuilt:
        return None
    data, weights = dims.lhs, dims.rhs
    if not is_constant(weights.value) or {element_of(v) for v in op.operands} != {f32}:
        return None
    output, channel = linalg_op.write.index[0].bare, data.index[0].bare
    image = range(1, len(linalg_op.write.index))
    if len(data.index) != 3 or len(linalg_op.write.index) != 3 or output is None or channel is None:
        return None
    if channel not in linalg_op.reduced or not weights.begins_with(output, channel):
        return None
    if any(sum(loop in form.loops() for form in data.index) > 1 for loop in linalg_op.reduced):
        return None
    taps = len(weights.index) - 2
    if taps != 2 and not (taps == 1 and shape_of(op.results[0])[1] == 1):
        return None
    walks = []
    for axis in image:
        along = axis + 1 if taps == 2 else 2 if axis == 2 else None
        walk = Walk.of(linalg_op, data, weights, axis, along)
        if walk is None:
            return None
        walks.append(walk)
    return data.value, weights.value, tuple(walks)


def _are_all(phases: Sequence[tuple[Walk, ...]]) -> bool:
    """Whether each walk along rows has one phase with each walk along columns, and no more, so that
    the axes are independent.
    """
    ways = [{walk.offset: walk for walk in walks}.values() for walks in zip(*phases, strict=True)]
    if any(len({walk.stride for walk in walks}) > 1 for walks in ways):
        return False
    found, every = (
        {tuple(walk.offset for walk in walks): walks for walks in both}
        for both in (phases, product(*ways))
    )
    return len(found) == len(phases) and found == every


def _next(op: GenericOp) -> GenericOp | None:
    """The phase that adds to the result of this one."""
    after = reader_of(op.results[0])
    return after if after is not None and outs_of(after) is op.results[0] else None


def _is_around(pad: tensor.PadOp) -> bool:
    """Whether a pad adds rows and columns, and no channels."""
    return leaves_whole(pad, 0) and min(map(min, pad_sides(pad))) >= 0
