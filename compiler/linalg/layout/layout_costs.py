"""The cost of an operation in blocks of channels, and plain: in bytes moved in the same time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.block_size import BLOCK, blocks_of, lanes_in
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.layout.packed_axes import follows
from ncc.compiler.linalg.layout.packing import PackedRead, Packing, takes_all
from ncc.dialects.operation import ops_of
from ncc.dialects.size import by_hint


@by_hint()
def costs_of(linalg_op: LinalgOp, packing: Packing, model: CostModel) -> tuple[float, float]:
    """Cost of a packed and of a plain operation beyond what both have, in bytes."""
    extent = linalg_op.extents[packing.lane]
    waste = lanes_in(extent) / extent - 1
    if linalg_op.channels is not None:
        moved = one_pass(linalg_op.op.results[0])
        return moved * (1 + waste), 0.0 if takes_all(linalg_op) else 2 * moved
    reads = [op for op in ops_of(linalg_op.body) if isinstance(op, ExtractOp)]
    if reads and any(packing.reads.get(op.tensor) is PackedRead.PACKED for op in reads):
        count = prod(linalg_op.extents) * len(reads)
        block = model.layout.bytes_per_lone_read / BLOCK
        return count * block * (1 + waste), count * _plain_read(linalg_op, reads, model)
    if follows(linalg_op) is not None:
        return 0.0, 0.0
    if not linalg_op.reduced:
        return one_pass(linalg_op.op.results[0]) / 2 * waste, 0.0
    work = prod(linalg_op.extents) * model.layout.bytes_per_multiply_add
    return work * waste, work * _plain_sum(linalg_op, model)


def _plain_sum(linalg_op: LinalgOp, model: CostModel) -> float:
    """Additional multiply-adds for each one of a sum, on plain values instead of blocks."""
    dims, last = ContractionDims.of(linalg_op), linalg_op.write.index[-1].bare
    if dims is not None and not dims.m:
        return model.layout.products_by_a_vector
    if last is not None and dims is not None and _lies_along(dims.rhs, last):
        return _along_a_row(linalg_op.extents[last])
    data = linalg_op.reads[linalg_op.live[0]]
    contiguous = last is not None and data.index[-1].coefficient(last) == 1
    if dims is not None and dims.n:
        return _along_points(linalg_op, data) if contiguous else model.layout.products_across_rows
    if last is not None and contiguous:
        return _along_a_row(linalg_op.extents[last])
    row = _summed_row(linalg_op)
    return _along_a_summed_row(row, model) if row >= BLOCK else model.layout.products_apart


def _plain_read(linalg_op: LinalgOp, reads: Sequence[ExtractOp], model: CostModel) -> float:
    """Bytes that can be moved in the time of one of these reads of plain values."""
    along = linalg_op.write.index[-1].bare
    if along is not None and all(_reads_row(linalg_op, read, along) for read in reads):
        extent = linalg_op.extents[along]
        return model.layout.bytes_per_lone_read / BLOCK * (1 + _along_a_row(extent))
    gathered = _gathers(linalg_op, reads)
    return model.layout.bytes_per_gathered_read if gathered else model.layout.bytes_per_lone_read


def _reads_row(linalg_op: LinalgOp, read: ExtractOp, along: int) -> bool:
    """Whether iterations of a loop, whose number has no other use, read elements side by side."""
    numbers = [
        op
        for op in ops_of(linalg_op.body)
        if isinstance(op, IndexOp) and op.dim.value.data == along
    ]
    last = read.indices[-1].owner
    return last in numbers and all(
        isinstance(use.operation, ExtractOp) and use.index == len(use.operation.operands) - 1
        for number in numbers
        for use in number.result.uses
    )


def _gathers(linalg_op: LinalgOp, reads: Sequence[ExtractOp]) -> bool:
    """Whether vectors along the rows of a plain result read at computed indices."""
    along = linalg_op.write.index[-1].bare
    if along is None or along in linalg_op.indexed or linalg_op.reduced:
        return False
    return all(isinstance(op.indices[0].owner, IndexOp) for op in reads)


def _lies_along(factor: TensorAccess, last: int) -> bool:
    """Whether a factor is computed, and its rows lie along those of the result."""
    return not is_constant(factor.value) and factor.index[-1].bare == last


def _along_a_row(extent: int) -> float:
    """Additional multiply-adds for each one of a window along a plain row, instead of in blocks.

    The rest of a row behind whole vectors takes a vector of half the length, one of a quarter, and
    so on.
    """
    vectors = extent // BLOCK + (extent % BLOCK).bit_count()
    return 2.5 * vectors * BLOCK / extent - 2.0


def _along_points(linalg_op: LinalgOp, data: TensorAccess) -> float:
    """The same for a sum over channels; the last vector of a row overlaps the one before."""
    row = _elements_in_a_row(linalg_op, data)
    vector = min(BLOCK, 1 << row.bit_length() - 1)
    return 1.5 * -(-row // vector) * BLOCK / row - 1.0


def _elements_in_a_row(linalg_op: LinalgOp, data: TensorAccess) -> int:
    """Elements side by side in the result and in the data: those of a row, or of several rows that
    follow one another.
    """
    loops, shape = [form.bare for form in reversed(linalg_op.write.index)], shape_of(data.value)
    points, whole = 1, True
    for loop, read, extent in zip(loops, reversed(data.index), reversed(shape), strict=False):
        if loop is None or not whole or points > 1 and read.bare != loop:
            break
        points *= linalg_op.extents[loop]
        whole = read.bare == loop and linalg_op.extents[loop] == extent
    return points


def _summed_row(linalg_op: LinalgOp) -> int:
    """Elements side by side in each operand that are in one sum, as an image in its mean."""
    reads = (linalg_op.reads[position] for position in linalg_op.live)
    summed = [access for access in reads if any(map(access.uses, linalg_op.reduced))]
    return min((_row_of(linalg_op, access) for access in summed), default=1)


def _row_of(linalg_op: LinalgOp, access: TensorAccess) -> int:
    """Elements side by side in an operand that its innermost loops, all reduced ones, walk."""
    row = 1
    for form, extent in zip(reversed(access.index), reversed(shape_of(access.value)), strict=True):
        if form.bare not in linalg_op.reduced or linalg_op.extents[form.bare] != extent:
            break
        row *= extent
    return row


def _along_a_summed_row(extent: int, model: CostModel) -> float:
    """The same for a sum along a plain row, which adds lanes at the end."""
    return (blocks_of(extent) + model.layout.products_of_lanes) * BLOCK / extent - 1.0


def one_pass(value: SSAValue) -> float:
    """Bytes of writing a value and of reading it."""
    return 8.0 * prod(shape_of(value))
