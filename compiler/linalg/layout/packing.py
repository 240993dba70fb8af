"""How one operation of the linalg level would compute channels in blocks.

A value packed along an axis is `tensor<.., ceil(n/16), .., 16>`: the block comes last. Packing a
operation is one loop split: loop d becomes (d, d'), an index that is d alone becomes d and d' is
appended; in an operand that stays plain d becomes d*16 + d'. This file says which loops of an
operation would be split and how each operand would be read. `choose_layout.py` decides, and
`pack_channels.py` rewrites.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.dialects.operation import ops_of
from ncc.dialects.size import is_never_below


class PackedRead(Enum):
    """How a packed operation reads an operand: where in two ways, by the first of these."""

    PLAIN = auto()
    PACKED = auto()
    EITHER = auto()  # packed if it is at hand, at no other cost


_BOTH = {PackedRead.PLAIN, PackedRead.PACKED}


class Packing(NamedTuple):
    """How a packed operation looks.

    axis    the axis of the result that is packed
    lane    the loop that is split for it
    sums    reduced loops that are split where an operand is read packed
    reads   how each data operand is read; weights follow the split loops
    """

    axis: int
    lane: int
    sums: frozenset[int]
    reads: dict[SSAValue, PackedRead]


def packing_of(linalg_op: LinalgOp, axes: PackedAxes) -> Packing | str:
    """How the operation would be packed, or why it cannot be."""
    axis = axes.of_result(linalg_op)
    lane = None if axis is None else linalg_op.write.index[axis].bare
    if axis is None or lane is None:
        return "its channels are no loop of their own"
    if not _can_split(linalg_op, lane):
        return "its channels are no whole blocks, and lanes behind them would count"
    if linalg_op.channels is not None:
        # What has its columns in blocks, as a stack of products, has no lanes of channels.
        if any(axes.of(value) != axis for value in linalg_op.captured):
            return "its source has no channels in blocks"
        return Packing(
            axis, lane, frozenset(), dict.fromkeys(linalg_op.captured, PackedRead.PACKED)
        )
    constants, data = _operands(linalg_op)
    if not all(_splits(access, lane) for access in constants):
        return "its weights are not read channel by channel"
    sums: set[int] = set()
    ways: dict[SSAValue, set[PackedRead | None]] = {}
    for access in data:
        if access.uses(lane):
            how = _read_along(linalg_op, access, lane, axes)
        else:
            loop = _summed_in_blocks(linalg_op, access, axes)
            how = PackedRead.PLAIN if loop is None else PackedRead.EITHER
            sums |= set() if loop is None else {loop}
        ways.setdefault(access.value, set()).add(how)
    for value in linalg_op.captured:
        ways.setdefault(value, set()).add(_captured_read(linalg_op, value, lane, axes))
    if any(None in found for found in ways.values()):
        return "it does not read channel by channel"
    if linalg_op.extents[lane] % BLOCK and any(found >= _BOTH for found in ways.values()):
        return "it would read plain values past their end"
    reads = {
        value: next(how for how in PackedRead if how in found) for value, found in ways.items()
    }
    return Packing(axis, lane, frozenset(sums), reads)


def _operands(linalg_op: LinalgOp) -> tuple[list[TensorAccess], list[TensorAccess]]:
    """The constants that an operation reads, and its data."""
    reads = [linalg_op.reads[position] for position in linalg_op.live]
    constants = [access for access in reads if is_constant(access.value)]
    return constants, [access for access in reads if not is_constant(access.value)]


def _can_split(linalg_op: LinalgOp, lane: int) -> bool:
    """Whether a loop may be split into blocks and lanes: where its extent is no whole number of
    blocks, the lanes past it must be harmless.
    """
    if linalg_op.extents[lane] % BLOCK == 0:
        return True
    if linalg_op.indexed and not _indexes_only_reads(linalg_op, lane):
        return False
    dims = ContractionDims.of(linalg_op)
    return dims is None or not dims.k or dims.rhs.uses(lane)


def _splits(access: TensorAccess, loop: int) -> bool:
    """Whether the loop indexes at most one axis of a weight, alone."""
    moved = [form.bare for form in access.index if form.coefficient(loop)]
    return moved in ([], [loop])


def _read_along(
    linalg_op: LinalgOp, access: TensorAccess, lane: int, axes: PackedAxes
) -> PackedRead | None:
    """How data that the lane moves can be read; None where nothing can be packed then."""
    uses = [k for k, form in enumerate(access.index) if form.coefficient(lane)]
    axis = axes.of(access.value)
    if axis is None or len(uses) > 1 or access.index[uses[0]].bare != lane:
        return None
    if uses[0] == axis:
        return PackedRead.PACKED
    # A transpose reads channels side by side: a block of them is a vector.
    last = len(access.index) - 1
    transposes = linalg_op.is_pointwise and uses[0] == last and linalg_op.extents[lane] % BLOCK == 0
    return PackedRead.PLAIN if transposes else None


def _summed_in_blocks(linalg_op: LinalgOp, access: TensorAccess, axes: PackedAxes) -> int | None:
    """The loop that sums the channels of data, if these can be read in blocks: it walks them alone,
    or from whole blocks on, as those of a group.
    """
    if len(access.index) < 3 or axes.of(access.value) != 0:
        return None
    if not is_never_below(shape_of(access.value)[0], BLOCK):
        return None
    form, *others = access.index
    summed = [loop for loop in form.loops() if loop in linalg_op.reduced]
    if len(summed) != 1 or form.coefficient(summed[0]) != 1 or form.constant:
        return None
    [loop] = summed
    if any(other.coefficient(loop) for other in others):
        return None
    if any(step % BLOCK for outer, step in form.terms if outer != loop):
        return None
    return loop if _splits_beside(linalg_op, access, loop) else None


def _splits_beside(linalg_op: LinalgOp, access: TensorAccess, loop: int) -> bool:
    """Whether the other operands can be read where a loop is split.

    Weights are put in blocks and rounded up as well. Weights that are data are not: where the loop
    is rounded up, they would be read past their end.
    """
    constants, data = _operands(linalg_op)
    whole = linalg_op.extents[loop] % BLOCK == 0
    return all(_splits(other, loop) for other in constants) and (
        whole or not any(other.uses(loop) for other in data if other is not access)
    )


def _indexes_only_reads(linalg_op: LinalgOp, lane: int) -> bool:
    """Whether the lane's value is used only to read computed coordinates of packed tensors."""
    return all(
        op.dim.value.data != lane or all(isinstance(u.operation, ExtractOp) for u in op.result.uses)
        for op in ops_of(linalg_op.body)
        if isinstance(op, IndexOp)
    )


