"""What blocked channels mean for one operation of the structured level.

A value packed along an axis is `tensor<.., ceil(n/16), .., 16>`: the block comes last. Packing a
computation is one loop split: loop d becomes (d, d'), an index that is d alone becomes d and d' is
appended; in an operand that stays plain d becomes d*16 + d'. This file says which loops of an
operation would be split and how each operand would be read; `layout` decides, `pack` rewrites.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.tensors import groups_of, is_constant, pad_sides
from ncc.compiler.linalg.view import Access, Role, View, shape_of
from ncc.dialects.element import BLOB_ELEMENTS

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


_axes: ContextVar[dict[SSAValue, int | None] | None] = ContextVar("axes", default=None)


@contextmanager
def unchanged() -> Iterator[None]:
    """While a block rewrites nothing: the axis of a value is found once, whoever asks for it."""
    token = _axes.set({})
    try:
        yield
    finally:
        _axes.reset(token)


def packed_axis(value: SSAValue) -> int | None:
    """The axis along which a value can be packed; None where blocks make no sense."""
    known = _axes.get()
    if known is None:
        return _packed_axis(value)
    if value not in known:
        known[value] = _packed_axis(value)
    return known[value]


def _packed_axis(value: SSAValue) -> int | None:
    kind = value.type
    if not isinstance(kind, TensorType) or kind.element_type not in BLOB_ELEMENTS.values():
        return None
    owner = value.owner
    if isinstance(owner, GenericOp) and (axis := _lane_axis(View(owner))) is not None:
        return axis
    if isinstance(owner, tensor.ExpandShapeOp) and len(shape_of(owner.src)) >= 3:
        axis = packed_axis(owner.src)
        return None if axis is None else groups_of(owner)[axis][-1]
    return default_axis(len(kind.get_shape()))


def default_axis(rank: int) -> int | None:
    """Channels are the outermost axis; blocks of a matrix's columns are how it lies anyway."""
    return None if rank == 0 else 1 if rank == 2 else 0


def _lane_axis(view: View) -> int | None:
    """The output channels of a contraction, else the axis that channels usually are.

    Other axes of a result may lie at strided places, as those of a transposed convolution do.
    """
    axis = _channel_axis(view)
    return None if axis is None or view.write.index[axis].bare is None else axis


def _channel_axis(view: View) -> int | None:
    rank = len(view.write.index)
    if not view.reduced or view.product() is None:
        user = _accumulation(view)
        if user is not None:
            return _lane_axis(user)
        followed = follows(view) if rank > 3 else None
        return default_axis(rank) if followed is None else packed_axis(followed)
    roles = view.roles()
    outs = [k for k, f in enumerate(view.write.index) if roles.get(_bare(f.bare)) is Role.OUT]
    if outs:
        return outs[0] if rank != 2 or outs[0] == 1 else None
    return default_axis(rank)


def follows(view: View) -> SSAValue | None:
    """The result that a pointwise computation could be stored with: it alone reads it, in place."""
    if not view.is_pointwise:
        return None
    for position in view.live:
        access = view.reads[position]
        made = isinstance(access.value.owner, GenericOp) and not is_constant(access.value)
        if made and access.index == view.write.index and access.value.has_one_use():
            return access.value
    return None


def _accumulation(view: View) -> View | None:
    """The contraction that starts from what this pointwise computation makes."""
    uses = list(view.op.results[0].uses)
    if not view.is_pointwise or len(uses) != 1 or not isinstance(uses[0].operation, GenericOp):
        return None
    user = uses[0].operation
    return View(user) if user.outputs[0] is view.op.results[0] else None


def _bare(loop: int | None) -> int:
    return -1 if loop is None else loop


def packing_of(view: View) -> Packing | None:
    """How the computation would be packed, or None where it cannot be."""
    axis = _lane_axis(view)
    if axis is None:
        return None
    lane = _bare(view.write.index[axis].bare)
    extent = view.extents[lane]
    whole = extent % BLOCK == 0
    if view.indexed and not (whole or _indexes_only_reads(view, lane)):
        return None
    product = view.product()
    weights = view.reads[product[1]] if product and view.reduced else None
    if weights is not None and not weights.uses(lane) and not whole:
        return None
    if view.channels is not None:
        # What has its columns in blocks, as a stack of products, has no lanes of channels.
        if any(packed_axis(value) != axis for value in view.captured):
            return None
        return Packing(axis, lane, frozenset(), dict.fromkeys(view.captured, Read.PACKED))
    reads: dict[SSAValue, Read] = {}
    sums: set[int] = set()
    for position in view.live:
        access = view.reads[position]
        if is_constant(access.value):
            if not _splits(access, lane):
                return None
            continue
        how = _read(view, access, lane)
        if how is None:
            return None
        if how is not Read.PLAIN and not access.uses(lane):
            inner = access.index[0].loops() & set(view.reduced)
            if _ragged_beside(view, position, inner):
                how = Read.PLAIN
            else:
                sums |= inner
        reads[access.value] = _stricter(reads.get(access.value), how)
    for value in view.captured:
        kept = _captured_reads(view, value, lane)
        reads[value] = Read.PACKED if kept else Read.PLAIN
        if not kept and (not whole or lane in view.indexed):
            return None
    return Packing(axis, lane, frozenset(sums), reads)


