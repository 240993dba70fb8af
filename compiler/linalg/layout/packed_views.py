"""Tells which views of values in blocks are views of memory, too.

A concat of ragged parts has gaps: every part begins with a block of its own. Only gathers of
channels may read it so, because they know where each part begins.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.dialects.structured import offsets_of, pad_sides


def has_gaps(op: Operation, axes: PackedAxes) -> bool:
    """Whether op joins parts that end amid a block: its blocks are not those of its parts."""
    match op:
        case tensor.ConcatOp() if not op.dim.value.data:
            if joins_ragged(op):
                return True
            sources = (value.owner for value in op.inputs)
            return is_gathered(op.result, axes) and any(
                isinstance(source, Operation) and has_gaps(source, axes) for source in sources
            )
        case tensor.CollapseShapeOp():
            group = groups_of(op)[0]
            return len(group) > 1 and shape_of(op.src)[group[-1]] % BLOCK != 0
    return False


def joins_ragged(op: tensor.ConcatOp) -> bool:
    """Whether parts of a concat of channels end amid a block."""
    return any(shape_of(value)[0] % BLOCK for value in op.inputs[:-1]) and not op.dim.value.data


def is_gathered(value: SSAValue, axes: PackedAxes) -> bool:
    """Whether only gathers of channels read a value, or concats for which that is so.

    `axes` keeps the answer for all these concats: one may follow the other through the network.
    """
    parts: dict[SSAValue, SSAValue | None] = {value: None}  # of each concat, one that led there
    left = [value]
    while left:
        one = left.pop()
        if axes.gathered.get(one):
            continue
        concats = _joined(one, axes) if one not in axes.gathered else None
        if concats is None:
            part: SSAValue | None = one
            while part is not None:
                axes.gathered[part] = False
                part = parts[part]
            return False
        new = [concat_op for concat_op in concats if concat_op not in parts]
        parts |= dict.fromkeys(new, one)
        left += new
    axes.gathered |= dict.fromkeys(parts, True)
    return True


def _joined(value: SSAValue, axes: PackedAxes) -> list[SSAValue] | None:
    """The concats of channels that a value is a part of; None if it has other readers than these
    and gathers.
    """
    readers = [use.operation for use in value.uses]
    concats = [op for op in readers if isinstance(op, tensor.ConcatOp)]
    others = (op for op in readers if not isinstance(op, tensor.ConcatOp))
    if not all(map(_is_in_gather, others)) or not all(joins_channels(op, axes) for op in concats):
        return None
    return [concat_op.result for concat_op in concats]


def _is_in_gather(reader: Operation) -> bool:
    """Whether an operation in a body belongs to a gather of channels."""
    op = reader.parent_op()
    return isinstance(op, GenericOp) and LinalgOp(op).channels is not None


def joins_channels(op: tensor.ConcatOp, axes: PackedAxes) -> bool:
    """Whether op joins values along the axis that is packed."""
    return not op.dim.value.data and all(axes.of(value) == 0 for value in op.inputs)


def view_can_pack(op: Operation, axes: PackedAxes) -> bool:
    """Whether a view of packed values is a view of memory too.

    A pad with more channels is one, except for the block where they begin: its other lanes are
    written anew.
    """
    if isinstance(op, tensor.PadOp | tensor.ConcatOp | tensor.ExtractSliceOp):
        if any(axes.of(value) != 0 for value in op.operands):
            return False
    match op:
        case tensor.PadOp():
            low, _ = pad_sides(op)
            return not low[0] and len(low) >= 3
        case tensor.ConcatOp():
            rank = len(shape_of(op.result))
            return rank >= 3 and (not has_gaps(op, axes) or is_gathered(op.result, axes))
        case tensor.ExtractSliceOp():
            begin, size = offsets_of(op)[0], shape_of(op.result)[0]
            ends = begin + size == shape_of(op.source)[0]
            rank = len(shape_of(op.result))
            return rank >= 3 and begin % BLOCK == 0 and (ends or size % BLOCK == 0)
        case tensor.CollapseShapeOp():
            groups = groups_of(op)
            whole = len(groups) >= 3 and axes.of(op.src) == groups[0][-1]
            return whole and (not has_gaps(op, axes) or is_gathered(op.result, axes))
        case tensor.ExpandShapeOp():
            axis = axes.of(op.src)
            if axis is None or len(shape_of(op.src)) < 3:
                return False
            group, shape = groups_of(op)[axis], shape_of(op.result)
            return len(group) == 1 or shape[group[-1]] % BLOCK == 0
    return False
