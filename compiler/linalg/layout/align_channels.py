"""Groups and parts of concats aligned to blocks of channels, by selections in front of them.

    y[g, o] += x[g * 40 + i] * w[g, o, i]     ->      y[g, o] += s[g * 48 + i] * w[g, o, i]
    concat(a, b) of 24 and 216 channels       ->      all channels of that, as a selection

s takes the 40 channels of each group and, to fill its blocks, 8 times the last of them, which
nobody reads: so every group begins with a block. A concat that only selections read, of groups or
of parts, may have gaps behind them, as `select_channels` says.

Needs: the linalg level before layouts are chosen.  Breaks: nothing; results are equal bit by
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

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of, is_constant
from ncc.compiler.linalg.layout.gather_channels import MOST_SELECTED, select, select_inside
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.compiler.linalg.layout.packed_views import (
    has_gaps,
    is_selected,
    joins_channels,
    joins_ragged,
)
from ncc.compiler.linalg.layout.packing import packing_of
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum, Made
from ncc.compiler.linalg.rewrite.insert import move_after
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.operation import ops_of


@dataclass(frozen=True)
class AlignChannels(ModulePass):
    """Let groups and parts of concats begin with blocks; see the head of this file."""

    name = "align-channels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made: Made = {}
        ops = ops_of(network_of(op).body.block)
        for one in ops:
            if isinstance(one, GenericOp) and len(shape_of(one.results[0])) == 4:
                found = GroupedSum.of(LinalgOp(one))
                if found is not None:
                    _align_groups(found, made)
        axes = PackedAxes()
        for one in reversed(ops):
            if isinstance(one, tensor.ConcatOp | tensor.CollapseShapeOp) and _is_ragged(one, axes):
                _align_concat(one)
                axes = PackedAxes()


def _align_groups(found: GroupedSum, made: Made) -> None:
    """Let a sum over constants read groups of whole blocks, where its groups are none."""
    if not is_constant(found.weights) or len(found.data.index) != 3:
        return
    if found.groups == 1 or found.size <= BLOCK or found.size % BLOCK == 0:
        return
    if found.groups * found.size > MOST_SELECTED:
        return
    if packing_of(found.linalg_op, PackedAxes()) is not None:
        lead = AffineForm.of({found.group: lanes_in(found.size), found.channel: 1})
        found.read(made, _filled, [lead])


def _filled(b: Builder, value: SSAValue, size: int) -> Tensor:
    """A value with groups of so many channels filled up."""
    groups = range(0, shape_of(value)[0], size)
    channels = [
        first + min(channel, size - 1) for first in groups for channel in range(lanes_in(size))
    ]
    return select_inside(b, value, channels)


def _is_ragged(concat_op: tensor.ConcatOp | tensor.CollapseShapeOp, axes: PackedAxes) -> bool:
    """Whether a concat of images could be in blocks but for the channels of its parts."""
    value, shape = concat_op.result, shape_of(concat_op.result)
    if len(shape) != 3 or shape[0] > MOST_SELECTED or element_of(value) != f32:
        return False
    if is_selected(value, axes):
        return False
    if isinstance(concat_op, tensor.ConcatOp):
        sources = (value.owner for value in concat_op.inputs)
        within = any(isinstance(source, Operation) and has_gaps(source, axes) for source in sources)
        return (joins_ragged(concat_op) or within) and joins_channels(concat_op, axes)
    is_computed = isinstance(concat_op.src.owner, GenericOp)
    last = groups_of(concat_op)[0][-1]
    return is_computed and has_gaps(concat_op, axes) and axes.of(concat_op.src) == last


def _align_concat(concat_op: tensor.ConcatOp | tensor.CollapseShapeOp) -> None:
    """Let the readers of a concat read a selection of all of its channels."""
    value = concat_op.result
    uses = [use for use in value.uses if not isinstance(use.operation, tensor.ExtractOp)]
    b = Builder(Block(), "layout")
    selected = select(b, value, range(shape_of(value)[0]))
    move_after(b, value)
    for use in uses:
        use.operation.operands[use.index] = selected.value
