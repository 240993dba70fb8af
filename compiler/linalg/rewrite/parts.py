"""A part of a result: the same operation, on parts of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, filled_with, outs_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value
from ncc.compiler.linalg.rewrite.insert import rebuilt, tensor_of
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import largest, smallest
from ncc.dialects.structured import pad_sides

ROWS, COLUMNS = 1, 2
"""The axes of an image in (channels, height, width)."""

Span: TypeAlias = tuple[int, int]
"""Elements [first, last) along an axis."""


def part(
    b: Builder,
    op: GenericOp,
    shape: Sequence[int],
    operand: Callable[[TensorAccess, LinalgOp], SSAValue],
) -> Tensor:
    """op with a result of that shape; `operand` replaces each operand."""
    linalg_op = LinalgOp(op)
    inputs = [operand(access, linalg_op) for access in linalg_op.reads]
    return rebuilt(b, op, inputs, start(b, op, shape, operand))


def start(
    b: Builder,
    op: GenericOp,
    shape: Sequence[int],
    operand: Callable[[TensorAccess, LinalgOp], SSAValue],
) -> Tensor:
    """The initial value of the operation, in that shape."""
    first, element = outs_of(op).owner, element_of(op.results[0])
    if isinstance(first, GenericOp):
        return part(b, first, shape, operand)
    number = filled_with(outs_of(op))
    return b.empty(shape, element) if number is None else b.full(shape, number, element)


def is_image(linalg_op: LinalgOp, moves: Callable[[TensorAccess, LinalgOp], bool]) -> bool:
    """Whether the result is an image (channels, height, width) that can be computed in parts."""
    return len(linalg_op.write.index) == 3 and is_space(linalg_op, moves)


def is_space(linalg_op: LinalgOp, moves: Callable[[TensorAccess, LinalgOp], bool]) -> bool:
    """Whether the result is an image or a volume (channels, depth, height, width) that can be
    computed in parts.

    moves: whether a part of the result reads a part of an operand, or the whole of an operand that
    is the same for all parts. It must hold for the initial value, too.
    """
    return len(linalg_op.write.index) in (3, 4) and has_parts(linalg_op, moves)


def has_parts(linalg_op: LinalgOp, moves: Callable[[TensorAccess, LinalgOp], bool]) -> bool:
    """The same for a result with any number of axes after its channels."""
    if linalg_op.write.axes is None or linalg_op.computes_coordinates:
        return False
    if not linalg_op.may_be_rebuilt:
        return False
    start = outs_of(linalg_op.op).owner
    if isinstance(start, GenericOp):
        first = LinalgOp(start)
        if not first.is_pointwise or not has_parts(first, moves):
            return False
    elif not isinstance(start, FillOp | tensor.EmptyOp):
        return False
    return all(moves(access, linalg_op) for access in linalg_op.reads)


def image_loops(linalg_op: LinalgOp) -> list[int]:
    """The loops over the slices, rows and columns of the result."""
    return [form.bare for form in linalg_op.write.index[1:] if form.bare is not None]


def stands_or_moves(access: TensorAccess, linalg_op: LinalgOp) -> bool:
    """Whether each part of the image reads the whole operand, or a part of it."""
    return not any(map(access.uses, image_loops(linalg_op))) or moves_with_image(access, linalg_op)


def moves_with_image(access: TensorAccess, linalg_op: LinalgOp) -> bool:
    """Whether later slices, rows and columns of the result read later ones of the operand."""
    loops = image_loops(linalg_op)
    if len(access.index) != 1 + len(loops) or is_constant(access.value):
        return False
    if access.index[0].loops() & set(loops):
        return False
    # Without a constant no factor is negative: all indices are inside.
    return all(
        form.loops() & set(loops) == {loop} and not form.constant
        for form, loop in zip(access.index[1:], loops, strict=True)
    )


def following(op: GenericOp) -> Iterator[GenericOp]:
    """The pointwise operations after op; each is the only reader of the one before it."""
    while (use := op.results[0].get_unique_use()) is not None:
        user = use.operation
        if not isinstance(user, GenericOp) or outs_of(user) is op.results[0]:
            return
        linalg_op = LinalgOp(user)
        if not linalg_op.is_pointwise or not is_space(linalg_op, stands_or_moves):
            return
        if linalg_op.reads[use.index].index != linalg_op.write.index:
            return
        yield user
        op = user


def window_of(b: Builder, x: Tensor, spans: Sequence[Span]) -> Tensor:
    """Some slices, rows and columns of an image or a volume."""
    size = [last - first for first, last in spans]
    return b.slice(x, [0, *(first for first, _ in spans)], [x.shape[0], *size])


def window_of_pad(b: Builder, pad: tensor.PadOp, spans: Sequence[Span]) -> Tensor:
    """A window of a pad: it is padded where it reaches beyond the source."""
    source = tensor_of(pad.source)
    kept: list[Span] = []
    low, high = ([side[0]] for side in pad_sides(pad))
    fronts = pad_sides(pad)[0][1:]
    for (first, last), before, extent in zip(spans, fronts, source.shape[1:], strict=True):
        begin, end, in_front, behind = inside_pad(first, last, before, extent)
        low.append(in_front)
        high.append(behind)
        kept.append((begin, end))
    return b.pad(window_of(b, source, kept), low, high, pad_value(pad))


def loop_along(linalg_op: LinalgOp, axis: int) -> int:
    """The loop that is an axis of the result."""
    loop = linalg_op.write.index[axis].bare
    if loop is None:
        raise CompilerBug("an axis of a result is no loop")
    return loop


def reach(linalg_op: LinalgOp, form: AffineForm, loop: int | None, size: int) -> int:
    """The number of elements along an axis, from its begin on, that `size` iterations of a loop
    read. form: the index along the axis.
    """
    extents = ((size if d == loop else linalg_op.extents[d], factor) for d, factor in form.terms)
    return form.constant + 1 + sum(factor * (extent - 1) for extent, factor in extents)


def span(access: TensorAccess, linalg_op: LinalgOp, axis: int, first: int, last: int) -> Span:
    """The span of an operand that elements [first, last) of the result read, along an axis.

    It begins with the constant of the index left out.
    """
    loop, form = linalg_op.write.index[axis].bare, access.index[axis]
    begin = 0 if loop is None else form.coefficient(loop) * first
    return begin, begin + reach(linalg_op, form, loop, last - first)


def no_window_is_border(access: TensorAccess, linalg_op: LinalgOp, axis: int) -> bool:
    """Whether each element of the result along an axis reads more of an operand than padding."""
    pad = access.value.owner
    if not isinstance(pad, tensor.PadOp):
        return True
    reach = span(access, linalg_op, axis, 0, 1)[1]
    return all(side[axis] < reach for side in pad_sides(pad))


def inside_pad(first: int, last: int, before: int, extent: int) -> tuple[int, int, int, int]:
    """Elements [first, last) along an axis of a pad: elements [begin, end) of the source, and how
    many of the padding lie before and after them. before, extent: the low padding, and the extent
    of the source.
    """
    begin, end = largest(0, first - before), smallest(extent, last - before)
    return begin, end, begin - (first - before), (last - before) - end
