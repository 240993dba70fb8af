"""Selections in front of what would begin amid a block of channels.

    y[g, o] += x[g * 40 + i] * w[g, o, i]     ->      y[g, o] += s[g * 48 + i] * w[g, o, i]
    concat(a, b) of 24 and 216 channels       ->      all channels of that, as a selection

s takes the 40 channels of each group and 8 times the last of them, which nobody reads: every group
begins with a block. A joint that only selections read, be it one of groups, may have gaps behind
its parts, as `select_channels` says.

Needs: the structured level before layouts are chosen.  Breaks: nothing; results are equal bit by
bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.packing import (
    BLOCK,
    has_gaps,
    is_selected,
    joins_channels,
    joins_ragged,
    packed_axis,
    packing_of,
)
from ncc.compiler.linalg.channels.select_channels import select, select_inside
from ncc.compiler.linalg.insert import move_before, move_behind, reread
from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.tensors import groups_of, is_constant
from ncc.compiler.linalg.view import View, expression, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of


@dataclass(frozen=True)
class AlignChannels(ModulePass):
    """Let groups and parts of joints begin with blocks; see the head of this file."""

    name = "align-channels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made: dict[tuple[SSAValue, int], SSAValue] = {}
        ops = list(network_of(op).body.block.ops)
        for one in ops:
            if isinstance(one, GenericOp) and len(shape_of(one.results[0])) == 4:
                groups = _Groups.of(View(one))
                if groups is not None:
                    groups.align(made)
        for one in reversed(ops):
            if isinstance(one, tensor.ConcatOp | tensor.CollapseShapeOp) and _is_ragged(one):
                _align_joint(one)


def _is_ragged(joint: tensor.ConcatOp | tensor.CollapseShapeOp) -> bool:
    """Whether a joint of images could be in blocks but for the channels of its parts."""
    value = joint.result
    if len(shape_of(value)) != 3 or element_of(value) != f32 or is_selected(value):
        return False
    if isinstance(joint, tensor.ConcatOp):
        sources = (value.owner for value in joint.inputs)
        within = any(isinstance(source, Operation) and has_gaps(source) for source in sources)
        return (joins_ragged(joint) or within) and joins_channels(joint)
    is_computed = isinstance(joint.src.owner, GenericOp)
    return is_computed and has_gaps(joint) and packed_axis(joint.src) == groups_of(joint)[0][-1]


def _align_joint(joint: tensor.ConcatOp | tensor.CollapseShapeOp) -> None:
    """Let the readers of a joint read a selection of all of its channels."""
    value = joint.result
    uses = [use for use in value.uses if not isinstance(use.operation, tensor.ExtractOp)]
    scratch = Block()
    selected = select(Builder(scratch, "layout"), value, range(shape_of(value)[0]))
    move_behind(scratch, joint)
    for use in uses:
        use.operation.operands[use.index] = selected.value


@dataclass(frozen=True)
class _Groups:
    """A sum over the channels of groups that are no whole blocks: the operand, and both loops."""

    view: View
    position: int
    group: int
    channel: int

    @staticmethod
    def of(view: View) -> _Groups | None:
        pair = view.product() if view.reduced else None
        if pair is None or not is_constant(view.reads[pair[1]].value):
            return None
        data = view.reads[pair[0]]
        if len(data.index) != 3 or element_of(data.value) != f32:
            return None
        first, *rest = data.index
        if len(first.terms) != 2 or first.constant:
            return None
        channel, group = sorted(first.loops(), key=first.coefficient)
        size = view.extents[channel]
        together = (first.coefficient(channel), first.coefficient(group)) == (1, size)
        whole = shape_of(data.value)[0] == view.extents[group] * size
        if not together or not whole or size == shape_of(data.value)[0]:
            return None
        if size <= BLOCK or size % BLOCK == 0:
            return None
        if channel not in view.reduced or group in view.reduced:
            return None
        if any(form.coefficient(loop) for form in rest for loop in (group, channel)):
            return None
        return _Groups(view, pair[0], group, channel) if packing_of(view) is not None else None

    def align(self, made: dict[tuple[SSAValue, int], SSAValue]) -> None:
        """Let the sum read groups of whole blocks."""
        op, value = self.view.op, self.view.reads[self.position].value
        size = self.view.extents[self.channel]
        if (value, size) not in made:
            scratch = Block()
            made[value, size] = _filled(Builder(scratch, "layout"), value, size).value
            move_before(scratch, op)
        rest = op.indexing_maps.data[self.position].data.results[1:]
        lead = expression({self.group: _rounded(size), self.channel: 1}, 0)
        reread(op, self.position, made[value, size], [lead, *rest])


def _filled(b: Builder, value: SSAValue, size: int) -> Tensor:
    """A value with groups of so many channels filled up."""
    groups = range(0, shape_of(value)[0], size)
    channels = [
        first + min(channel, size - 1) for first in groups for channel in range(_rounded(size))
    ]
    return select_inside(b, value, channels)


def _rounded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
