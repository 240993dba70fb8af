"""Fuses pointwise operations with the epilogue of a sum that reads them.

    t[c, p, q] = select(m[c] > 0, x[c, p, q], 0)
    z[c, p, q] = y[c, p, q] + t[c, p, q]      ->      z = y[..] + select(m[c] > 0, x[..], 0)

The kernel of the sum y stores z. Without the pass, t would be a kernel with memory of its own. The
pass takes t only if it reads its operands at the index that it writes, or reads constants: other
elements lie apart.

Needs: the linalg level before groups.  Breaks: nothing; results are equal bit by bit.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import may_be_rebuilt
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.analysis.uses import producer_of, reader_of
from ncc.compiler.linalg.layout.packed_axes import follows
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.operation import copied
from ncc.dialects.structured import generic


class FuseProducers(LinalgPattern["_Fusing"]):
    """Compute pointwise operands of an epilogue where it reads them."""

    name = "fuse-producers"

    def match(self, op: GenericOp) -> _Fusing | str | None:
        if not may_be_rebuilt(op) or not _is_by_points(op):
            return None
        user = reader_of(op.results[0])
        if user is None or not may_be_rebuilt(user):
            return "no operation alone reads it"
        linalg_op = LinalgOp(user)
        if not linalg_op.is_pointwise or linalg_op.computes_coordinates:
            return "its reader is not pointwise"
        reads = [linalg_op.reads[k] for k in linalg_op.live]
        here = any(
            read.value is op.results[0] and read.index == linalg_op.write.index for read in reads
        )
        if not here:
            return "its reader reads it at another index than it writes"
        if not any(_is_stored(read, linalg_op) for read in reads):
            return "no kernel of a sum stores its reader"
        return _Fusing(op, user)

    def rewrite(self, found: _Fusing) -> None:
        _inline(LinalgOp(found.op), found.reader)


class _Fusing(NamedTuple):
    """A pointwise operation, and its reader, which another kernel stores."""

    op: GenericOp
    reader: GenericOp


def _is_stored(access: TensorAccess, linalg_op: LinalgOp) -> bool:
    """Whether a sum makes the value for this operation alone, which can be stored with it."""
    producer = producer_of(access.value)
    if producer is None:
        return False
    made = LinalgOp(producer)
    is_sum = bool(made.reduced) or follows(made) is not None
    return is_sum and access.index == linalg_op.write.index


def _is_by_points(op: GenericOp) -> bool:
    """Whether op is pointwise, reads at the index that it writes, and would be its own kernel."""
    linalg_op = LinalgOp(op)
    if (
        not linalg_op.is_pointwise
        or linalg_op.computes_coordinates
        or follows(linalg_op) is not None
    ):
        return False
    if linalg_op.write.axes is None:
        return False
    return all(
        read.index == linalg_op.write.index or is_constant(read.value) for read in linalg_op.reads
    )


def _inline(linalg_op: LinalgOp, reader: GenericOp) -> None:
    """Write the reader anew, with the operands of the fused operation in place of its result."""
    old = LinalgOp(reader)
    pairs = zip(linalg_op.write.index, old.write.index, strict=True)
    loop_of = {mine.bare: theirs.bare or 0 for mine, theirs in pairs}
    loops = [AffineDimExpr(loop_of[d]) for d in range(len(linalg_op.extents))]
    position = next(k for k, a in enumerate(old.reads) if a.value is linalg_op.op.results[0])
    maps = list(reader.indexing_maps.data)
    added = [
        AffineMapAttr(map.data.replace_dims_and_symbols(loops, [], len(old.extents), 0))
        for map in linalg_op.op.indexing_maps.data[: len(linalg_op.reads)]
    ]
    operands = [*reader.inputs[:position], *linalg_op.op.inputs, *reader.inputs[position + 1 :]]
    body = copied(reader.body)
    _merge(body.block, position, copied(linalg_op.op.body).block)
    read = ArrayAttr([*maps[:position], *added, *maps[position + 1 :]])
    outs = outs_of(reader)
    new = generic(operands, outs, read, reader.iterator_types, body, reader.doc)
    new.results[0].name_hint = reader.results[0].name_hint
    Rewriter.replace_op(reader, new)


def _merge(body: Block, position: int, inner: Block) -> None:
    """Put the operations of `inner` in front of those of a body, for one of its arguments."""
    first, last = body.first_op, inner.last_op
    if first is None or last is None:
        raise CompilerBug("a body without a yield")
    for k, argument in enumerate(inner.args[:-1]):
        argument.replace_all_uses_with(body.insert_arg(argument.type, position + 1 + k))
    for op in list(inner.ops):
        inner.detach_op(op)
        if op is not last:
            body.insert_op_before(op, first)
    body.args[position].replace_all_uses_with(last.operands[0])
    body.erase_arg(body.args[position])
    last.erase()
