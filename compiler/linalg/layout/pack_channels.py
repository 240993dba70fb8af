"""Packs channels in blocks, where the layout choice says so, and converts values that others read.

    y[o, p, q] += x[i, p + k, q + l] * w[o, i, k, l]
        ->  y[o, p, q, o'] += x[i, p + k, q + l, i'] * w[o, i, k, l, i', o']

Packed weights are other numbers in the blob, not work: `#ncnn.weight<.. blocked ..>`. Where an
extent is no multiple of the block, storage is rounded up. Lanes past the end hold finite values
that nobody reads: sums over channels are marked with their true extent (`valid_extents`).

Needs: the linalg level before groups.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import VALID_EXTENTS
from ncc.compiler.linalg.analysis.block_size import BLOCK, blocks_of
from ncc.compiler.linalg.analysis.linalg_op import (
    LinalgOp,
    TensorAccess,
    fill_number,
    outs_of,
    shape_of,
)
from ncc.compiler.linalg.analysis.tensors import groups_of, is_constant, weights_of
from ncc.compiler.linalg.layout.blocks import pack, unpack, view_of_blocks
from ncc.compiler.linalg.layout.choose_layout import LayoutChoice
from ncc.compiler.linalg.layout.gather_channels import gather_lanes, lanes_of
from ncc.compiler.linalg.layout.lane_split import LaneSplit
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.compiler.linalg.layout.packing import PackedRead, Packing, takes_all
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decision, Decisions
from ncc.compiler.linalg.rewrite.insert import doc_of, erase_dead, move_before, tensor_of
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.operation import copied, ops_of
from ncc.dialects.structured import generic
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.weight import ConstantOp, WeightAttr


class PackChannels(CostedPass):
    """Choose the layout of every value of the network and rewrite its operations."""

    name = "pack-channels"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        axes = PackedAxes()
        choice = LayoutChoice(block, axes, self.costs)
        packings = choice.solve()
        if decisions is not None:
            for op, reason in choice.reasons(packings):
                decisions.append(Decision(self.name, doc_of(op), op in packings, reason))
        _Packer(block, packings, axes).run()


class _Packer:
    """Rewrites a block in program order; `packed` and `plain` hold each value in its layouts,
    `weights` each constant by the axes of its blocks.
    """

    def __init__(
        self, block: Block, packings: dict[Operation, Packing | None], axes: PackedAxes
    ) -> None:
        self.block = block
        self.packings = packings
        self.axes = axes
        self.packed: dict[SSAValue, SSAValue] = {}
        self.plain: dict[SSAValue, SSAValue] = {}
        self.weights: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = {}

    def run(self) -> None:
        for op in ops_of(self.block):
            if op in self.packings:
                self._rewrite(op, self.packings[op])
            else:
                self._keep(op)
        for op in self.block.ops:
            if isinstance(op, GenericOp) and takes_all(LinalgOp(op)):
                op.results[0].replace_all_uses_with(LinalgOp(op).captured[0])
        erase_dead(self.block)

    def _keep(self, op: Operation) -> None:
        """A plain operation: operands that are only packed are unpacked in front of it."""
        for inner in op.walk():
            for position, operand in enumerate(inner.operands):
                if operand in self.packed:
                    inner.operands[position] = self._as_plain(operand, op)

    def _rewrite(self, op: Operation, packing: Packing | None) -> None:
        """An operation whose result is packed."""
        channels = LinalgOp(op).channels if isinstance(op, GenericOp) else None
        if isinstance(op, GenericOp) and channels is not None:
            new = self._gather_of(op, channels)
        elif isinstance(op, GenericOp) and packing is not None:
            new = self._computation(op, packing)
        else:
            new = self._view(op)
        result = op.results[0]
        new.name_hint = result.name_hint
        self.packed[result] = new

    # --- values in the other layout ---------------------------------------------------------

    def _as_plain(self, value: SSAValue, before: Operation) -> SSAValue:
        """A plain value, unpacked once for all readers."""
        if value not in self.packed:
            return value
        if value not in self.plain:
            axis, shape = self.axes.of_packed(value), shape_of(value)
            self.plain[value] = self._insert(
                before, lambda b: unpack(b, tensor_of(self.packed[value]), axis, shape)
            )
        return self.plain[value]

    def _as_packed(self, value: SSAValue, before: Operation) -> SSAValue:
        """A value in blocks, packed once."""
        if value not in self.packed:
            axis = self.axes.of_packed(value)
            self.packed[value] = self._insert(before, lambda b: pack(b, tensor_of(value), axis))
            self.plain[value] = value
        return self.packed[value]

    def _insert(
        self, before: Operation, build: Callable[[Builder], Tensor], doc: str = "layout"
    ) -> SSAValue:
        """Put what a function of a builder makes in front of an operation."""
        b = Builder(Block(), doc)
        result = build(b)
        move_before(b, before)
        return result.value

    # --- views ------------------------------------------------------------------------------

    def _view(self, op: Operation) -> SSAValue:
        """A view of values in blocks."""
        operands = [tensor_of(self._as_packed(value, op)) for value in op.operands]
        return self._insert(op, lambda b: view_of_blocks(b, op, operands))

    # --- operations -------------------------------------------------------------------------

    def _gather_of(self, op: GenericOp, channels: Sequence[int]) -> SSAValue:
        """A gather of channels as one of lanes of the concat's blocks."""
        (concat_op,) = LinalgOp(op).captured
        blocks = tensor_of(self._as_packed(concat_op, op))
        lanes = lanes_of(self._parts(concat_op), channels)
        return self._insert(op, lambda b: gather_lanes(b, blocks, lanes), doc_of(op))

    def _parts(self, value: SSAValue) -> list[int]:
        """How many channels each part of a value has: every part begins with a block of its own."""
        source = value.owner
        if not isinstance(source, Operation) or source not in self.packings:
            return [shape_of(value)[0]]
        match source:
            case tensor.ConcatOp() if not source.dim.value.data:
                return [extent for part in source.inputs for extent in self._parts(part)]
            case tensor.CollapseShapeOp():
                *groups, channels = (shape_of(source.src)[axis] for axis in groups_of(source)[0])
                return [channels] * prod(groups)
        return [shape_of(value)[0]]

    def _computation(self, op: GenericOp, packing: Packing) -> SSAValue:
        """An operation on split loops, of operands in the layouts that it reads."""
        linalg_op = LinalgOp(op)
        read = [
            self._operand(op, packing, access, position in linalg_op.live)
            for position, access in enumerate(linalg_op.reads)
        ]
        split = LaneSplit.of(linalg_op, packing, [in_blocks for _, in_blocks in read])
        operands: list[SSAValue] = []
        maps: list[AffineMapAttr] = []
        for access, (value, in_blocks) in zip(linalg_op.reads, read, strict=True):
            if is_constant(access.value):
                operands.append(self._weights(op, access, split))
                maps.append(split.map_of_weights(access))
            else:
                operands.append(value)
                maps.append(
                    split.map_of(access, self.axes.of_packed(access.value) if in_blocks else None)
                )
        shape = list(shape_of(op.results[0]))
        shape[packing.axis] = blocks_of(shape[packing.axis])
        outs = self._outs(op, [*shape, BLOCK])
        maps.append(split.map_of(linalg_op.write, packing.axis))
        kinds = ArrayAttr(split.kinds)
        new = generic(operands, outs, ArrayAttr(maps), kinds, copied(op.body), op.doc)
        new.attributes.update(op.attributes)
        valid_extents = [*split.valid_extents(packing.sums), *linalg_op.valid_extents]
        if valid_extents:
            VALID_EXTENTS.put(new, tuple(valid_extents))
        self.block.insert_op_before(new, op)
        inside = ops_of(new.body.block)
        for inner in inside:
            if isinstance(inner, ExtractOp):
                self._extract(new, inner, split, packing)
        split.rewrite_loop_numbers(inside)
        return new.results[0]

    def _operand(
        self, op: GenericOp, packing: Packing, access: TensorAccess, live: bool
    ) -> tuple[SSAValue, bool]:
        """The value to read, and whether it is packed."""
        value = access.value
        how = packing.reads.get(value)
        if not live or is_constant(value) or how is None:
            return value, False
        if how is PackedRead.PACKED:
            return self._as_packed(value, op), True
        if how is PackedRead.EITHER and value in self.packed:
            return self.packed[value], True
        return self._as_plain(value, op), False

    def _weights(self, op: GenericOp, access: TensorAccess, split: LaneSplit) -> SSAValue:
        """A constant in blocks along the axes that split loops walk, the lane's innermost: it is
        what one vector holds.
        """
        axes = split.axes_of(access)
        if not axes:
            return access.value
        key = (access.value, axes)
        if key not in self.weights:
            blocks = Blocked(weights_of(access.value), axes, BLOCK).weights
            constant = ConstantOp.of(WeightAttr(blocks))
            self.block.insert_op_before(constant, op)
            self.weights[key] = constant.result
        return self.weights[key]

    def _outs(self, op: GenericOp, shape: Sequence[int]) -> SSAValue:
        """The initial value of an operation, in blocks."""
        value = outs_of(op)
        if value in self.packed:
            return self.packed[value]
        source, element = value.owner, element_of(value)
        if isinstance(source, FillOp):
            number = fill_number(source)
            return self._insert(op, lambda b: b.full(shape, number, element))
        if isinstance(source, tensor.EmptyOp):
            return self._insert(op, lambda b: b.empty(shape, element))
        raise CompilerBug(f"a packed operation that goes on from {source}")

    def _extract(self, op: GenericOp, read: ExtractOp, split: LaneSplit, packing: Packing) -> None:
        """Let a body read a captured tensor in the layout that it has here."""
        block = op.body.block
        if packing.reads.get(read.tensor) is not PackedRead.PACKED:
            read.operands[0] = self._as_plain(read.tensor, op)
            return
        source = self._as_packed(read.tensor, op)
        outer, inner = IndexOp(packing.lane), IndexOp(split.inner[packing.lane])
        block.insert_ops_before([outer, inner], read)
        new = ExtractOp(source, [outer.result, *read.indices[1:], inner.result], read.result.type)
        block.insert_op_before(new, read)
        read.result.replace_all_uses_with(new.result)
        block.erase_op(read)
