"""Lets sums read lanes of blocks in place, instead of a gathered copy.

    s[j, p, q, n] = z[t[j, n], p, q, u[j, n]]
        ->  s[j, p, q, n] = f[a[j, n] + 16 * (extent * p + q)],   f = z as one row of elements
    y[o, p, q, o'] += s[j, p, q, n] * w[o, j, n, o']

An iteration of the sum multiplies one lane with many numbers, and finds it by one table, a. So s
needs neither a kernel nor memory: `FormFusionGroups` puts it into the kernel of the sum.

Needs: the linalg level in blocks, before groups.  Breaks: nothing; results are equal bit by
bit.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.attributes import may_read_elsewhere
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import builder_for, generic_of, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.size import is_open


class ReadInPlace(LinalgPattern[GenericOp], CostedPass):
    """Let sums read lanes of blocks in place, instead of a gathered copy."""

    name = "read-in-place"

    def match(self, op: GenericOp) -> GenericOp | str | None:
        linalg_op = LinalgOp(op)
        if linalg_op.lanes is None:
            return None
        return _why_stored(linalg_op, self.costs.reductions.most_blocks_in_place) or op

    def rewrite(self, found: GenericOp) -> None:
        linalg_op = LinalgOp(found)
        (source,) = linalg_op.captured
        lanes = np.array(linalg_op.lanes).reshape(-1, BLOCK)
        block, rows, columns, lane = shape_of(source)
        b = builder_for(found)
        flat = b.collapse(tensor_of(source), [[0, 1, 2, 3]])
        place = b.table(lanes // lane * prod((rows, columns, lane)) + lanes % lane)
        j, y, x, n = b.loops_of(shape_of(found.results[0]))
        at = place[j, n] + b.index(y) * (columns * lane) + b.index(x) * lane
        made = b.map((j, y, x, n), flat.at(at))
        generic_of(made).attributes.update(found.attributes)
        replace_op(found, b, made)


def _why_stored(linalg_op: LinalgOp, most_blocks: int) -> str | None:
    """Why a gather of lanes is stored; None where a sum alone reads it, one lane at a time."""
    result = linalg_op.op.results[0]
    user = reader_of(result)
    if user is None or not may_read_elsewhere(user):
        return "no sum alone reads the gathered lanes"
    reader = LinalgOp(user)
    dims = ContractionDims.of(reader)
    if dims is None or dims.lhs.value is not result:
        return "no sum alone reads the gathered lanes"
    if dims.lhs.index[-1].bare not in reader.reduced:
        return "the sum reads vectors of gathered lanes"
    shape = shape_of(user.results[0])
    if len(reader.write.index) != 4 or shape[-1] != BLOCK:
        return "the sums are no image in blocks"
    if shape[0] > most_blocks:
        return f"the sums have more than {most_blocks} blocks"
    (source,) = linalg_op.captured
    if is_open(*shape_of(source)):
        return "the run tells how far its blocks are apart"
    return None if _is_gathered(source) else "others than gathers read its operand, too"


def _is_gathered(value: SSAValue) -> bool:
    """Whether only gathers read a value, or concats of blocks for which that is so.

    Then it is contiguous in memory, too.
    """
    for use in value.uses:
        reader = use.operation
        if isinstance(reader, tensor.ConcatOp | tensor.CollapseShapeOp):
            outermost = not isinstance(reader, tensor.ConcatOp) or not reader.dim.value.data
            if not outermost or not _is_gathered(reader.results[0]):
                return False
            continue
        if not isinstance(reader, tensor.ExtractOp):
            return False
    return True
