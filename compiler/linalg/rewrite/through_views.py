"""Pads, concats, slices and reshapes of a value that a rewrite replaces.

    pad(x) by rows and columns         ->    pad(x in blocks) by rows and columns, not by lanes

If a view does not change an axis, that axis may become another one, or two axes: some channels,
blocks of channels, bf16 numbers, images of one row. The view stays the same along the other axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeVar

from xdsl.dialects import tensor
from xdsl.ir import Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of, pad_value
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.structured import offsets_of, pad_sides

T = TypeVar("T")


def leaves_whole(op: Operation, axis: int) -> bool:
    """Whether a pad, a concat or a slice leaves an axis of its operands as it is."""
    if isinstance(op, tensor.PadOp):
        return not any(side[axis] for side in pad_sides(op))
    whole = shape_of(op.results[0])[axis]
    return all(shape_of(operand)[axis] == whole for operand in op.operands)


def same_view(
    b: Builder,
    op: Operation,
    operands: Sequence[Tensor],
    behind: int | None = None,
    block: int = 1,
) -> Tensor:
    """The view op, applied to other operands.

    behind: the operands have one more axis than those of op; so many axes follow it. block: one
    element of their first axis stands for so many of op's. Axes that op leaves whole may have any
    extent.
    """
    x, own = operands[0], shape_of(op.operands[0])
    more = None if behind is None else len(own) - behind
    at = [axis + (more is not None and axis >= more) for axis in range(len(own))]

    def widened(numbers: Sequence[T], between: T) -> list[T]:
        """Numbers for the axes of the operands: those of op, and one for the axis that it lacks."""
        if more is None:
            return list(numbers)
        return [*numbers[:more], between, *numbers[more:]]

    match op:
        case tensor.PadOp():
            low, high = pad_sides(op)
            return b.pad(x, widened(low, 0), widened(high, 0), pad_value(op))
        case tensor.ConcatOp():
            axis = op.dim.value.data
            extent = shape_of(op.result)[axis] if axis else None  # channels may be in blocks
            return b.concat(operands, at[axis], extent)
        case tensor.ExtractSliceOp():
            begin = offsets_of(op)
            begin[0] //= block
            size = list(x.shape)
            for axis, extent in enumerate(shape_of(op.result)):
                if not leaves_whole(op, axis):
                    size[at[axis]] = -(-extent // block) if axis == 0 else extent
            return b.slice(x, widened(begin, 0), size)
        case tensor.CollapseShapeOp():
            groups = [[at[axis] for axis in group] for group in groups_of(op)]
            return b.collapse(x, groups if more is None else sorted([*groups, [more]]))
        case tensor.ExpandShapeOp():
            shape = shape_of(op.result)
            parts = [[shape[axis] for axis in group] for group in groups_of(op)]
            for axis, part in enumerate(parts):
                part[-1] = x.shape[at[axis]] // prod(part[:-1])
            parts = widened(parts, [] if more is None else [x.shape[more]])
            return b.expand(x, neighbours(parts), [extent for part in parts for extent in part])
    raise CompilerBug(f"{op.name} is no view")


def neighbours(parts: Sequence[Sequence[int]]) -> list[list[int]]:
    """The axes in order, in groups as long as the parts."""
    groups: list[list[int]] = []
    for part in parts:
        first = sum(map(len, groups))
        groups.append(list(range(first, first + len(part))))
    return groups
