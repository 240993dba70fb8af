"""Depthwise convolutions with a channel multiplier, as ones without: channels are repeated.

    y[g, o] += x[g] * w[g, o]        ->        t[c] = x[c / 2],  y[c] += t[c] * w[c]

Repeated channels are in blocks, as those of other depthwise convolutions are. To repeat a channel
costs little beside the window that is summed for each.

Needs: the linalg level before views are sunk.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.groups.grouped_convolution import GroupPass, sums_in_groups, ungrouped
from ncc.compiler.linalg.layout.gather_channels import gather_inside
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    rebuilt_without,
    replace_op,
    tensor_of,
)
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder


@dataclass(frozen=True)
class RepeatGroups(GroupPass):
    """Repeat the channels of every such group; see the head of this file."""

    name = "repeat-groups"

    costs: CostModel = CostModel()

    def find(self, concat_op: tensor.CollapseShapeOp) -> _Repeating | str | None:
        return _Repeating.of(concat_op, self.costs.most_gathered_channels)


@dataclass(frozen=True)
class _Repeating:
    """A convolution in groups, what joins its channels, what it reads, the loop over what a group
    makes, and what its sums start from.
    """

    concat_op: tensor.CollapseShapeOp
    linalg_op: LinalgOp
    data: TensorAccess
    output: int
    start: SSAValue | float

    @staticmethod
    def of(concat_op: tensor.CollapseShapeOp, most_channels: int) -> _Repeating | str | None:
        """The convolution, or why it stays. None for what makes one channel of a group."""
        linalg_op = sums_in_groups(concat_op)
        dims = None if linalg_op is None else ContractionDims.of(linalg_op)
        if linalg_op is None or dims is None:
            return None
        data, weights = dims.lhs, dims.rhs
        group, output = (form.bare for form in linalg_op.write.index[:2])
        if group is None or output is None or linalg_op.extents[output] == 1:
            return None
        if not weights.begins_with(group, output) or not is_constant(weights.value):
            return "its weights are computed, or their first axes are not its channels"
        if data.uses(output) or not _reads_one_channel(linalg_op, data, group):
            return "its groups read several channels"
        channels = shape_of(concat_op.result)[0]
        if channels < BLOCK:
            return f"it makes fewer than {BLOCK} channels"
        if channels > most_channels:
            return f"it makes more than {most_channels} channels"
        if not _is_computed(data.value):
            return "it reads an input of the network, which is in no blocks"
        start = start_of(linalg_op.op, 2)
        if start is None:
            return "it goes on from other values than a bias"
        if {element_of(value) for value in linalg_op.op.operands} != {f32}:
            return "it is not of float32"
        return _Repeating(concat_op, linalg_op, data, output, start)

    def rewrite(self) -> None:
        """Put the convolution of repeated channels in place of the concat."""
        linalg_op, b = self.linalg_op, builder_for(self.linalg_op.op)
        shape = shape_of(self.concat_op.result)
        start = (
            b.full(shape, self.start)
            if isinstance(self.start, float)
            else b.spread(ungrouped(b, tensor_of(self.start)), shape, axis=0)
        )
        group, _, *image = linalg_op.write.index
        reads = [
            (self._repeated(b), [group, *access.index[1:]])
            if access is self.data
            else (ungrouped(b, tensor_of(access.value)).value, [group, *access.index[2:]])
            for access in linalg_op.reads
        ]
        made = rebuilt_without(b, linalg_op.op, self.output, reads, [group, *image], start)
        replace_op(self.concat_op, b, made)

    def _repeated(self, b: Builder) -> SSAValue:
        """The data, each channel as often as its group makes one."""
        count = self.linalg_op.extents[self.output]
        channels = [n // count for n in range(shape_of(self.concat_op.result)[0])]
        return gather_inside(b, self.data.value, channels).value


def _reads_one_channel(linalg_op: LinalgOp, data: TensorAccess, group: int) -> bool:
    """Whether a group reads the channel of its number, of an image."""
    if len(data.index) != 3 or any(form.coefficient(group) for form in data.index[1:]):
        return False
    channel = data.index[0]
    alone = all(linalg_op.extents[d] == 1 for d in channel.loops() - {group})
    return alone and channel.coefficient(group) == 1 and not channel.constant


def _is_computed(value: SSAValue) -> bool:
    """Whether a run computes the value, and so can have it in blocks. An input of the network is
    plain: windows of it are summed along its rows.
    """
    owner = value.owner
    return (
        _is_computed(owner.source)
        if isinstance(owner, tensor.PadOp)
        else isinstance(owner, Operation)
    )
