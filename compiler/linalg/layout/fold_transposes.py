"""Folds transposes that read transposes into one.

    z[i, g] = y[g * 20 + i],  y = collapse(u),  u[g, i] = x[g, i]      ->  z[i, g] = x[g, i]
    z[j, p] = concat(x, y)[p * 58 + j]                     ->  concat over p of x[j], of y[j]

A move (`Move`) is a pointwise operation that stores the elements that it reads: a conversion
between layouts, a transpose, a shuffle of channels. If a move alone reads other moves, through
reshapes and concats or not, it reads their sources instead, and the concat joins its own results. A
loop is split where a reshape splits an axis. A move that puts all elements back in order is a
reshape.

Needs: the linalg level before groups.  Breaks: nothing; results are equal bit by bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, contiguous, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of
from ncc.compiler.linalg.rewrite.insert import builder_for, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import by_hint, is_never_below


class FoldTransposes(LinalgPattern["_Folding"]):
    """Let a transpose, or other move, read the sources of the moves that it reads."""

    name = "fold-transposes"

    def match(self, op: GenericOp) -> _Folding | str | None:
        move = Move.of(op)
        if move is None:
            return None
        moved = _is_moved(move.source)
        return _Folding(op, move) if moved else "its operand is no transpose for it alone"

    def rewrite(self, found: _Folding) -> None:
        b = builder_for(found.op)
        replace_op(found.op, b, _written(b, found.move))


@dataclass(frozen=True)
class Move:
    """result[p] = source[index], linear forms of the axes of the result."""

    source: SSAValue
    index: tuple[AffineForm, ...]
    shape: tuple[int, ...]

    @staticmethod
    def of(op: Operation) -> Move | None:
        """The move that an operation is, if it does nothing else."""
        if not isinstance(op, GenericOp):
            return None
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise or linalg_op.computes_coordinates or len(linalg_op.live) != 1:
            return None
        if linalg_op.yielded is not linalg_op.body.args[linalg_op.live[0]]:
            return None
        axes = {form.bare: axis for axis, form in enumerate(linalg_op.write.index)}
        read = linalg_op.reads[linalg_op.live[0]]
        if None in axes or len(axes) != len(linalg_op.extents):
            return None
        index = [AffineForm.of({axes[d]: c for d, c in f.terms}, f.constant) for f in read.index]
        return Move.to(shape_of(op.results[0]), read.value, index)

    @staticmethod
    def to(shape: Sequence[int], source: SSAValue, index: Sequence[AffineForm]) -> Move:
        """A move without axes of extent 1 in its forms: their index is always 0."""
        forms = tuple(
            AffineForm.of({d: c for d, c in form.terms if shape[d] != 1}, form.constant)
            for form in index
        )
        return Move(source, forms, tuple(shape))


class _Folding(NamedTuple):
    """A move of a value that moves made."""

    op: GenericOp
    move: Move


def _is_moved(value: SSAValue) -> bool:
    """Whether moves for a single reader made a part of the value.

    A slice counts as one: it has to be copied into a concat.
    """
    if not value.has_one_use():
        return False
    match value.owner:
        case tensor.CollapseShapeOp() | tensor.ExpandShapeOp() as op:
            return _is_moved(op.src)
        case tensor.ConcatOp() as op:
            return any(
                _is_moved(x) or isinstance(x.owner, tensor.ExtractSliceOp) for x in op.inputs
            )
        case GenericOp() as op:
            return Move.of(op) is not None
    return False


def _written(b: Builder, move: Move) -> Tensor:
    """The result of a move of the first source behind moves for a single reader."""
    made = None
    if _is_moved(move.source):
        match move.source.owner:
            case tensor.CollapseShapeOp() as op:
                made = _through_collapse(b, move, op)
            case tensor.ExpandShapeOp() as op:
                made = _written(b, Move(op.src, _joined(move, op), move.shape))
            case tensor.ConcatOp() as op:
                made = _through_concat(b, move, op)
            case GenericOp() as op:
                made = _through_move(b, move, op)
    if made is not None:
        return made
    if _stays(move):
        return b.reshape(tensor_of(move.source), move.shape)
    loops = b.loops_of(move.shape)
    at = [form.expression for form in move.index]
    return b.map(loops, _walked(b, move)[at])


def _stays(move: Move) -> bool:
    """Whether the result has all elements of the source, in the same order."""
    shape = shape_of(move.source)
    return prod(shape) == prod(move.shape) and _number(move.index, shape) == _number(
        [AffineForm.of({axis: 1}) for axis in range(len(move.shape))], move.shape
    )


def _number(index: Sequence[AffineForm], shape: Sequence[int]) -> AffineForm:
    """The position of an element in a shape, in row-major order."""
    terms = Counter[int]()
    constant = 0
    for form, stride in zip(index, contiguous(shape), strict=True):
        for loop, factor in form.terms:
            terms[loop] += factor * stride
        constant += form.constant * stride
    return AffineForm.of(terms, constant)


def _walked(b: Builder, move: Move) -> Tensor:
    """The source of a move: of an axis that one loop walks, as much as the loop walks."""
    source = tensor_of(move.source)
    loops = [form.bare for form in move.index]
    shape = [n if d is None else move.shape[d] for d, n in zip(loops, source.shape, strict=True)]
    return b.slice(source, [0] * source.rank, shape)


def _through_move(b: Builder, move: Move, op: GenericOp) -> Tensor | None:
    """Both moves in one: the first one's axes are the forms that the second one reads it at."""
    before = Move.of(op)
    if before is None:
        return None
    index = tuple(_substituted(form, move.index) for form in before.index)
    return _written(b, Move(before.source, index, move.shape))


