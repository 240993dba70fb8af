"""Transposed convolutions as layers expand them: a sum for each phase, which goes on from another.

    y[o, 2p]     += x[i, p + u - 1] * w[o, i, 3 - 2u]      walk: place 0, taps {-1: 3, 0: 1}
    y[o, 2p + 1] += x[i, p + u] * w[o, i, 2 - 2u]          walk: place 1, taps {0: 2, 1: 0}

    window of both, from cell p - 1 on                     axis: ((3, 1, -1), (-1, 2, 0))
    the same with a cell in front of the result            axis: ((2, 0), (3, 1))

A phase are the cells that lie as far apart as the stride (here 2); it sums the taps that meet them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from operator import sub

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_sides, pad_value
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.rewrite.through_views import leaves_whole
from ncc.dialects.element import element_of


@dataclass(frozen=True)
class Walk:
    """How a phase walks an axis: cell stride * q + place takes tap `taps[d]` from cell q + d."""

    stride: int
    place: int
    taps: Mapping[int, int]

    @staticmethod
    def of(
        linalg_op: LinalgOp, data: TensorAccess, weights: TensorAccess, axis: int, along: int | None
    ) -> Walk | None:
        """That along an axis of the image, to the end of the result; along: the axis of the weights
        that has its taps.
        """
        out, read = linalg_op.write.index[axis], data.index[axis]
        cells = out.loops()
        sums = read.loops() - cells
        if len(cells) != 1 or len(sums) > 1 or not sums <= set(linalg_op.reduced):
            return None
        (cell,) = cells
        extent = shape_of(linalg_op.op.results[0])[axis]
        # One cell alone lies at the same place for any stride.
        stride, place = 1 if extent == 1 else out.coefficient(cell), out.constant
        if read.coefficient(cell) != 1 or not 0 <= place < stride:
            return None
        if linalg_op.extents[cell] != len(range(place, extent, stride)):
            return None
        tap = None if along is None else weights.index[along]
        if tap is not None and tap.loops() != sums:
            return None
        taps: dict[int, int] = {}
        count = prod(linalg_op.extents[loop] for loop in sums)
        for u in range(count):
            at = read.constant + sum(u * read.coefficient(loop) for loop in sums)
            step = 0 if tap is None else tap.constant + sum(u * tap.coefficient(s) for s in sums)
            taps[at] = step
        return Walk(stride, place, taps)

    def behind(self, before: int) -> Walk:
        """The same if so many more cells of the result lie in front."""
        more, place = divmod(self.place + before, self.stride)
        return Walk(self.stride, place, {d - more: tap for d, tap in self.taps.items()})

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The first and the last cell that is read."""
        return min(self.taps), max(self.taps)

    @property
    def is_reversed(self) -> bool:
        """Whether later cells of the image are multiplied by earlier taps."""
        taps = [self.taps[d] for d in sorted(self.taps)]
        return taps != sorted(taps)


@dataclass(frozen=True)
class Axis:
    """All phases of an axis, in one window.

    before: cells in front of the result that are counted with it. first: where the window of its
    cell 0 begins. places: the tap of each phase at each place of the window, -1 where it has none.
    """

    before: int
    first: int
    places: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(walks: Sequence[Walk]) -> Axis:
        """By as many cells in front as make the window the narrowest."""
        stride = walks[0].stride
        # One more in front changes the window where a phase becomes the first.
        choices = sorted({0, *(stride - walk.place for walk in walks if walk.place)})
        before = min(choices, key=lambda cells: len(_reach(walks, cells)))
        moved = [walk.behind(before) for walk in walks]
        reach, taps_of = _reach(walks, before), {walk.place: walk.taps for walk in moved}
        places = tuple(
            tuple(taps_of.get(phase, {}).get(d, -1) for d in reach) for phase in range(stride)
        )
        return Axis(before, reach.start, places)

    @staticmethod
    def of_phase(walk: Walk) -> Axis:
        """A phase by itself."""
        reach = range(min(walk.taps), max(walk.taps) + 1)
        return Axis(0, min(walk.taps), (tuple(walk.taps.get(d, -1) for d in reach),))

    @staticmethod
    def of_one_cell(walks: Sequence[Walk], at: int, extent: int) -> Axis:
        """Where the image is one cell, `at`: each cell of the result, of so many, is a phase."""
        stride = walks[0].stride
        taps_of = {walk.place: walk.taps for walk in walks}
        cells = (divmod(cell, stride) for cell in range(extent))
        return Axis(0, at, tuple((taps_of.get(place, {}).get(at - q, -1),) for q, place in cells))

    @property
    def stride(self) -> int:
        return len(self.places)

    @property
    def window(self) -> int:
        return len(self.places[0])

    def cells(self, extent: int) -> int:
        """How many of each phase there are for so many of the result."""
        return -(-(extent + self.before) // self.stride)


def _reach(walks: Sequence[Walk], before: int = 0) -> range:
    """The cells of the image that any of these phases reads, counted from its cell 0, if so many
    more cells of the result lie in front.
    """
    more = [(walk.place + before) // walk.stride for walk in walks]
    first, last = zip(*(walk.ends for walk in walks), strict=True)
    return range(min(map(sub, first, more)), max(map(sub, last, more)) + 1)


@dataclass(frozen=True)
class TransposedConvolution:
    """The phases of a transposed convolution, each of which goes on from the one before.

    walks: of each phase, one an axis of the image. start: what the sums of the first start from.
    """

    phases: tuple[GenericOp, ...]
    walks: tuple[tuple[Walk, ...], ...]
    image: SSAValue
    weights: SSAValue
    start: SSAValue | float

    @staticmethod
    def of(op: GenericOp) -> TransposedConvolution | None:
        """The one whose first phase op is."""
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
        """Cells of the result along each axis of the image."""
        return list(shape_of(self.phases[-1].results[0])[1:])

    @property
    def reach(self) -> int:
        """The cells of a window of all phases."""
        return prod(len(_reach(walks)) for walks in zip(*self.walks, strict=True))

    def source(self) -> tuple[SSAValue, list[int]]:
        """The image without a border, and how wide that is in front."""
        pad = self.image.owner
        if isinstance(pad, tensor.PadOp) and pad_value(pad) == 0 and _is_around(pad):
            return pad.source, pad_sides(pad)[0][1:]
        return self.image, [0] * len(self.walks[0])


def _phase(op: GenericOp) -> tuple[SSAValue, SSAValue, tuple[Walk, ...]] | None:
    """The image and the weights of a sum of products over windows, and how it walks its axes."""
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
    """Whether there is exactly one phase for each pair of a walk along rows and one along columns,
    so that the axes can be treated one by one.
    """
    ways = [{walk.place: walk for walk in walks}.values() for walks in zip(*phases, strict=True)]
    if any(len({walk.stride for walk in walks}) > 1 for walks in ways):
        return False
    found, every = (
        {tuple(walk.place for walk in walks): walks for walks in both}
        for both in (phases, product(*ways))
    )
    return len(found) == len(phases) and found == every


def _next(op: GenericOp) -> GenericOp | None:
    """The phase that goes on from what this one leaves."""
    after = reader_of(op.results[0])
    return after if after is not None and outs_of(after) is op.results[0] else None


def _is_around(pad: tensor.PadOp) -> bool:
    """Whether a pad has a border of the image, and adds no channels."""
    return leaves_whole(pad, 0) and min(map(min, pad_sides(pad))) >= 0