def _captured_read(
    linalg_op: LinalgOp, value: SSAValue, lane: int, axes: PackedAxes
) -> PackedRead | None:
    """How a captured tensor can be read; None where the operation cannot be packed then."""
    if axes.of(value) == 0 and _is_read_by_channel(linalg_op, value, lane):
        return PackedRead.PACKED
    whole = linalg_op.extents[lane] % BLOCK == 0
    return PackedRead.PLAIN if whole and lane not in linalg_op.indexed else None


def _is_read_by_channel(linalg_op: LinalgOp, value: SSAValue, lane: int) -> bool:
    """Whether every read of a captured tensor has the lane, and only it, as outermost index."""
    for op in ops_of(linalg_op.body):
        if isinstance(op, ExtractOp) and op.tensor is value:
            first = op.indices[0].owner
            if not (isinstance(first, IndexOp) and first.dim.value.data == lane):
                return False
            others = [at.owner for at in op.indices[1:]]
            if any(isinstance(o, IndexOp) and o.dim.value.data == lane for o in others):
                return False
    return True


def takes_all(linalg_op: LinalgOp) -> bool:
    """Whether it is a gather of all channels, in order: nothing moves but in blocks."""
    channels = linalg_op.channels
    return channels is not None and channels == tuple(range(shape_of(linalg_op.captured[0])[0]))
