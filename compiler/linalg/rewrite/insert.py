"""What rewrites share: insertion of what a builder wrote, and erasure of dead operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.operation import copied, ops_of
from ncc.dialects.structured import generic
from ncc.dialects.tiled import TiledLoopOp

Index: TypeAlias = Sequence[AffineForm | AffineExpr]
"""The indices at which an operand is read."""


def builder_for(op: GenericOp) -> Builder:
    """A builder for the replacement of an operation, with the same layers."""
    return Builder(Block(), doc_of(op))


def move_before(b: Builder, before: Operation) -> None:
    """Insert what a builder wrote before an operation."""
    parent = before.parent_block()
    for op in ops_of(b.block):
        b.block.detach_op(op)
        if parent is not None:
            parent.insert_op_before(op, before)


def move_after(b: Builder, value: SSAValue) -> None:
    """Insert what a builder wrote after the owner of a value; for an argument, at the start."""
    if isinstance(value.owner, Operation):
        ops, parent = ops_of(b.block), value.owner.parent_block()
        for op in ops:
            b.block.detach_op(op)
        if parent is not None:
            parent.insert_ops_after(ops, value.owner)
    elif value.owner.first_op is not None:
        move_before(b, value.owner.first_op)
    else:
        raise CompilerBug("an empty block makes no values")


def replace_op(op: Operation, b: Builder, made: Tensor) -> None:
    """Insert what a builder wrote before op, and replace the result of op by a tensor of it."""
    move_before(b, op)
    made.value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(made.value)


def read_instead(op: GenericOp, position: int, value: SSAValue, index: Index) -> None:
    """Replace an operand of op, and its index."""
    op.operands[position] = value
    maps = list(op.indexing_maps.data)
    maps[position] = indexing_map(maps[position].data.num_dims, index)
    op.properties["indexing_maps"] = ArrayAttr(maps)


def rebuilt(
    b: Builder,
    op: GenericOp,
    inputs: Sequence[SSAValue],
    outs: Tensor,
    maps: Sequence[AffineMapAttr] | None = None,
    kinds: Sequence[IteratorTypeAttr] | None = None,
) -> Tensor:
    """op with other operands. maps, kinds: the maps and iterator types, if they change, too."""
    indexing = op.indexing_maps if maps is None else ArrayAttr(maps)
    iterators = op.iterator_types if kinds is None else ArrayAttr(kinds)
    new = generic(inputs, outs.value, indexing, iterators, copied(op.body), op.doc)
    b.block.add_op(new)
    return Tensor(new.results[0], outs.shape)


def rebuilt_without(
    b: Builder,
    op: GenericOp,
    loop: int,
    reads: Sequence[tuple[SSAValue, Sequence[AffineForm]]],
    write: Sequence[AffineForm],
    outs: Tensor,
) -> Tensor:
    """op with other operands and without one of its loops, which no index uses.

    reads, write: the indices before the later loops are renumbered.
    """
    loops = len(op.iterator_types)

    def renumbered(form: AffineForm) -> AffineForm:
        return AffineForm.of({d - (d > loop): c for d, c in form.terms}, form.constant)

    maps = [
        indexing_map(loops - 1, map(renumbered, index))
        for index in (*(index for _, index in reads), write)
    ]
    kinds = [kind for d, kind in enumerate(op.iterator_types) if d != loop]
    return rebuilt(b, op, [value for value, _ in reads], outs, maps, kinds)


def hold_as(
    value: SSAValue, element: Attribute, operations_of: Callable[[SSAValue], Sequence[Operation]]
) -> None:
    """Change the type of a value in a body.

    operations_of: the operations that compute the old value from the new one. All readers of the
    old value read the result of the last one.
    """
    readers = list(value.uses)
    held = Rewriter.replace_value_with_new_type(value, element)
    made = operations_of(held)
    owner = held.owner
    at = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
    Rewriter.insert_op(made, at)
    for use in readers:
        use.operation.operands[use.index] = made[-1].results[0]


def tensor_of(value: SSAValue) -> Tensor:
    """A value as a tensor of the builder."""
    return Tensor(value, shape_of(value))


def generic_of(made: Tensor) -> GenericOp:
    """The generic that makes a tensor."""
    op = made.value.owner
    if not isinstance(op, GenericOp):
        raise CompilerBug(f"{made.value} is not computed")
    return op


def doc_of(op: GenericOp) -> str:
    """The layers that an operation is part of, as the doc of a builder."""
    return "" if op.doc is None else op.doc.data


def erase_dead(block: Block) -> None:
    """Erase the operations whose results have no readers, those of loops too."""
    for op in reversed(ops_of(block)):
        if op.results and all([result.first_use is None for result in op.results]):
            block.erase_op(op)
        elif op.regions and isinstance(op, TiledLoopOp):
            erase_dead(op.body.block)
