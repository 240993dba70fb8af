"""What blocked channels mean for one operation of the structured level.

A value packed along an axis is `tensor<.., ceil(n/16), .., 16>`: the block comes last. Packing a
computation is one loop split: loop d becomes (d, d'), an index that is d alone becomes d and d' is
appended; in an operand that stays plain d becomes d*16 + d'. This file says which loops of an
operation would be split and how each operand would be read; `layout` decides, `pack` rewrites.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.channels.packed_axes import PackedAxes
from ncc.compiler.linalg.tensors import groups_of, is_constant, pad_sides
from ncc.compiler.linalg.view import Access, View, shape_of

BLOCK = 16
"""Elements of a block on every target: narrower vectors make several passes over it."""


def blocks_of(channels: int) -> int:
    """How many blocks hold so many channels."""
    return -(-channels // BLOCK)


def lanes_in(channels: int) -> int:
    """How many lanes these blocks have."""
    return blocks_of(channels) * BLOCK


class Read(Enum):
    """How a packed computation reads an operand."""

    PACKED = auto()
    PLAIN = auto()
    EITHER = auto()  # packed if it is at hand, at no other cost


@dataclass(frozen=True)
class Packing:
    """How a packed computation looks.

    axis    the axis of the result that is packed
    lane    the loop that is split for it
    sums    reduced loops that are split where an operand is read packed
    reads   how each data operand is read; weights follow the split loops
    """

    axis: int
    lane: int
    sums: frozenset[int]
    reads: dict[SSAValue, Read]


def packing_of(view: View, axes: PackedAxes) -> Packing | None:
    """How the computation would be packed, or None where it cannot be."""
    axis = axes.of_result(view)
    lane = None if axis is None else view.write.index[axis].bare
    if axis is None or lane is None or not _can_split(view, lane):
        return None
    if view.channels is not None:
        # What has its columns in blocks, as a stack of products, has no lanes of channels.
        if any(axes.of(value) != axis for value in view.captured):
            return None
        return Packing(axis, lane, frozenset(), dict.fromkeys(view.captured, Read.PACKED))
    reads: dict[SSAValue, Read] = {}
    in_blocks: set[SSAValue] = set()
    sums: set[int] = set()
    for position in view.live:
        access = view.reads[position]
        if is_constant(access.value):
            if not _splits(access, lane):
                return None
            continue
        how = _read(view, access, lane, axes)
        if how is None:
            return None
        if how is not Read.PLAIN and not access.uses(lane):
            inner = access.index[0].loops() & set(view.reduced)
            if not _split_beside(view, position, inner):
                how = Read.PLAIN
            else:
                sums |= inner
        reads[access.value] = _stricter(reads.get(access.value), how)
        if how is Read.PACKED:
            in_blocks.add(access.value)
    for value in view.captured:
        how = _captured_read(view, value, lane, axes)
        if how is None:
            return None
        reads[value] = _stricter(reads.get(value), how)
        if how is Read.PACKED:
            in_blocks.add(value)
    if view.extents[lane] % BLOCK and any(reads[value] is Read.PLAIN for value in in_blocks):
        return None  # read in both ways, it would be read past its end
    return Packing(axis, lane, frozenset(sums), reads)


def _can_split(view: View, lane: int) -> bool:
    """Whether a loop may be split into blocks and lanes: where its extent is no whole number of
    blocks, the lanes past it must be harmless.
    """
    if view.extents[lane] % BLOCK == 0:
        return True
    if view.indexed and not _indexes_only_reads(view, lane):
        return False
    weights = view.reads[view.product[1]] if view.product and view.reduced else None
    return weights is None or weights.uses(lane)


def _split_beside(view: View, position: int, inner: set[int]) -> bool:
    """Whether the other operands can be read where these loops are split.

    Weights are put in blocks and rounded up as well. Weights that are data are not: where loops are
    rounded up, they would be read past their end.
    """
    whole = all(view.extents[d] % BLOCK == 0 for d in inner)

    def can_split(other: Access) -> bool:
        if is_constant(other.value):
            return all(_splits(other, d) for d in inner)
        return whole or not any(map(other.uses, inner))

    return all(can_split(view.reads[k]) for k in view.live if k != position)


def _stricter(before: Read | None, how: Read) -> Read:
    """How a value is read that is read in two ways: plain if one of them is, then packed."""
    for strict in (Read.PLAIN, Read.PACKED):
        if strict in (before, how):
            return strict
    return how


def _splits(access: Access, loop: int) -> bool:
    """Whether the loop indexes at most one axis of a weight, alone."""
    moved = [form.bare for form in access.index if form.coefficient(loop)]
    return moved in ([], [loop])


def _read(view: View, access: Access, lane: int, axes: PackedAxes) -> Read | None:
    """How a data operand can be read; None where the computation cannot be packed then."""
    rank = len(access.index)
    uses = [k for k, form in enumerate(access.index) if form.coefficient(lane)]
    if uses:
        axis = axes.of(access.value)
        if axis is None or len(uses) > 1 or access.index[uses[0]].bare != lane:
            return None
        if uses[0] == axis:
            return Read.PACKED
        # What is turned has its channels side by side: a block of them is a vector.
        turned = view.is_pointwise and uses[0] == rank - 1 and view.extents[lane] % BLOCK == 0
        return Read.PLAIN if turned else None
    if rank < 3 or axes.of(access.value) != 0:
        return Read.PLAIN
    form = access.index[0]
    inner = [d for d in form.loops() if d in view.reduced]
    if len(inner) != 1 or form.coefficient(inner[0]) != 1 or form.constant:
        return Read.PLAIN
    if any(f.coefficient(inner[0]) for f in access.index[1:]):
        return Read.PLAIN
    if form.bare is None and any(c % BLOCK for d, c in form.terms if d != inner[0]):
        return Read.PLAIN
    if shape_of(access.value)[0] < BLOCK:
        return Read.PLAIN
    return Read.EITHER


def _indexes_only_reads(view: View, lane: int) -> bool:
    """Whether the lane's value is used only to read computed coordinates of packed tensors."""
    return all(
        op.dim.value.data != lane or all(isinstance(u.operation, ExtractOp) for u in op.result.uses)
        for op in view.body.ops
        if isinstance(op, IndexOp)
    )