def _substituted(form: AffineForm, by: Sequence[AffineForm]) -> AffineForm:
    """A form whose loops are forms themselves."""
    terms: dict[int, int] = {}
    constant = form.constant
    for loop, factor in form.terms:
        constant += factor * by[loop].constant
        for inner, more in by[loop].terms:
            terms[inner] = terms.get(inner, 0) + factor * more
    return AffineForm.of(terms, constant)


def _through_concat(b: Builder, move: Move, op: tensor.ConcatOp) -> Tensor | None:
    """A concat of moves, where the slowest loop of the joined axis does not cross a border."""
    axis = op.dim.value.data
    form = move.index[axis]
    if not form.terms or form.constant:
        return None
    loop, factor = max(form.terms, key=lambda term: term[1])
    extents = [shape_of(part)[axis] for part in op.inputs]
    rest = AffineForm.of({d: c for d, c in form.terms if d != loop})
    beside = any(other.coefficient(loop) for k, other in enumerate(move.index) if k != axis)
    whole = move.shape[loop] * factor == shape_of(op.result)[axis]
    if beside or not whole or any(n % factor for n in extents):
        return None
    if not _is_below(rest, factor, move.shape):
        return None
    parts: list[Tensor] = []
    for part, extent in zip(op.inputs, extents, strict=True):
        shape = list(move.shape)
        shape[loop] = extent // factor
        parts.append(_written(b, Move.to(shape, part, move.index)))
    return b.concat(parts, loop, move.shape[loop])


def _is_below(form: AffineForm, limit: int, shape: Sequence[int]) -> bool:
    """Whether a form stays between 0 and a limit, for images of every size."""
    most = form.constant + sum(c * (shape[d] - 1) for d, c in form.terms)
    is_positive = form.constant >= 0 and all(c > 0 for _, c in form.terms)
    return is_positive and is_never_below(limit, most + 1)


def _through_collapse(b: Builder, move: Move, op: tensor.CollapseShapeOp) -> Tensor | None:
    """The move in terms of the axes before the reshape: digits of its forms, in mixed radix."""
    shape = shape_of(op.src)
    index: list[AffineForm] = []
    for form, group in zip(move.index, groups_of(op), strict=True):
        digits: list[AffineForm] = []
        for axis in reversed(group[1:]):
            inner = shape[axis]
            low = AffineForm.of({d: c for d, c in form.terms if c % inner}, form.constant)
            if not _is_below(low, inner, move.shape):
                return _split(b, move, low, inner)
            digits.append(low)
            form = AffineForm.of({d: c // inner for d, c in form.terms if not c % inner})
        index += [form, *reversed(digits)]
    return _written(b, Move(op.src, tuple(index), move.shape))


def _joined(move: Move, op: tensor.ExpandShapeOp) -> tuple[AffineForm, ...]:
    """The indices of a move in terms of the axes before they were split."""
    shape = shape_of(op.result)
    return tuple(
        _number([move.index[axis] for axis in group], [shape[axis] for axis in group])
        for group in groups_of(op)
    )


def _split(b: Builder, move: Move, low: AffineForm, inner: int) -> Tensor | None:
    """The same move with a loop in two where it passes the end of an inner axis."""
    for loop, factor in low.terms:
        size, extent = inner // factor if factor > 0 else 0, move.shape[loop]
        with by_hint():
            if size <= 0 or extent <= size:
                continue
        if inner % factor or extent % size:
            continue
        at = [d if d <= loop else d + 1 for d in range(len(move.shape))]
        index = tuple(
            AffineForm.of(
                {
                    **{at[d]: c for d, c in form.terms if d != loop},
                    loop: form.coefficient(loop) * size,
                    loop + 1: form.coefficient(loop),
                },
                form.constant,
            )
            for form in move.index
        )
        shape = (*move.shape[:loop], extent // size, size, *move.shape[loop + 1 :])
        made = _written(b, Move(move.source, index, shape))
        groups = [[at[d]] if d != loop else [loop, loop + 1] for d in range(len(move.shape))]
        return b.collapse(made, groups)
    return None
