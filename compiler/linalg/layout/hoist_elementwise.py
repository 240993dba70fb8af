"""Moves pointwise operations in front of the reshapes, concats and transposes that they read.

    relu(collapse(x))    ->  collapse(relu(x))
    relu(concat(x, y))   ->  concat(relu(x), relu(y))
    relu(shuffle(x))     ->  shuffle(relu(x))

There they follow the operation that makes x, and become its epilogue: the kernels of groups of a
convolution, and of branches of a concat, store their final values. Views give the other operands of
a pointwise operation the shape of x.

Needs: the linalg level, before layouts are chosen.  Breaks: nothing; results are equal bit by
bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import indexing_map
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of
from ncc.compiler.linalg.analysis.uses import producer_of
from ncc.compiler.linalg.rewrite.insert import builder_for, rebuilt, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.linalg.rewrite.through_views import neighbours
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.structured import PARALLEL, generic


class HoistElementwise(LinalgPattern["_Hoisting"]):
    """Move pointwise operations in front of the reshapes, concats and transposes that they read."""

    name = "hoist-elementwise"

    def match(self, op: GenericOp) -> _Hoisting | str | None:
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise or linalg_op.computes_coordinates:
            return None
        if not linalg_op.may_be_rebuilt:
            return None
        read = [linalg_op.reads[k] for k in linalg_op.live]
        if None in [access.axes for access in (*read, linalg_op.write)]:
            return None
        reasons: list[str] = []
        for position in linalg_op.live:
            reason = _why_behind(linalg_op, position)
            if reason is None:
                return _Hoisting(linalg_op, position)
            reasons.append(reason)
        return next(filter(None, reasons), None)

    def rewrite(self, found: _Hoisting) -> None:
        left = found.rewrite()[::-1]
        while left:
            again = self.decide(left.pop())
            if again is not None:
                left += reversed(again.rewrite())


class _Hoisting(NamedTuple):
    """A pointwise operation, and the operand that is the view or transpose to move behind it."""

    linalg_op: LinalgOp
    position: int

    def rewrite(self) -> list[GenericOp]:
        """Write the operation anew in front of its operand; returns the new ones."""
        op, b = self.linalg_op.op, builder_for(self.linalg_op.op)
        source = self.linalg_op.reads[self.position].value.owner
        match source:
            case tensor.CollapseShapeOp():
                made = _before_collapse(b, self.linalg_op, self.position, source)
            case tensor.ConcatOp():
                made = _before_concat(b, self.linalg_op, self.position, source)
            case GenericOp():
                made = _before_move(b, self.linalg_op, source)
            case _:
                raise CompilerBug(f"{op.name} reads no view")
        written = generics_of(b.block)
        replace_op(op, b, made)
        Rewriter.erase_op(op)
        Rewriter.erase_op(source)
        return written


def _why_behind(linalg_op: LinalgOp, position: int) -> str | None:
    """Why a pointwise operation stays behind an operand; None if it need not.

    The reason is empty where the operand is neither a view nor a transpose.
    """
    value = linalg_op.reads[position].value
    match value.owner:
        case tensor.CollapseShapeOp() as op:
            computed = producer_of(op.src) is not None
        case tensor.ConcatOp() as op:
            computed = _joins_computed(op)
        case GenericOp() as op if _is_move(LinalgOp(op)) and not _is_move(linalg_op):
            computed = True
        case _:
            return ""
    if not value.has_one_use():
        return "others read its operand, too"
    if not computed:
        return "it reads a view of a value that is not computed for it alone"
    match value.owner:
        case tensor.ConcatOp() as op:
            return _why_behind_concat(linalg_op, position, op)
        case GenericOp() as op:
            return _why_behind_move(linalg_op, position, op)
    return None


def _joins_computed(op: tensor.ConcatOp) -> bool:
    """Whether a reader of the concat could read each operand instead."""
    parts = list(op.inputs)
    sources = [
        part.owner.src if isinstance(part.owner, tensor.CollapseShapeOp) else part for part in parts
    ]
    single = all(part.has_one_use() for part in parts)
    return single and all(map(producer_of, sources))


def _before_collapse(
    b: Builder, linalg_op: LinalgOp, position: int, source: tensor.CollapseShapeOp
) -> Tensor:
    """The operation on the value before the reshape: each collapsed loop becomes a loop nest."""
    shape = shape_of(source.src)
    split = {
        loop: [shape[axis] for axis in group]
        for loop, group in zip(_loops_of(linalg_op.reads[position]), groups_of(source), strict=True)
    }
    extents: list[int] = []
    loops: list[list[int]] = []
    for loop, extent in enumerate(linalg_op.extents):
        sizes = split.get(loop, [extent])
        loops.append(list(range(len(extents), len(extents) + len(sizes))))
        extents += sizes
    operands: list[Tensor] = []
    maps: list[list[int]] = []
    for k, read in enumerate(linalg_op.reads):
        if k not in linalg_op.live:
            continue
        x = tensor_of(read.value)
        axes = [loops[d] for d in _loops_of(read)]
        if k == position:
            x = tensor_of(source.src)
        else:
            x = b.expand(x, neighbours(axes), [extents[d] for d in sum(axes, [])])
        operands.append(x)
        maps.append(sum(axes, []))
    axes = [loops[d] for d in _loops_of(linalg_op.write)]
    made = _pointwise(b, linalg_op, operands, [*maps, sum(axes, [])], extents)
    return b.collapse(made, neighbours(axes))


def _why_behind_concat(linalg_op: LinalgOp, position: int, source: tensor.ConcatOp) -> str | None:
    """Why an operation stays behind a concat: it must read no other value along its axis."""
    loop = linalg_op.reads[position].index[source.dim.value.data].bare
    others = [linalg_op.reads[k] for k in linalg_op.live if k != position]
    if loop is None or any(other.uses(loop) for other in others):
        return "it reads other values along the axis of the concat"
    return None


def _before_concat(
    b: Builder, linalg_op: LinalgOp, position: int, source: tensor.ConcatOp
) -> Tensor:
    """The operation on each part of the concat."""
    (loop,) = linalg_op.reads[position].index[source.dim.value.data].loops()
    maps = [_loops_of(linalg_op.reads[k]) for k in linalg_op.live]
    parts: list[Tensor] = []
    for part in source.inputs:
        extents = list(linalg_op.extents)
        extents[loop] = shape_of(part)[source.dim.value.data]
        operands = [
            tensor_of(part if k == position else linalg_op.reads[k].value) for k in linalg_op.live
        ]
        parts.append(
            _pointwise(b, linalg_op, operands, [*maps, _loops_of(linalg_op.write)], extents)
        )
    return b.concat(parts, _loops_of(linalg_op.write).index(loop), linalg_op.extents[loop])


def _why_behind_move(linalg_op: LinalgOp, position: int, source: GenericOp) -> str | None:
    """Why an operation stays behind a transpose.

    It must read this one value, element by element, and the transpose must store each element once:
    repeated elements are computed while they are read.
    """
    if linalg_op.live != [position] or linalg_op.reads[position].index != linalg_op.write.index:
        return "it reads other values, too, or at other indices than it writes"
    x = _moved(source)
    if producer_of(x) is None:
        return "others read the value before the transpose, too"
    if element_of(x) != element_of(linalg_op.op.results[0]):
        return "it changes the type of elements"
    if prod(shape_of(x)) != prod(shape_of(source.results[0])):
        return "the transpose repeats elements, or leaves some out"
    return None


def _moved(source: GenericOp) -> SSAValue:
    """The value that a transpose reads."""
    move = LinalgOp(source)
    return move.reads[move.live[0]].value


def _before_move(b: Builder, linalg_op: LinalgOp, source: GenericOp) -> Tensor:
    """The operation on the value before the transpose."""
    x = _moved(source)
    element = element_of(linalg_op.op.results[0])
    axes = list(range(len(shape_of(x))))
    made = _pointwise(b, linalg_op, [tensor_of(x)], [axes, axes], shape_of(x))
    inputs = [made.value if value is x else value for value in source.inputs]
    return rebuilt(b, source, inputs, b.empty(shape_of(source.results[0]), element))


def _is_move(linalg_op: LinalgOp) -> bool:
    """Whether it stores the elements of one value in another order, as they are."""
    moved = [linalg_op.yielded] == [linalg_op.body.args[k] for k in linalg_op.live]
    fresh = isinstance(outs_of(linalg_op.op).owner, tensor.EmptyOp)
    return moved and fresh and linalg_op.may_be_rebuilt


def _loops_of(access: TensorAccess) -> list[int]:
    return list(access.axes or ())


def _pointwise(
    b: Builder,
    linalg_op: LinalgOp,
    operands: Sequence[Tensor],
    maps: Sequence[Sequence[int]],
    extents: Sequence[int],
) -> Tensor:
    """The body of an operation on other operands; the last map says where it writes."""
    op = linalg_op.op
    shape = [extents[d] for d in maps[-1]]
    outs = b.empty(shape, element_of(op.results[0]))
    body = op.body.clone()
    for position in reversed(range(len(linalg_op.reads))):
        if position not in linalg_op.live:
            body.block.erase_arg(body.block.args[position])
    made = generic(
        [x.value for x in operands],
        outs.value,
        ArrayAttr([indexing_map(len(extents), map(AffineDimExpr, loops)) for loops in maps]),
        ArrayAttr([PARALLEL] * len(extents)),
        body,
        op.doc,
    )
    b.block.add_op(made)
    return Tensor(made.results[0], tuple(shape))
