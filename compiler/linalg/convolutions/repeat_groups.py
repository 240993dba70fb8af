"""Groups of one channel that make several, as groups of one that make one.

    y[g, o] += x[g] * w[g, o]        ->        t[c] = x[c / 2],  y[c] += t[c] * w[c]

Such channels are in blocks, as those of other depthwise convolutions are. To repeat a channel is
little beside the window that is summed for each.

Needs: the structured level before views are sunk.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.packing import BLOCK
from ncc.compiler.linalg.channels.select_channels import select_inside
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.insert import again_without, doc_of, erase_dead, put_for, tensor_of
from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.tensors import OF_GROUPS, groups_of, is_constant
from ncc.compiler.linalg.view import Access, View, shape_of
from ncc.dialects.comprehension import Builder
from ncc.dialects.element import element_of


@dataclass(frozen=True)
class RepeatGroups(ModulePass):
    """Repeat the channels of every such group; see the head of this file."""

    name = "repeat-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        found = [
            one
            for joint in block.ops
            if isinstance(joint, tensor.CollapseShapeOp)
            and (one := _Repeating.of(joint)) is not None
        ]
        for one in found:
            one.rewrite()
        if found:
            erase_dead(block)


@dataclass(frozen=True)
class _Repeating:
    """A convolution in groups, what joins its channels, what it reads, the loop over what a group
    makes, and what its sums start from.
    """

    joint: tensor.CollapseShapeOp
    view: View
    data: Access
    output: int
    start: SSAValue | float

    @staticmethod
    def of(joint: tensor.CollapseShapeOp) -> _Repeating | None:
        op = joint.src.owner
        if not isinstance(op, GenericOp) or groups_of(joint) != OF_GROUPS:
            return None
        view = View(op)
        pair = view.product()
        if pair is None or not joint.src.has_one_use() or op.attributes or len(view.reads) != 2:
            return None
        data, weights = (view.reads[k] for k in pair)
        loops = [form.bare for form in view.write.index]
        group, output = loops[:2]
        if group is None or output is None or view.extents[output] == 1:
            return None
        if [form.bare for form in weights.index[:2]] != [group, output]:
            return None
        if any(form.coefficient(loop) for form in weights.index[2:] for loop in (group, output)):
            return None
        first, *rest = data.index
        others = first.loops() - {group}
        alone = all(view.extents[d] == 1 and d in view.reduced for d in others)
        if first.coefficient(group) != 1 or first.constant or not alone or data.uses(output):
            return None
        if len(rest) != 2 or any(form.coefficient(group) for form in rest):
            return None
        if shape_of(joint.result)[0] < BLOCK or not is_constant(weights.value):
            return None
        if not _is_computed(data.value):
            return None
        start = start_of(op, 2)
        if start is None or {element_of(value) for value in op.operands} != {f32}:
            return None
        return _Repeating(joint, view, data, output, start)

    def rewrite(self) -> None:
        """Put the convolution of repeated channels in place of the joint."""
        view, scratch = self.view, Block()
        b = Builder(scratch, doc_of(view.op))
        shape = shape_of(self.joint.result)
        start = (
            b.full(shape, self.start)
            if isinstance(self.start, float)
            else b.spread(tensor_of(_joined(b, self.start)), shape, axis=0)
        )
        group, _, *image = view.write.index
        reads = [
            (self._repeated(b), [group, *access.index[1:]])
            if access is self.data
            else (_joined(b, access.value), [group, *access.index[2:]])
            for access in view.reads
        ]
        made = again_without(b, view.op, self.output, reads, [group, *image], start)
        put_for(self.joint, scratch, made.value)

    def _repeated(self, b: Builder) -> SSAValue:
        """The data, each channel as often as its group makes one."""
        count = self.view.extents[self.output]
        channels = [n // count for n in range(count * shape_of(self.data.value)[0])]
        return select_inside(b, self.data.value, channels).value


def _joined(b: Builder, weights: SSAValue) -> SSAValue:
    """Weights of groups of outputs, as those of as many groups."""
    axes = range(2, len(shape_of(weights)))
    return b.collapse(tensor_of(weights), [[0, 1], *([axis] for axis in axes)]).value


def _is_computed(value: SSAValue) -> bool:
    """Whether a run makes it, who could do so in blocks: an input is summed along its rows."""
    owner = value.owner
    return (
        _is_computed(owner.source)
        if isinstance(owner, tensor.PadOp)
        else isinstance(owner, Operation)
    )
