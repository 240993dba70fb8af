"""A computation on a part of its result: the same computation, on parts of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.tensors import pad_sides
from ncc.compiler.linalg.view import Access, View, constant_number
from ncc.dialects.comprehension import Builder, Tensor, generic
from ncc.dialects.element import element_of
from ncc.dialects.operation import copied


def part(
    b: Builder, op: GenericOp, shape: Sequence[int], operand: Callable[[Access, View], SSAValue]
) -> Tensor:
    """The computation with a result of that shape, on what `operand` says instead of each read."""
    view = View(op)
    inputs = [operand(access, view) for access in view.reads]
    outs = _start(b, op, shape, operand)
    maps, kinds = op.indexing_maps, op.iterator_types
    new = generic(inputs, outs.value, maps, kinds, copied(op.body), op.doc)
    b.block.add_op(new)
    return Tensor(new.results[0], outs.shape)


def _start(
    b: Builder, op: GenericOp, shape: Sequence[int], operand: Callable[[Access, View], SSAValue]
) -> Tensor:
    """What the computation starts from."""
    start, element = op.outputs[0].owner, element_of(op.results[0])
    if isinstance(start, GenericOp):
        return part(b, start, shape, operand)
    number = constant_number(start.inputs[0]) if isinstance(start, FillOp) else None
    return b.empty(shape, element) if number is None else b.full(shape, number, element)


def is_image(view: View, moves: Callable[[Access, View], bool]) -> bool:
    """Whether the result is an image (channels, height, width) that can be computed in parts.

    moves: whether a part of the result needs a part of an operand, or all of one that stands still;
    so it must be for what the computation starts from, too.
    """
    if len(view.write.index) != 3 or any(form.bare is None for form in view.write.index):
        return False
    if view.indexed or view.captured or view.op.attributes:
        return False
    start = view.op.outputs[0].owner
    if isinstance(start, GenericOp):
        first = View(start)
        if not first.is_pointwise or not is_image(first, moves):
            return False
    elif not isinstance(start, FillOp | tensor.EmptyOp):
        return False
    return all(moves(access, view) for access in view.reads)


def span(access: Access, view: View, axis: int, first: int, last: int) -> tuple[int, int]:
    """The window of an operand that cells [first, last) of the result read, along an axis.

    The constant of the index counts from its begin.
    """
    loop, form = view.write.index[axis].bare, access.index[axis]
    others = sum(f * (view.extents[d] - 1) for d, f in form.terms if d != loop)
    step = 0 if loop is None else form.coefficient(loop)
    return step * first, step * (last - 1) + others + form.constant + 1


def no_window_is_border(access: Access, view: View, axis: int) -> bool:
    """Whether all cells of the result along an axis read more of an operand than its padding."""
    pad = access.value.owner
    if not isinstance(pad, tensor.PadOp):
        return True
    reach = span(access, view, axis, 0, 1)[1]
    return max(side[axis] for side in pad_sides(pad)) < reach


def inside_pad(first: int, last: int, before: int, extent: int) -> tuple[int, int, int, int]:
    """Cells [first, last) along an axis of a padded value: those of the value, [begin, end), and
    how many of the border lie in front and behind. before, extent: the padding, and the value's.
    """
    begin, end = max(0, first - before), min(extent, last - before)
    return begin, end, begin - (first - before), (last - before) - end
