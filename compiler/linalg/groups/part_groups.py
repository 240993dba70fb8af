"""Groups of few channels that make one channel each: a transpose makes the groups an axis.

    y[g] += x[g * 2 + i] * w[g, i]       ->      t[g, i] = x[g * 2 + i],  y[g] += t[g, i] * w[g, i]

Then groups are in blocks, as the channels of a depthwise convolution are, and sums load whole
vectors of t. Otherwise vectors would run along rows, even along short and strided ones.

Needs: the linalg level, before `pack`.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.rewrite.decisions import Decisions
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum, Made
from ncc.compiler.linalg.rewrite.insert import erase_dead, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, same_view
from ncc.dialects.index_notation import Builder, Tensor


class PartGroups(LinalgChoice[GroupedSum]):
    """Split the channels into groups and channels of a group."""

    name = "part-groups"

    def match(self, op: GenericOp) -> GroupedSum | str | None:
        found = GroupedSum.of(LinalgOp(op))
        if found is None:
            return None
        result = found.linalg_op.write.index
        if len(result) != 3 or result[0].bare != found.group:
            return "its groups make several channels each, or no image"
        if found.groups < BLOCK:
            return f"it has fewer than {BLOCK} groups"
        return f"its groups have {BLOCK} channels or more" if found.size >= BLOCK else found

    def run(self, block: Block, decisions: Decisions | None) -> None:
        """Rewrite all sums; those that read the same groups share one transpose."""
        made: Made = {}
        for op in generics_of(block):
            found = self.decide(op, decisions)
            if found is not None:
                lead = [AffineDimExpr(found.group), AffineDimExpr(found.channel)]
                found.read(made, _parted, lead)
        erase_dead(block)


def _parted(b: Builder, value: SSAValue, count: int) -> Tensor:
    """A value with the axis of channels as (group, channel of the group); pads follow it."""
    owner = value.owner
    if isinstance(owner, tensor.PadOp) and leaves_whole(owner, 0):
        return same_view(b, owner, [_parted(b, owner.source, count)], behind=len(shape_of(value)))
    channels, *space = shape_of(value)
    group, channel, *at = loops = b.loops_of([channels // count, count, *space])
    return b.map(loops, tensor_of(value)[(group * count + channel, *at)])
