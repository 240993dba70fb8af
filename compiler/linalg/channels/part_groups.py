"""Groups of few channels that make one channel each, turned so that groups are neighbours.

    y[g] += x[g * 2 + i] * w[g, i]       ->      t[g, i] = x[g * 2 + i],  y[g] += t[g, i] * w[g, i]

Then they are blocks, as the channels of a depthwise convolution are: a vector of results takes in
whole vectors of t. Without that it would run along a row, whatever its stride.

Needs: the structured level, before `pack`.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.packing import BLOCK
from ncc.compiler.linalg.insert import erase_dead, move_before, reread, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.tensors import pad_sides, pad_value
from ncc.compiler.linalg.view import View, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of


@dataclass(frozen=True)
class PartGroups(ModulePass):
    """Part the channels of every such group; see the head of this file."""

    name = "part-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        made: dict[tuple[SSAValue, int], SSAValue] = {}
        for generic in generics_of(block):
            found = _Grouped.of(View(generic))
            if found is not None:
                found.part(made)
        erase_dead(block)


@dataclass(frozen=True)
class _Grouped:
    """A sum over the channels of groups: the operand that they are in, and both loops."""

    view: View
    position: int
    group: int
    channel: int

    @staticmethod
    def of(view: View) -> _Grouped | None:
        pair = view.product()
        group = view.write.index[0].bare if len(view.write.index) == 3 else None
        if pair is None or group is None or view.extents[group] < BLOCK:
            return None
        data = view.reads[pair[0]]
        first, *rest = data.index
        channels = [d for d in first.loops() - {group} if d in view.reduced]
        if len(channels) != 1 or len(first.terms) != 2 or element_of(data.value) != f32:
            return None
        (channel,) = channels
        count = view.extents[channel]
        together = (first.coefficient(group), first.coefficient(channel), first.constant)
        whole = shape_of(data.value)[0] == view.extents[group] * count
        if together != (count, 1, 0) or not 1 < count < BLOCK or not whole:
            return None
        if any(form.coefficient(loop) for form in rest for loop in (group, channel)):
            return None
        return _Grouped(view, pair[0], group, channel)

    def part(self, made: dict[tuple[SSAValue, int], SSAValue]) -> None:
        """Let the sum read groups and their channels as two axes."""
        op, value = self.view.op, self.view.reads[self.position].value
        count = self.view.extents[self.channel]
        if (value, count) not in made:
            scratch = Block()
            made[value, count] = _parted(Builder(scratch, "layout"), value, count).value
            move_before(scratch, op)
        rest = op.indexing_maps.data[self.position].data.results[1:]
        index = [AffineDimExpr(self.group), AffineDimExpr(self.channel), *rest]
        reread(op, self.position, made[value, count], index)


def _parted(b: Builder, value: SSAValue, count: int) -> Tensor:
    """A value with its channels as (group, channel of it); what is padded is so afterwards."""
    owner = value.owner
    if isinstance(owner, tensor.PadOp):
        low, high = pad_sides(owner)
        if not low[0] and not high[0]:
            inner = _parted(b, owner.source, count)
            return b.pad(inner, [0, *low], [0, *high], pad_value(owner))
    channels, *space = shape_of(value)
    group, channel, *at = loops = b.loops_of([channels // count, count, *space])
    return b.map(loops, tensor_of(value)[(group * count + channel, *at)])
