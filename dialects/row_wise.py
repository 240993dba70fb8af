"""Finds layers that make one row of each row, where only the run counts the rows.

    %y = linalg.generic {maps [(d0, d1) -> (d0, d1), (d0, d1) -> (d0, d1)], [parallel, parallel]}
             ins(%rows : tensor<100x6xf32>) ... -> tensor<100x6xf32>

is computed for the 100 rows that there can be, and as many of its rows count as of %rows. A layer
needs to know nothing of it: how its lowering walks the axis of the rows tells. Sums over rows, and
rows moved to other places, are none of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, TensorType, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ncc.dialects.attributes import extents_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.statements import Code
from ncc.dialects.structured import pad_sides


def share_a_count(tensors: Sequence[Tensor]) -> bool:
    """Whether one linalg operation found the rows of all tensors that have a count."""
    return len({x.count.value.owner for x in tensors if x.count is not None}) == 1


def are_row_wise(
    operations: Iterable[Operation], operands: Sequence[Tensor], results: Sequence[Tensor]
) -> bool:
    """Whether `operations` make row k of each result of row k of the operands that have a count.

    The operations are all that lie between, in order.
    """
    walk = _Walk({x.value: 1 for x in operands if x.count is not None})
    if not all(map(walk.follow, operations)):
        return False
    return all(walk.entries.get(result.value) == 1 for result in results)


def with_header(b: Builder, rows: Tensor) -> Tensor:
    """Rows right in front of their count, as an output needs them; `rows` where they are."""
    if rows.count is None or rows.value.owner is rows.count.value.owner:
        return rows
    flat = b.reshape(rows, (rows.shape[0], prod(rows.shape[1:])))
    code = Code([flat, rows.count], [(flat.shape, rows.element_type), ((1,), i64)])
    found = code.inputs[1][0]
    with code.range(found) as row, code.lanes(flat.shape[1]) as k:
        code.results[0][row, k] = code.inputs[0][row, k]
    code.results[1][0] = found
    copied, count = b.code(code.operation())
    return Tensor(b.reshape(copied, rows.shape).value, rows.shape, count)


class _Walk:
    """Forward over operations: how many entries along its first axis each value has a row."""

    def __init__(self, entries: dict[SSAValue, int]) -> None:
        self.entries = entries

    def follow(self, op: Operation) -> bool:
        """Note the rows that op makes; False if it does not work row by row."""
        read = {value for inner in op.walk() for value in inner.operands}
        if read.isdisjoint(self.entries):
            return True
        entries: int | None = None
        match op:
            case GenericOp() if read.isdisjoint(self.entries.keys() - set(op.operands)):
                entries = self._of_generic(op)
            case tensor.CollapseShapeOp():
                entries = self.entries[op.src] * _inside(op, op.src)
            case tensor.ExpandShapeOp():
                entries, rest = divmod(self.entries[op.src], _inside(op, op.result))
                if rest:
                    return False
            case tensor.PadOp():
                low, high = pad_sides(op)
                if not low[0] and not high[0]:
                    entries = self.entries[op.source]
            case tensor.ExtractSliceOp() if _shape(op.source)[0] == _shape(op.result)[0]:
                entries = self.entries[op.source]
            case tensor.ConcatOp() if op.dim.value.data != 0:
                entries = self._common(op.inputs)
        if entries is None:
            return False
        self.entries[op.results[0]] = entries
        return True

    def _common(self, values: Iterable[SSAValue]) -> int | None:
        """The entries a row of all values that have any, where they agree."""
        found = {self.entries[value] for value in values if value in self.entries}
        return found.pop() if len(found) == 1 else None

    def _of_generic(self, op: GenericOp) -> int | None:
        """One parallel loop walks the first axis of the result, and of all that has rows.

        It walks nothing else that is read: a vector of as many elements as there can be rows was
        taken for a column of them.
        """
        maps = [m.data.results for m in op.indexing_maps.data if isinstance(m, AffineMapAttr)]
        kinds = [kind.data for kind in op.iterator_types.data]
        walked = [
            (value, exprs[0])
            for value, exprs in zip(op.operands, maps, strict=True)
            if value in self.entries
        ]
        walked.append((op.results[0], maps[-1][0]))
        loops = {_loop(expr, _shape(value)[0]) for value, expr in walked}
        if len(loops) != 1:
            return None
        (loop,) = loops
        if loop is None or (loop >= 0 and kinds[loop] is not IteratorType.PARALLEL):
            return None
        for value, exprs in zip(op.inputs, maps, strict=False):
            fixed = value not in self.entries and not isinstance(value.owner, tensor.EmptyOp)
            if fixed and any(loop in expr.used_dims() for expr in exprs):
                return None
        return self._common(op.operands)


def _inside(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, many: SSAValue) -> int:
    """How many entries of the first axis of few axes are one entry of that of many axes."""
    axes = [axis.value.data for axis in op.reassociation.data[0].data]
    return prod(_shape(many)[axis] for axis in axes[1:])


def _loop(expr: AffineExpr, extent: int) -> int | None:
    """The loop that walks an axis, -1 where it has one place, None where that is no loop alone."""
    if extent == 1:
        return -1
    return expr.position if isinstance(expr, AffineDimExpr) else None


def _shape(value: SSAValue) -> tuple[int, ...]:
    if not isinstance(value.type, TensorType):
        raise TypeError(f"{value.type} is no tensor")
    return extents_of(value.type)
