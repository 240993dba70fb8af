"""Splits sums over more data than a cache holds into parts that stay there, one after the other.

    y[m, n] += sum over k of x[m, k] * w[k, n]
        ->  t[m, n] = y[m, n] + sum over the first part of k of x[m, k] * w[k, n]
            y[m, n] = t[m, n] + sum over the rest ..

This is cache blocking of the reduced loop. Where neither x nor w stays in L2, every few vectors of
results read all of x again from L3 or memory, or every few rows of m read all of w. The same
happens if a run makes w and w alone is too large: its vectors for one n lie far apart and evict
each other. Parts of x and w stay in L2; in exchange every part reads the sums so far once more.

There is another reason to cut long sums. The vectors of w that one register tile takes, which every
tile along m reads again, may alone be more than L2 holds.

Needs: the linalg level before groups, constants in blocks.  Breaks: nothing where the sum has one
reduced loop, because a part goes on from the sums so far. With several, the order of floating-point
sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.insert import replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.target import Target
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder
from ncc.dialects.size import hint, is_open


class SplitReductionForCache(LinalgPattern["_Sum"], TargetPass):
    """Sum in parts where the operands of a sum do not stay in a cache."""

    name = "split-reduction-for-cache"

    def match(self, op: GenericOp) -> _Sum | str | None:
        linalg_op = LinalgOp(op)
        if (
            linalg_op.product is None
            or len(linalg_op.reads) != 2
            or not linalg_op.reduced
            or not linalg_op.may_be_rebuilt
        ):
            return None
        axes_of = {d: [_axis(access, d) for access in linalg_op.reads] for d in linalg_op.reduced}
        known = [d for d in axes_of if not is_open(linalg_op.extents[d])]
        cut = [d for d in known if None not in axes_of[d]]
        if {element_of(value) for value in op.operands} != {f32}:
            return "it is not of float32"
        if not cut:
            return "no loop of known extent that it sums over is one axis of either operand"
        loop = max(cut, key=lambda d: linalg_op.extents[d])
        axes = [axis for axis in axes_of[loop] if axis is not None]
        parts, extent = _parts(linalg_op, self.target), linalg_op.extents[loop]
        if not 1 < parts <= extent:
            return "operands that it reads again stay in L2, or parts would have more traffic"
        return _Sum(op, tuple(axes), _even(extent, parts))

    def describe(self, found: _Sum) -> str:
        return f"in {found.parts} parts"

    def rewrite(self, found: _Sum) -> None:
        b = Builder(Block())
        operands = [tensor_of(value) for value in found.op.inputs]
        extent, total = operands[0].shape[found.axes[0]], outs_of(found.op)
        for begin, end in pairwise(extent * n // found.parts for n in range(found.parts + 1)):
            cut = [b.cut(x, k, begin, end) for x, k in zip(operands, found.axes, strict=True)]
            new = found.op.clone()
            new.operands = [*(x.value for x in cut), total]
            b.block.add_op(new)
            total = new.results[0]
        replace_op(found.op, b, tensor_of(total))


def parts_of(data: int, traffic: int, sums: int, room: int, worth: int) -> int:
    """The number of parts whose data fit in the room; 1 where sums stay whole.

    All in bytes. traffic: of the data while sums are whole. With parts, the data is read once, and
    the sums so far are written and read for each part but one. That has to be `worth` times less.
    """
    parts = -(-data // room)
    return parts if traffic > worth * (data + 2 * (parts - 1) * sums) else 1


@dataclass(frozen=True)
class _Sum:
    """A contraction, the axis of each operand along which it is cut, and the number of parts."""

    op: GenericOp
    axes: tuple[int, ...]
    parts: int


def _axis(access: TensorAccess, loop: int) -> int | None:
    """The axis that this loop alone walks, if it walks no other."""
    axes = [axis for axis, form in enumerate(access.index) if form.coefficient(loop)]
    return axes[0] if len(axes) == 1 and access.index[axes[0]].bare == loop else None


def _parts(linalg_op: LinalgOp, target: Target) -> int:
    """The number of parts; 1 where operands that are read again stay in the cache anyway."""
    extents = [hint(extent) for extent in linalg_op.extents]
    l2_bytes, costs = target.core.l2_bytes, target.costs.reductions
    stays, worth = costs.operand_share * l2_bytes, costs.parts_worth
    lane = linalg_op.write.index[-1].bare
    vectors = [access for access in linalg_op.reads if lane is not None and access.uses(lane)]
    if len(vectors) != 1:
        return 1
    [stream] = vectors
    [still] = [access for access in linalg_op.reads if access is not stream]
    alone = [_alone(linalg_op, still, stream), _alone(linalg_op, stream, still)]
    batch = prod(extents[d] for d in linalg_op.parallel) // prod(alone)
    x, w, y = (
        4 * _elements(linalg_op, access) // batch for access in (still, stream, linalg_op.write)
    )
    by_points, by_vectors = (
        w * -(-alone[0] // costs.tile_points),
        x * -(-alone[1] // costs.tile_channels),
    )
    room = int(costs.reduction_part_share * l2_bytes)
    if _lies_apart(linalg_op, stream, costs.tile_channels):
        return 1 if w <= stays else parts_of(w, by_points, y, room, worth)
    if min(x, w) <= stays:
        return 1
    parts = parts_of(min(x, w), min(by_points, by_vectors), y, room, costs.prefetched_worth * worth)
    return max(parts, _parts_of_vectors(linalg_op, alone[0], target))


def _parts_of_vectors(linalg_op: LinalgOp, points: int, target: Target) -> int:
    """In how many parts to sum, so that the vectors of a register tile stay in L2.

    Every tile of points reads them. From beyond L2, that is what the tile waits for if a cache line
    takes longer to come than its products with the points of the tile.
    """
    core, costs = target.core, target.costs.reductions
    if core.l3_line * core.multiply_adds <= costs.tile_points:
        return 1
    vectors = 4 * costs.tile_channels * hint(prod(linalg_op.extents[d] for d in linalg_op.reduced))
    traffic = vectors * -(-points // costs.tile_points)
    sums = 4 * costs.tile_channels * points
    stays = int(costs.operand_share * core.l2_bytes)
    return parts_of(vectors, traffic, sums, stays, costs.parts_worth)


def _alone(linalg_op: LinalgOp, access: TensorAccess, other: TensorAccess) -> int:
    """The extent of all loops of the result that move in one operand only: that of m for x."""
    loops = [d for d in linalg_op.parallel if access.uses(d) and not other.uses(d)]
    return hint(prod(linalg_op.extents[d] for d in loops))


def _elements(linalg_op: LinalgOp, access: TensorAccess) -> int:
    """How many elements an operand is read at: windows share some, strides leave some out."""
    loops = [d for d in range(len(linalg_op.extents)) if access.uses(d)]
    shape, extents = shape_of(access.value), (linalg_op.extents[d] for d in loops)
    return min(hint(prod(shape)), hint(prod(extents)))


def _lies_apart(linalg_op: LinalgOp, stream: TensorAccess, width: int) -> bool:
    """Whether the vectors of two iterations lie farther apart than `width` elements."""
    shape = shape_of(stream.value)
    axes = [k for k, form in enumerate(stream.index) if form.loops() & set(linalg_op.reduced)]
    distance: int = hint(prod(shape[axes[-1] + 1 :]))
    return distance > width


def _even(extent: int, parts: int) -> int:
    """This number of parts, or up to a third more if they are equal: those share a kernel."""
    more = range(parts, parts * 4 // 3 + 1)
    return next((n for n in more if extent % n == 0), parts)
