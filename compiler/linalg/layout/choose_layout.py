"""Chooses by a minimum cut which values are packed.

Each operation has a cost in bytes moved for either layout. A value that is read in the other layout
costs one more write and read. The cut takes the layouts with the least sum of all these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import VIEWS, is_constant
from ncc.compiler.linalg.layout.layout_costs import costs_of, one_pass
from ncc.compiler.linalg.layout.minimum_cut import NEVER, Cut
from ncc.compiler.linalg.layout.packed_axes import PackedAxes, follows
from ncc.compiler.linalg.layout.packed_views import has_gaps, view_can_pack
from ncc.compiler.linalg.layout.packing import PackedRead, Packing, packing_of
from ncc.dialects.size import hint


class LayoutChoice:
    """The cut that is looked for, what can be packed and why other operations cannot."""

    def __init__(self, block: Block, axes: PackedAxes, model: CostModel) -> None:
        self.problem = Cut()
        self.model = model
        self.packings: dict[Operation, Packing | None] = {}
        self.costs: dict[GenericOp, tuple[float, float]] = {}
        self.unpackable: dict[GenericOp, str] = {}
        self.views = {op: LinalgOp(op) for op in generics_of(block)}
        self.followed: dict[Operation, SSAValue | None] = {
            op: follows(linalg_op) for op, linalg_op in self.views.items()
        }
        self.axes = axes
        for op in block.ops:
            self._add_costs(op)
        for op in block.ops:
            self._add_edges(op)

    def solve(self) -> dict[Operation, Packing | None]:
        """The operations whose result is packed; None stands for a view of packed values."""
        packed = self.problem.solve()
        return {op: packing for op, packing in self.packings.items() if op in packed}

    def reasons(self, packed: Mapping[Operation, object]) -> Iterator[tuple[GenericOp, str]]:
        """Each linalg op, and why its result is packed, or is not."""
        for op in self.views:
            if op in self.unpackable:
                yield op, self.unpackable[op]
                continue
            blocks, plain = self.costs[op]
            if blocks == plain:
                yield op, "as its neighbours, since either layout costs the same"
                continue
            shown = f"in blocks {blocks / 1e3:,.0f} kB, plain {plain / 1e3:,.0f} kB"
            by_itself = (op in packed) == (blocks < plain)
            reason = "" if by_itself else "conversions to the cheaper layout would cost more; "
            yield op, f"{reason}estimated cost by itself: {shown}"

    def _add_costs(self, op: Operation) -> None:
        """Add the cost of either layout of an operation that can be packed."""
        if isinstance(op, GenericOp):
            linalg_op = self.views[op]
            packing = packing_of(linalg_op, self.axes)
            if isinstance(packing, str):
                self.unpackable[op] = packing
                return
            self.packings[op] = packing
            self.costs[op] = costs_of(linalg_op, packing, self.model)
            self.problem.prefer(op, *self.costs[op])
        elif isinstance(op, VIEWS) and not is_constant(op.results[0]):
            if view_can_pack(op, self.axes):
                self.packings[op] = None
                self.problem.prefer(op, 0.0, 0.0)

    def _add_edges(self, op: Operation) -> None:
        """Add the costs if op and the producers of its operands have different layouts."""
        captured = self.views[op].captured if isinstance(op, GenericOp) else ()
        for value in dict.fromkeys((*op.operands, *captured)):
            source = value.owner
            if isinstance(source, Operation) and source in self.packings:
                self._connect(source, op, value)
            elif op in self.packings:
                self._read_given(op, value)

    def _read_given(self, op: Operation, value: SSAValue) -> None:
        """Add the cost of packing op which reads a value that is plain in any case."""
        if _goes_on_from(op, value):
            self.problem.pay_if_packed(op, NEVER)
        elif _wants_packed(op, self.packings[op], value):
            self.problem.read_packed(value, None, op, self._copy(value))
            self.problem.pay_if_packed(op, self._apart(op, value))

    def _connect(self, source: Operation, op: Operation, value: SSAValue) -> None:
        """Add the costs if a value and op, which reads it, have different layouts.

        Then an operation that the kernel of its operand could store takes a pass over memory.
        """
        conversion = self._conversion(value)
        if op not in self.packings:
            if not isinstance(op, FillOp):
                self.problem.read_plain(value, source, None, conversion)
            return
        if isinstance(op, GenericOp) and value is outs_of(op):
            self.problem.connect(source, op, NEVER, NEVER)
            return
        packing = self.packings[op]
        match PackedRead.PACKED if packing is None else packing.reads.get(value):
            case PackedRead.PACKED:
                self.problem.read_plain(value, source, op, conversion)
                self.problem.read_packed(value, source, op, conversion)
                apart = NEVER if has_gaps(source, self.axes) else self._apart(op, value)
                self.problem.connect(source, op, apart, apart)
            case PackedRead.EITHER:
                self.problem.read_plain(value, source, op, conversion)
                self.problem.connect(source, op, 0.0, conversion / 4)
            case _:
                self.problem.read_plain(value, source, None, conversion)

    def _conversion(self, value: SSAValue) -> float:
        """Bytes of one more write and read, one of them of whole blocks.

        Where the last axis is packed, a view is enough.
        """
        shape = shape_of(value)
        if len(shape) <= 2:
            return 64.0
        axis = self.axes.of(value)
        extent = BLOCK if axis is None else hint(shape[axis])
        waste = lanes_in(extent) / extent - 1
        return one_pass(value) * (1 + waste / 2)

    def _copy(self, value: SSAValue) -> float:
        """Bytes of packing a value that is plain in any case. Matrices whose rows are whole blocks
        are in blocks as they lie.
        """
        shape = shape_of(value)
        ragged = len(shape) == 2 and shape[1] % BLOCK
        return one_pass(value) if ragged else self._conversion(value)

    def _apart(self, op: Operation, value: SSAValue) -> float:
        """Bytes of the pass over memory of op, if the kernel of this operand could store it."""
        return one_pass(value) if self.followed.get(op) is value else 0.0


def _goes_on_from(op: Operation, value: SSAValue) -> bool:
    """Whether op accumulates into a plain value that another operation made."""
    if not isinstance(op, GenericOp) or value is not outs_of(op):
        return False
    return not isinstance(value.owner, FillOp | tensor.EmptyOp)


def _wants_packed(op: Operation, packing: Packing | None, value: SSAValue) -> bool:
    """Whether a packed op needs this value, which cannot be packed at its source, in blocks."""
    if is_constant(value) or isinstance(value.owner, FillOp):
        return False
    if isinstance(op, GenericOp) and value is outs_of(op):
        return False
    return packing is None or packing.reads.get(value) is PackedRead.PACKED
