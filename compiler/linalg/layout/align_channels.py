"""Aligns groups and parts of concats to blocks of channels, by gathers in front of them.

    y[g, o] += x[g * 40 + i] * w[g, o, i]     ->      y[g, o] += s[g * 48 + i] * w[g, o, i]
    concat(a, b) of 24 and 216 channels       ->      all channels of that, as a gather

s takes the 40 channels of each group and, to fill its blocks, 8 times the last of them, which
nobody reads. So every group begins with a block. If only gathers read a concat, of groups or of
parts, it may have gaps behind them (`gather_channels.py`).

Needs: the linalg level before layouts are chosen.  Breaks: nothing; results are equal bit by
bit.
"""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of, is_constant
from ncc.compiler.linalg.layout.gather_channels import gather, gather_inside
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.compiler.linalg.layout.packed_views import (
    has_gaps,
    is_gathered,
    joins_channels,
    joins_ragged,
)
from ncc.compiler.linalg.layout.packing import packing_of
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decisions
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum, Made
from ncc.compiler.linalg.rewrite.insert import move_after
from ncc.compiler.linalg.rewrite.pattern import Choice, LinalgChoice
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.operation import ops_of
from ncc.dialects.size import is_open

_Concat: TypeAlias = tensor.ConcatOp | tensor.CollapseShapeOp


class AlignChannels(Choice[_Concat, _Concat], CostedPass):
    """Let groups of channels, and parts of concats, begin with a block."""

    name = "align-channels"

    def match(self, op: _Concat) -> _Concat | str | None:
        return self._match(op, PackedAxes())

    def _match(self, op: _Concat, axes: PackedAxes) -> _Concat | str | None:
        """The same, with the axes that are known already."""
        shape, most = shape_of(op.result), self.costs.layout.most_gathered_channels
        if len(shape) != 3 or element_of(op.result) != f32 or not _has_ragged_parts(op, axes):
            return None
        if is_open(shape[0]):
            return "the run decides how many channels it joins"
        if shape[0] > most:
            return f"it has more than {most} channels"
        return "gathers alone read it, gaps or not" if is_gathered(op.result, axes) else op

    def run(self, block: Block, decisions: Decisions | None) -> None:
        ops = ops_of(block)
        _AlignGroups(self.costs).run(block, decisions)
        axes = PackedAxes()
        for op in reversed(ops):
            if isinstance(op, _Concat):
                if self.decide_on(op, self._match(op, axes), decisions) is not None:
                    _align_concat(op)
                    axes = PackedAxes()


class _AlignGroups(LinalgChoice[GroupedSum], CostedPass):
    """Let sums over constants read groups of whole blocks, where their groups are none."""

    name = AlignChannels.name

    def match(self, op: GenericOp) -> GroupedSum | str | None:
        found = GroupedSum.of(LinalgOp(op)) if len(shape_of(op.results[0])) == 4 else None
        if found is None or found.groups == 1 or found.size % BLOCK == 0:
            return None
        if len(found.data.index) != 3:
            return "its groups are no images"
        if not is_constant(found.weights):
            return "its weights are computed"
        if found.size < BLOCK:
            return "its groups are smaller than a block"
        if found.groups * found.size > self.costs.layout.most_gathered_channels:
            return f"it has more than {self.costs.layout.most_gathered_channels} channels"
        packing = packing_of(found.linalg_op, PackedAxes())
        return packing if isinstance(packing, str) else found

    def run(self, block: Block, decisions: Decisions | None) -> None:
        made: Made = {}
        for op in generics_of(block):
            found = self.decide(op, decisions)
            if found is not None:
                lead = AffineForm.of({found.group: lanes_in(found.size), found.channel: 1})
                found.read(made, _filled, [lead])


def _filled(b: Builder, value: SSAValue, size: int) -> Tensor:
    """A value whose groups of so many channels are filled up to whole blocks."""
    groups = range(0, shape_of(value)[0], size)
    channels = [
        first + min(channel, size - 1) for first in groups for channel in range(lanes_in(size))
    ]
    return gather_inside(b, value, channels)


def _has_ragged_parts(concat_op: _Concat, axes: PackedAxes) -> bool:
    """Whether channels are joined of which some parts, or groups, end amid a block."""
    if isinstance(concat_op, tensor.ConcatOp):
        sources = (value.owner for value in concat_op.inputs)
        within = any(isinstance(source, Operation) and has_gaps(source, axes) for source in sources)
        return (joins_ragged(concat_op) or within) and joins_channels(concat_op, axes)
    is_computed = isinstance(concat_op.src.owner, GenericOp)
    last = groups_of(concat_op)[0][-1]
    return is_computed and has_gaps(concat_op, axes) and axes.of(concat_op.src) == last


def _align_concat(concat_op: _Concat) -> None:
    """Let the readers of a concat read a gather of all of its channels."""
    value = concat_op.result
    uses = [use for use in value.uses if not isinstance(use.operation, tensor.ExtractOp)]
    b = Builder(Block(), "layout")
    gathered = gather(b, value, range(shape_of(value)[0]))
    move_after(b, value)
    for use in uses:
        use.operation.operands[use.index] = gathered.value
