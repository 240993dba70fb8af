"""Depthwise convolutions with a channel multiplier repeat channels instead.

    y[g, o] += x[g] * w[g, o]        ->        t[c] = x[c / 2],  y[c] += t[c] * w[c]

Repeated channels are in blocks, as in other depthwise convolutions. A copy of a channel costs
little, compared with the sum over a window for each element.

Needs: the linalg level before views are sunk.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.groups.grouped_convolution import collapse_of, sums_in_groups, ungrouped
from ncc.compiler.linalg.layout.gather_channels import gather_inside
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import builder_for, rebuilt_without, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder


class RepeatGroups(LinalgPattern["_Repeating"], CostedPass):
    """Repeat the channel of each group."""

    name = "repeat-groups"

    def match(self, op: GenericOp) -> _Repeating | str | None:
        linalg_op = sums_in_groups(op)
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
        channels = shape_of(collapse_of(linalg_op).result)[0]
        if channels < BLOCK:
            return f"it makes fewer than {BLOCK} channels"
        most_channels = self.costs.layout.most_gathered_channels
        if channels > most_channels:
            return f"it makes more than {most_channels} channels"
        if not _is_computed(data.value):
            return "it reads an input of the network, which is not in blocks"
        start = start_of(op, 2)
        if start is None:
            return "its sums start from other values than a bias"
        if {element_of(value) for value in op.operands} != {f32}:
            return "it is not of float32"
        return _Repeating(linalg_op, data, output, start)

    def rewrite(self, found: _Repeating) -> None:
        linalg_op, b = found.linalg_op, builder_for(found.linalg_op.op)
        collapse = collapse_of(linalg_op)
        shape = shape_of(collapse.result)
        start = (
            b.full(shape, found.start)
            if isinstance(found.start, float)
            else b.spread(ungrouped(b, tensor_of(found.start)), shape, axis=0)
        )
        group, _, *image = linalg_op.write.index
        reads = [
            (found.repeated(b, shape[0]), [group, *access.index[1:]])
            if access is found.data
            else (ungrouped(b, tensor_of(access.value)).value, [group, *access.index[2:]])
            for access in linalg_op.reads
        ]
        made = rebuilt_without(b, linalg_op.op, found.output, reads, [group, *image], start)
        replace_op(collapse, b, made)


class _Repeating(NamedTuple):
    """A grouped convolution. output: the loop over the channels that a group makes. start: the
    initial value of the sums.
    """

    linalg_op: LinalgOp
    data: TensorAccess
    output: int
    start: SSAValue | float

    def repeated(self, b: Builder, channels: int) -> SSAValue:
        """The data, with each channel once for each channel that its group makes."""
        count = self.linalg_op.extents[self.output]
        return gather_inside(b, self.data.value, [n // count for n in range(channels)]).value


def _reads_one_channel(linalg_op: LinalgOp, data: TensorAccess, group: int) -> bool:
    """Whether group g reads channel g of an image, and no other."""
    if len(data.index) != 3 or any(form.coefficient(group) for form in data.index[1:]):
        return False
    channel = data.index[0]
    alone = all(linalg_op.extents[d] == 1 for d in channel.loops() - {group})
    return alone and channel.coefficient(group) == 1 and not channel.constant


def _is_computed(value: SSAValue) -> bool:
    """Whether the network computes the value, so that it can be in blocks.

    An input of the network is plain: sums over its windows run along rows.
    """
    owner = value.owner
    return (
        _is_computed(owner.source)
        if isinstance(owner, tensor.PadOp)
        else isinstance(owner, Operation)
    )
