"""Blocked channels: rewrite the operations that `layout` chose, convert values at the borders.

    y[o, p, q] += x[i, p + k, q + l] * w[o, i, k, l]
        ->  y[o, p, q, o'] += x[i, p + k, q + l, i'] * w[o, i, k, l, i', o']

Packed weights are other numbers in the blob, not work: `#ncnn.weight<.. blocked ..>`. Where an
extent is no multiple of the block, storage is rounded up. Lanes past the end hold finite values
that nobody reads: sums over channels are marked with their true extent (`tails`).

Needs: the structured level before groups.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.channels import layout
from ncc.compiler.linalg.channels.packed_axes import PackedAxes
from ncc.compiler.linalg.channels.packing import (
    BLOCK,
    Packing,
    Read,
    blocks_of,
    takes_all,
)
from ncc.compiler.linalg.channels.select_channels import lanes_of, select_lanes
from ncc.compiler.linalg.insert import doc_of, erase_dead, move_before, tensor_of
from ncc.compiler.linalg.linear import expression
from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.tensors import groups_of, is_constant, pad_sides, pad_value, weights_of
from ncc.compiler.linalg.view import Access, View, fill_number, shape_of
from ncc.dialects.comprehension import Builder, Tensor, generic
from ncc.dialects.element import element_of
from ncc.dialects.operation import copied
from ncc.dialects.scalar import select
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.weight import ConstantOp, WeightAttr


@dataclass(frozen=True)
class Pack(ModulePass):
    """Choose the layout of every value of the network and rewrite its operations."""

    name = "pack-channels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block, axes = network_of(op).body.block, PackedAxes()
        _Packer(block, layout.choose(block, axes), axes).run()


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
        for op in list(self.block.ops):
            if op in self.packings:
                self._rewrite(op, self.packings[op])
            else:
                self._keep(op)
        for op in self.block.ops:
            if isinstance(op, GenericOp) and takes_all(View(op)):
                op.results[0].replace_all_uses_with(View(op).captured[0])
        erase_dead(self.block)

    def _keep(self, op: Operation) -> None:
        """A plain operation: operands that are only packed are unpacked in front of it."""
        for inner in op.walk():
            for position, operand in enumerate(inner.operands):
                if operand in self.packed:
                    inner.operands[position] = self._as_plain(operand, op)

    def _rewrite(self, op: Operation, packing: Packing | None) -> None:
        channels = View(op).channels if isinstance(op, GenericOp) else None
        if isinstance(op, GenericOp) and channels is not None:
            new = self._selection(op, channels)
        elif isinstance(op, GenericOp) and packing is not None:
            new = self._generic(op, packing).results[0]
        else:
            new = self._view(op)
        result = op.results[0]
        new.name_hint = result.name_hint
        self.packed[result] = new

    # --- values in the other layout ---------------------------------------------------------

    def _as_plain(self, value: SSAValue, before: Operation) -> SSAValue:
        if value not in self.packed:
            return value
        if value not in self.plain:
            axis = self.axes.of(value)
            if axis is None:
                raise CompilerBug("a packed value without an axis")
            self.plain[value] = self._insert(
                before, lambda b: unpack(b, tensor_of(self.packed[value]), axis, shape_of(value))
            )
        return self.plain[value]

    def _as_packed(self, value: SSAValue, before: Operation) -> SSAValue:
        if value not in self.packed:
            axis = self.axes.of(value)
            if axis is None:
                raise CompilerBug("a value that cannot be packed")
            self.packed[value] = self._insert(before, lambda b: pack(b, tensor_of(value), axis))
            self.plain[value] = value
        return self.packed[value]

    def _insert(
        self, before: Operation, build: Callable[[Builder], Tensor], doc: str = "layout"
    ) -> SSAValue:
        """Put what a function of a builder makes in front of an operation."""
        scratch = Block()
        result = build(Builder(scratch, doc))
        move_before(scratch, before)
        return result.value

    # --- views ------------------------------------------------------------------------------

    def _view(self, op: Operation) -> SSAValue:
        operands = [tensor_of(self._as_packed(value, op)) for value in op.operands]
        axis = self.axes.of(op.results[0])
        return self._insert(op, lambda b: _packed_view(b, op, operands, axis))

    # --- computations -----------------------------------------------------------------------

    def _selection(self, op: GenericOp, channels: Sequence[int]) -> SSAValue:
        """A selection of channels, which are lanes of the blocks of the same joint."""
        (joint,) = View(op).captured
        blocks = tensor_of(self._as_packed(joint, op))
        lanes = lanes_of(self._parts(joint), channels)
        return self._insert(op, lambda b: select_lanes(b, blocks, lanes), doc_of(op))

    def _parts(self, value: SSAValue) -> list[int]:
        """The channels of a value in runs that begin with a block of their own."""
        source = value.owner
        if not isinstance(source, Operation) or source not in self.packings:
            return [shape_of(value)[0]]
        match source:
            case tensor.ConcatOp():
                return [extent for part in source.inputs for extent in self._parts(part)]
            case tensor.CollapseShapeOp():
                *groups, channels = (shape_of(source.src)[axis] for axis in groups_of(source)[0])
                return [channels] * prod(groups)
        return [shape_of(value)[0]]

    def _generic(self, op: GenericOp, packing: Packing) -> GenericOp:
        view = View(op)
        split = {packing.lane: len(view.extents)}
        operands: list[SSAValue] = []
        modes: list[bool] = []
        for position, access in enumerate(view.reads):
            value, mode = self._operand(op, packing, access, position in view.live)
            operands.append(value)
            modes.append(mode)
            if mode and not is_constant(access.value) and not access.uses(packing.lane):
                for loop in sorted(access.index[0].loops() & packing.sums if access.index else ()):
                    split.setdefault(loop, len(view.extents) + len(split))
        weights = [
            self._weight(op, access, split) if is_constant(access.value) else None
            for access in view.reads
        ]
        operands = [w or value for w, value in zip(weights, operands, strict=True)]
        shape = list(shape_of(op.results[0]))
        shape[packing.axis] = blocks_of(shape[packing.axis])
        outs = self._outs(op, [*shape, BLOCK])
        maps = [
            self._weight_map(access, split)
            if is_constant(access.value)
            else self._map(access, split, self.axes.of(access.value) if mode else None)
            for access, mode in zip(view.reads, modes, strict=True)
        ]
        maps.append(self._map(view.write, split, packing.axis))
        return self._make(op, view, split, operands, outs, maps, packing)

    def _operand(
        self, op: GenericOp, packing: Packing, access: Access, live: bool
    ) -> tuple[SSAValue, bool]:
        """The value to read, and whether it is packed."""
        value = access.value
        how = packing.reads.get(value)
        if not live or is_constant(value) or how is None:
            return value, False
        if how is Read.PACKED:
            return self._as_packed(value, op), True
        if how is Read.EITHER and value in self.packed:
            return self.packed[value], True
        return self._as_plain(value, op), False

    def _weight(self, op: GenericOp, access: Access, split: dict[int, int]) -> SSAValue | None:
        """A constant in blocks along the axes that the split loops index."""
        axes = {
            form.bare: axis
            for axis, form in enumerate(access.index)
            if form.bare is not None and form.bare in split
        }
        if not axes:
            return None
        # The block of the lane is innermost: it is what one vector holds.
        order = sorted(axes, key=lambda loop: split[loop], reverse=True)
        key = (access.value, tuple(axes[loop] for loop in order))
        if key not in self.weights:
            blocks = Blocked(weights_of(access.value), key[1], BLOCK).weights
            constant = ConstantOp.of(WeightAttr(blocks))
            self.block.insert_op_before(constant, op)
            self.weights[key] = constant.result
        return self.weights[key]

    def _map(self, access: Access, split: dict[int, int], axis: int | None) -> AffineMapAttr:
        """The access on the split loops: d, .., d' on the packed axis, else d * 16 + d'."""
        results: list[AffineExpr] = []
        inner: list[int] = []
        for k, form in enumerate(access.index):
            loops = form.loops() & set(split)
            terms = dict(form.terms)
            if k == axis and loops and form.bare is None:
                # g * I + i in blocks of i: g steps over I / 16 of them.
                terms = {d: c if d in loops else c // BLOCK for d, c in terms.items()}
            if k == axis:
                inner += loops
            else:
                for loop in loops:
                    terms[split[loop]], terms[loop] = terms[loop], terms[loop] * BLOCK
            results.append(expression(terms, form.constant))
        results += [AffineDimExpr(split[loop]) for loop in inner]
        return _map_of(split, results)

    def _weight_map(self, access: Access, split: dict[int, int]) -> AffineMapAttr:
        """The same for a constant, which is in blocks wherever a split loop stands alone."""
        results = [expression(dict(form.terms), form.constant) for form in access.index]
        alone = [form.bare for form in access.index if form.bare in split]
        inner = sorted((split[d] for d in alone if d is not None), reverse=True)
        return _map_of(split, [*results, *(AffineDimExpr(d) for d in inner)])

    def _outs(self, op: GenericOp, shape: Sequence[int]) -> SSAValue:
        value = op.outputs[0]
        if value in self.packed:
            return self.packed[value]
        source, element = value.owner, element_of(value)
        if isinstance(source, FillOp):
            number = fill_number(source)
            return self._insert(op, lambda b: b.full(shape, number, element))
        if isinstance(source, tensor.EmptyOp):
            return self._insert(op, lambda b: b.empty(shape, element))
        raise CompilerBug(f"a packed computation that goes on from {source}")

    def _make(
        self,
        op: GenericOp,
        view: View,
        split: dict[int, int],
        operands: Sequence[SSAValue],
        outs: SSAValue,
        maps: Sequence[AffineMapAttr],
        packing: Packing,
    ) -> GenericOp:
        kinds = list(op.iterator_types.data)
        for loop in sorted(split, key=lambda d: split[d]):
            kinds.append(kinds[loop])
        new = generic(operands, outs, ArrayAttr(maps), ArrayAttr(kinds), copied(op.body), op.doc)
        tails = [
            [loop, split[loop], view.extents[loop]]
            for loop in sorted(packing.sums)
            if loop in split and view.extents[loop] % BLOCK
        ]
        tails += [list(tail) for tail in view.tails]
        new.attributes.update(op.attributes)
        if tails:
            new.attributes["tails"] = ArrayAttr(
                [ArrayAttr([IntegerAttr(n, i64) for n in row]) for row in tails]
            )
        self.block.insert_op_before(new, op)
        self._body(new, split, packing)
        return new

    def _body(self, op: GenericOp, split: dict[int, int], packing: Packing) -> None:
        """Loop values and computed coordinates in terms of the split loops."""
        block = op.body.block
        before = list(block.ops)
        for inner in before:
            if isinstance(inner, ExtractOp):
                self._extract(op, inner, split, packing)
        for inner in before:
            if isinstance(inner, IndexOp) and inner.dim.value.data in split and inner.result.uses:
                loop = inner.dim.value.data
                rest = IndexOp(split[loop])
                size = arith.ConstantOp(IntegerAttr.from_index_int_value(BLOCK))
                product = arith.MuliOp(inner.result, size.result)
                whole = arith.AddiOp(product.result, rest.result)
                block.insert_ops_after([rest, size, product, whole], inner)
                for use in [u for u in inner.result.uses if u.operation is not product]:
                    use.operation.operands[use.index] = whole.result

    def _extract(
        self, op: GenericOp, read: ExtractOp, split: dict[int, int], packing: Packing
    ) -> None:
        block = op.body.block
        if packing.reads.get(read.tensor) is not Read.PACKED:
            read.operands[0] = self._as_plain(read.tensor, op)
            return
        source = self._as_packed(read.tensor, op)
        outer, inner = IndexOp(packing.lane), IndexOp(split[packing.lane])
        block.insert_ops_before([outer, inner], read)
        new = ExtractOp(source, [outer.result, *read.indices[1:], inner.result], read.result.type)
        block.insert_op_before(new, read)
        read.result.replace_all_uses_with(new.result)
        block.erase_op(read)


def _map_of(split: dict[int, int], results: Sequence[AffineExpr]) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(max(split.values()) + 1, 0, tuple(results)))


def _packed_view(b: Builder, op: Operation, operands: Sequence[Tensor], axis: int | None) -> Tensor:
    """A view of plain values as the same of packed ones; its result is packed along an axis."""
    x = operands[0]
    match op:
        case tensor.PadOp():
            low, high = pad_sides(op)
            value, channels = pad_value(op), shape_of(op.source)[0]
            if high[0]:
                x = _filled_up(b, x, channels, value)
                high[0] = blocks_of(channels + high[0]) - x.shape[0]
            return b.pad(x, [*low, 0], [*high, 0], value)
        case tensor.ConcatOp():
            return b.concat(operands, op.dim.value.data)
        case tensor.ExtractSliceOp():
            begin = [int(n) for n in op.static_offsets.get_values()]
            size = list(shape_of(op.result))
            begin[0], size[0] = begin[0] // BLOCK, blocks_of(size[0])
            return b.slice(x, [*begin, 0], [*size, BLOCK])
        case tensor.CollapseShapeOp():
            return b.collapse(x, [*groups_of(op), [len(shape_of(op.src))]])
        case tensor.ExpandShapeOp():
            shape = list(shape_of(op.result))
            if axis is None:
                raise CompilerBug("a packed value without an axis")
            shape[axis] = blocks_of(shape[axis])
            return b.expand(x, [*groups_of(op), [len(shape)]], [*shape, BLOCK])
    raise CompilerBug(f"{op.name} is no view")


def _filled_up(b: Builder, x: Tensor, channels: int, value: float) -> Tensor:
    """Blocks along the first axis with a value in the lanes of the last one past the channels."""
    if channels % BLOCK == 0:
        return x
    lanes = np.arange(x.shape[0] * BLOCK).reshape(-1, BLOCK)
    is_channel = b.table((lanes < channels).astype(np.float32))
    at = b.loops_of(x.shape)
    return b.map(at, select(is_channel[at[0], at[-1]] > 0.0, x[tuple(at)], value))


def pack(b: Builder, x: Tensor, axis: int) -> Tensor:
    """A plain value in blocks along one axis, rounded up with zeros."""
    blocks = blocks_of(x.shape[axis])
    high = [blocks * BLOCK - n if k == axis else 0 for k, n in enumerate(x.shape)]
    x = b.pad(x, [0] * x.rank, high)
    groups = [[k + (k > axis)] if k != axis else [k, k + 1] for k in range(x.rank)]
    x = b.expand(x, groups, [*x.shape[:axis], blocks, BLOCK, *x.shape[axis + 1 :]])
    if axis == x.rank - 2:
        return x
    shape = [*x.shape[: axis + 1], *x.shape[axis + 2 :], BLOCK]
    *outer, lane = b.loops_of(shape)
    return b.map([*outer, lane], x[(*outer[: axis + 1], lane, *outer[axis + 1 :])])


def unpack(b: Builder, x: Tensor, axis: int, shape: Sequence[int]) -> Tensor:
    """Blocks along `axis` as a plain value of `shape`: whole ones, then the rest of the last."""
    whole, rest = divmod(shape[axis], BLOCK)
    if x.rank == 2 or axis == x.rank - 2:
        flat = b.collapse(x, [*([k] for k in range(axis)), [axis, axis + 1]])
        return b.slice(flat, [0] * len(shape), shape)
    parts: list[Tensor] = []
    for begin, blocks, lanes in ((0, whole, BLOCK), (whole, 1, rest)):
        if blocks and lanes:
            first, size = [0] * x.rank, list(x.shape)
            first[axis], size[axis], size[-1] = begin, blocks, lanes
            part = b.slice(x, first, size)
            *outer, lane = b.loops_of(size)
            at = [*outer[: axis + 1], lane, *outer[axis + 1 :]]
            part = b.map(at, part[(*outer, lane)])
            groups = [[k + (k > axis)] if k != axis else [k, k + 1] for k in range(len(shape))]
            parts.append(b.collapse(part, groups))
    return b.concat(parts, axis)