def _ragged_beside(view: View, position: int, inner: set[int]) -> bool:
    """Whether another data operand would be read past its end where these loops are rounded up.

    Weights are rounded up as well; weights that are data are not.
    """
    if not any(view.extents[d] % BLOCK for d in inner):
        return False
    others = (view.reads[k] for k in view.live if k != position)
    return any(not is_constant(a.value) and any(map(a.uses, inner)) for a in others)


def _stricter(a: Read | None, b: Read) -> Read:
    """One value read twice: plain wins, then packed."""
    found = {a, b} - {None}
    return Read.PLAIN if Read.PLAIN in found else Read.PACKED if Read.PACKED in found else b


def _splits(access: Access, lane: int) -> bool:
    """Whether the loop indexes at most one axis of a weight, alone."""
    return all(form.bare == lane or not form.coefficient(lane) for form in access.index)


def _read(view: View, access: Access, lane: int) -> Read | None:
    """How a data operand can be read; None where the computation cannot be packed then."""
    rank = len(access.index)
    uses = [k for k, form in enumerate(access.index) if form.coefficient(lane)]
    if uses:
        axis = packed_axis(access.value)
        alone = axis is not None and uses == [axis] and access.index[axis].bare == lane
        return Read.PACKED if alone else None
    if rank < 3 or packed_axis(access.value) != 0:
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


def _captured_reads(view: View, value: SSAValue, lane: int) -> bool:
    """Whether every read of a captured tensor has the lane, and only it, as outermost index."""
    for op in view.body.ops:
        if isinstance(op, ExtractOp) and op.tensor is value:
            first = op.indices[0].owner
            if not (isinstance(first, IndexOp) and first.dim.value.data == lane):
                return False
            others = [at.owner for at in op.indices[1:]]
            if any(isinstance(o, IndexOp) and o.dim.value.data == lane for o in others):
                return False
    return packed_axis(value) == 0


def has_gaps(op: Operation) -> bool:
    """Whether op joins values whose blocks, one part behind the other, are no blocks of the joint.

    Selections of channels know where each part begins.
    """
    match op:
        case tensor.ConcatOp() if not op.dim.value.data:
            if joins_ragged(op):
                return True
            sources = (value.owner for value in op.inputs)
            return is_selected(op.result) and any(
                isinstance(source, Operation) and has_gaps(source) for source in sources
            )
        case tensor.CollapseShapeOp():
            group = groups_of(op)[0]
            return len(group) > 1 and shape_of(op.src)[group[-1]] % BLOCK != 0
    return False


def joins_ragged(op: tensor.ConcatOp) -> bool:
    """Whether parts of a joint of channels end amid a block."""
    return any(shape_of(value)[0] % BLOCK for value in op.inputs[:-1]) and not op.dim.value.data


def is_selected(value: SSAValue) -> bool:
    """Whether only selections of channels read a value, or a joint of which that is so."""
    readers = [use.operation for use in value.uses]
    joints = [op for op in readers if isinstance(op, tensor.ConcatOp)]
    # Joints are asked last: behind one there may be another, and so on through the network.
    return all(_selects(op) for op in readers if not isinstance(op, tensor.ConcatOp)) and all(
        joins_channels(joint) and is_selected(joint.result) for joint in joints
    )


def _selects(reader: Operation) -> bool:
    """Whether an operation in the body of a computation belongs to a selection of channels."""
    op = reader.parent_op()
    return isinstance(op, GenericOp) and View(op).channels is not None


def joins_channels(op: tensor.ConcatOp) -> bool:
    """Whether op joins values along the axis that is packed."""
    return not op.dim.value.data and all(packed_axis(value) == 0 for value in op.inputs)


def takes_all(view: View) -> bool:
    """Whether it is a selection of all channels, in order: nothing moves but in blocks."""
    channels = view.channels
    return channels is not None and channels == tuple(range(shape_of(view.captured[0])[0]))


def view_can_pack(op: Operation) -> bool:
    """Whether a view of packed values is a view of memory too.

    More channels are one but for the block that they begin in, whose other lanes are written anew.
    """
    if isinstance(op, tensor.PadOp | tensor.ConcatOp | tensor.ExtractSliceOp):
        if any(packed_axis(value) != 0 for value in op.operands):
            return False
    match op:
        case tensor.PadOp():
            low, _ = pad_sides(op)
            return not low[0] and len(low) >= 3
        case tensor.ConcatOp():
            rank = len(shape_of(op.result))
            return rank >= 3 and (not has_gaps(op) or is_selected(op.result))
        case tensor.ExtractSliceOp():
            begin, size = int(op.static_offsets.get_values()[0]), shape_of(op.result)[0]
            ends = begin + size == shape_of(op.source)[0]
            rank = len(shape_of(op.result))
            return rank >= 3 and begin % BLOCK == 0 and (ends or size % BLOCK == 0)
        case tensor.CollapseShapeOp():
            groups, shape = groups_of(op), shape_of(op.src)
            if len(groups) < 3:
                return False
            axis = packed_axis(op.src)
            return axis == groups[0][-1] and (not has_gaps(op) or is_selected(op.result))
        case tensor.ExpandShapeOp():
            axis = packed_axis(op.src)
            if axis is None or len(shape_of(op.src)) < 3:
                return False
            group, shape = groups_of(op)[axis], shape_of(op.result)
            return len(group) == 1 or shape[group[-1]] % BLOCK == 0
    return False