def _captured_read(view: View, value: SSAValue, lane: int, axes: PackedAxes) -> Read | None:
    """How a captured tensor can be read; None where the computation cannot be packed then."""
    if axes.of(value) == 0 and _is_read_by_channel(view, value, lane):
        return Read.PACKED
    whole = view.extents[lane] % BLOCK == 0
    return Read.PLAIN if whole and lane not in view.indexed else None


def _is_read_by_channel(view: View, value: SSAValue, lane: int) -> bool:
    """Whether every read of a captured tensor has the lane, and only it, as outermost index."""
    for op in view.body.ops:
        if isinstance(op, ExtractOp) and op.tensor is value:
            first = op.indices[0].owner
            if not (isinstance(first, IndexOp) and first.dim.value.data == lane):
                return False
            others = [at.owner for at in op.indices[1:]]
            if any(isinstance(o, IndexOp) and o.dim.value.data == lane for o in others):
                return False
    return True


def has_gaps(op: Operation, axes: PackedAxes) -> bool:
    """Whether op joins values whose blocks, one part behind the other, are no blocks of the joint.

    Selections of channels know where each part begins.
    """
    match op:
        case tensor.ConcatOp() if not op.dim.value.data:
            if joins_ragged(op):
                return True
            sources = (value.owner for value in op.inputs)
            return is_selected(op.result, axes) and any(
                isinstance(source, Operation) and has_gaps(source, axes) for source in sources
            )
        case tensor.CollapseShapeOp():
            group = groups_of(op)[0]
            return len(group) > 1 and shape_of(op.src)[group[-1]] % BLOCK != 0
    return False


def joins_ragged(op: tensor.ConcatOp) -> bool:
    """Whether parts of a joint of channels end amid a block."""
    return any(shape_of(value)[0] % BLOCK for value in op.inputs[:-1]) and not op.dim.value.data


def is_selected(value: SSAValue, axes: PackedAxes) -> bool:
    """Whether only selections of channels read a value, or a joint of which that is so.

    What is found of joints behind it is kept, too: one may follow the other through the network.
    """
    parts: dict[SSAValue, SSAValue | None] = {value: None}  # of each joint, one that led there
    left = [value]
    while left:
        one = left.pop()
        if axes.selected.get(one):
            continue
        joints = _joined(one, axes) if one not in axes.selected else None
        if joints is None:
            part: SSAValue | None = one
            while part is not None:
                axes.selected[part] = False
                part = parts[part]
            return False
        new = [joint for joint in joints if joint not in parts]
        parts |= dict.fromkeys(new, one)
        left += new
    axes.selected |= dict.fromkeys(parts, True)
    return True


def _joined(value: SSAValue, axes: PackedAxes) -> list[SSAValue] | None:
    """The joints of channels that a value is a part of; None where it is read by others than these
    and selections.
    """
    readers = [use.operation for use in value.uses]
    joints = [op for op in readers if isinstance(op, tensor.ConcatOp)]
    others = (op for op in readers if not isinstance(op, tensor.ConcatOp))
    if not all(map(_selects, others)) or not all(joins_channels(op, axes) for op in joints):
        return None
    return [joint.result for joint in joints]


def _selects(reader: Operation) -> bool:
    """Whether an operation in the body of a computation belongs to a selection of channels."""
    op = reader.parent_op()
    return isinstance(op, GenericOp) and View(op).channels is not None


def joins_channels(op: tensor.ConcatOp, axes: PackedAxes) -> bool:
    """Whether op joins values along the axis that is packed."""
    return not op.dim.value.data and all(axes.of(value) == 0 for value in op.inputs)


def takes_all(view: View) -> bool:
    """Whether it is a selection of all channels, in order: nothing moves but in blocks."""
    channels = view.channels
    return channels is not None and channels == tuple(range(shape_of(view.captured[0])[0]))


def view_can_pack(op: Operation, axes: PackedAxes) -> bool:
    """Whether a view of packed values is a view of memory too.

    More channels are one but for the block that they begin in, whose other lanes are written anew.
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
            return rank >= 3 and (not has_gaps(op, axes) or is_selected(op.result, axes))
        case tensor.ExtractSliceOp():
            begin, size = int(op.static_offsets.get_values()[0]), shape_of(op.result)[0]
            ends = begin + size == shape_of(op.source)[0]
            rank = len(shape_of(op.result))
            return rank >= 3 and begin % BLOCK == 0 and (ends or size % BLOCK == 0)
        case tensor.CollapseShapeOp():
            groups = groups_of(op)
            whole = len(groups) >= 3 and axes.of(op.src) == groups[0][-1]
            return whole and (not has_gaps(op, axes) or is_selected(op.result, axes))
        case tensor.ExpandShapeOp():
            axis = axes.of(op.src)
            if axis is None or len(shape_of(op.src)) < 3:
                return False
            group, shape = groups_of(op)[axis], shape_of(op.result)
            return len(group) == 1 or shape[group[-1]] % BLOCK == 0
    return False
