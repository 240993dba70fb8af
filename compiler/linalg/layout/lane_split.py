"""Splits loops of a linalg op into blocks and the lanes of a block.

y[o, p] += x[i, p] * w[o, i]    o and i split
    ->  y[o, p, o'] += x[i, p, i'] * w[o, i, i', o']       of x and y in blocks
        y[o, p, o'] += x[i * 16 + i', p] * ..              of a plain x
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation

from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess
from ncc.compiler.linalg.layout.packing import Packing


class LaneSplit(NamedTuple):
    """The split loops of an operation: each goes on counting blocks, and `inner` has the loop over
    the lanes of one, behind all loops that there were.
    """

    linalg_op: LinalgOp
    inner: dict[int, int]

    @staticmethod
    def of(linalg_op: LinalgOp, packing: Packing, in_blocks: Sequence[bool]) -> LaneSplit:
        """The loop over the result's channels, and those that sum over operands in blocks.

        in_blocks: whether each operand is read in blocks.
        """
        inner = {packing.lane: len(linalg_op.extents)}
        for access, packed in zip(linalg_op.reads, in_blocks, strict=True):
            if packed and access.index and not access.uses(packing.lane):
                for loop in sorted(access.index[0].loops() & packing.sums):
                    inner.setdefault(loop, len(linalg_op.extents) + len(inner))
        return LaneSplit(linalg_op, inner)

    @property
    def kinds(self) -> list[IteratorTypeAttr]:
        """The kinds of all loops."""
        kinds = list(self.linalg_op.op.iterator_types.data)
        return [*kinds, *(kinds[loop] for loop in self.inner)]

    def valid_extents(self, sums: Set[int]) -> Iterator[tuple[int, int, int]]:
        """The extents of split loops whose last block has lanes past the summed channels."""
        for loop in sorted(sums):
            extent = self.linalg_op.extents[loop]
            if loop in self.inner and extent % BLOCK:
                yield loop, self.inner[loop], extent

    def map_of(self, access: TensorAccess, axis: int | None) -> AffineMapAttr:
        """The indices of an operand: in blocks along an axis, d there and d' at the end; in a plain
        one, d * 16 + d'.
        """
        results: list[AffineForm] = []
        lanes: list[int] = []
        for k, form in enumerate(access.index):
            loops = form.loops() & set(self.inner)
            terms = dict(form.terms)
            if k == axis and loops and form.bare is None:
                # g * I + i in blocks of i: g iterations over I / 16 of them.
                terms = {d: c if d in loops else c // BLOCK for d, c in terms.items()}
            if k == axis:
                lanes += loops
            else:
                for loop in loops:
                    terms[self.inner[loop]], terms[loop] = terms[loop], terms[loop] * BLOCK
            results.append(AffineForm.of(terms, form.constant))
        return self._map([*results, *(AffineForm.of({self.inner[loop]: 1}) for loop in lanes)])

    def map_of_weights(self, access: TensorAccess) -> AffineMapAttr:
        """The same of a constant in blocks along all of `axes_of`."""
        lanes = [AffineForm.of({self.inner[loop]: 1}) for loop, _ in self._alone(access)]
        return self._map([*access.index, *lanes])

    def axes_of(self, access: TensorAccess) -> tuple[int, ...]:
        """The axes of a constant that split loops walk by themselves, the result's lane last."""
        return tuple(axis for _, axis in self._alone(access))

    def _alone(self, access: TensorAccess) -> list[tuple[int, int]]:
        """Split loops that walk an axis by themselves, and which, in the order of their blocks."""
        found = {
            form.bare: axis
            for axis, form in enumerate(access.index)
            if form.bare is not None and form.bare in self.inner
        }
        return sorted(found.items(), key=lambda pair: self.inner[pair[0]], reverse=True)

    def _map(self, index: Sequence[AffineForm]) -> AffineMapAttr:
        return indexing_map(len(self.linalg_op.extents) + len(self.inner), index)

    def rewrite_loop_numbers(self, ops: Iterable[Operation]) -> None:
        """Replace the index of a split loop d in the body by d * 16 + d'."""
        for op in ops:
            if not isinstance(op, IndexOp) or not op.result.uses or op.parent is None:
                continue
            if op.dim.value.data in self.inner:
                lane = IndexOp(self.inner[op.dim.value.data])
                size = arith.ConstantOp(IntegerAttr.from_index_int_value(BLOCK))
                first = arith.MuliOp(op.result, size.result)
                whole = arith.AddiOp(first.result, lane.result)
                op.parent.insert_ops_after([lane, size, first, whole], op)
                for use in [use for use in op.result.uses if use.operation is not first]:
                    use.operation.operands[use.index] = whole.result
