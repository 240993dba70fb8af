"""Small images are convolved directly, where larger ones are in tiles.

    %y = relu(conv(%p))    ->      %a = relu(conv(rows [0, few) of %p))              directly
                                   %b = relu(conv(rows [0, height - few) of %p))     in tiles
                                   %y = concat rows (%a, %b)

The weights of tiles are four times as many, and a small image reads them for a few tiles. Of a
single row, or column, tiles compute several; a direct sum has a third of the taps there
(`skip_border_taps.py`). Where the run tells how large an image is, both ways are in the plan, and
`few` is all rows of a small image, and 0 for any other one. So one part has all rows, the other
none, and both read from the first row on. Decisions about the part in tiles are taken for all rows
of the hint, also if it is small, and those about the other part for one row.

An image is small if it has one row, or one column, or so few elements that direct sums for a square
of them are cheaper than its tiles of this form, by the model of costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.choose_tiles import costs_of
from ncc.compiler.linalg.convolutions.convolution import Convolution
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.data_types.product_cycles import sum_cycles
from ncc.compiler.linalg.rewrite.insert import generic_of, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import (
    COLUMNS,
    ROWS,
    following,
    image_loops,
    is_image,
    part,
    stands_or_moves,
)
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import hint, is_open, largest, smallest

BEYOND = 1 << 32
"""More rows than an image has."""


def part_small_images(convolution: Convolution) -> GenericOp | None:
    """Compute small images by operations of their own; the sum of these. None where no image is
    small, or where a pool reads strips of the result.
    """
    op, operations = convolution.op, [convolution.op, *following(convolution.op)]
    last = operations[-1].results[0]
    if not is_image(LinalgOp(op), stands_or_moves) or _is_pooled(last):
        return None
    axis = ROWS if is_open(convolution.tiling.height) else COLUMNS
    count = shape_of(last)[axis]
    few = _few(convolution.tiling, count, hint=1)
    if few == 0:
        return None
    b = Builder(Block())
    rest = count - _few(convolution.tiling, count, hint=0)
    (direct, small), (_, others) = (_part(b, operations, axis, n) for n in (few, rest))
    replace_op(operations[-1], b, b.concat([small, others], axis, count))
    return direct


def _few(tiling: Tiling, count: int, hint: int) -> int:
    """So many rows, or columns, as a small image has; 0 for any other one. count: all of them.
    hint: for how many decisions are taken.
    """
    few = largest(0, *_small(tiling), hint=hint)
    return smallest(count, few) if is_open(few) else 0


@cache
def _small(tiling: Tiling) -> tuple[int, ...]:
    """Sizes, one of which is as large as all rows of a small image; for others none is positive."""
    height, width = tiling.height, tiling.width
    most, (rows, columns) = _most_elements(tiling), tiling.axes
    compared = tiling.target.costs.convolutions.most_small_elements
    small = [compared * (most + 1 - height * width)] if most else []
    # A single row, or column, sees the image through one row, or column, of taps.
    of_line = tiling.form.taps ** (sum(tiling.axes) - 1)
    if rows and is_open(height) and _is_cheaper(tiling, 1, hint(width), of_line):
        small.append(BEYOND * (2 - height))
    if columns and is_open(width) and _is_cheaper(tiling, hint(height), 1, of_line):
        small.append(BEYOND * (2 - width))
    return tuple(small)


def _most_elements(tiling: Tiling) -> int:
    """The elements of the largest image, a square if it may be one, that is cheaper directly."""
    taps = tiling.form.taps ** sum(tiling.axes)
    compared = tiling.target.costs.convolutions.most_small_elements
    for side in range(compared, 0, -1):
        height, width = (side if is_open(n) else n for n in (tiling.height, tiling.width))
        if height * width <= compared and _is_cheaper(tiling, height, width, taps):
            return height * width
    return 0


def _is_cheaper(t: Tiling, height: int, width: int, taps: int) -> bool:
    """Whether the sums of so many taps are cheaper than tiles, for an image."""
    direct = sum_cycles(taps * t.outputs * t.inputs, height * width, t.target)
    image = t.outputs, t.inputs, height, width, t.target
    sizes = t.groups, t.depth, t.dilation, t.axes, t.form.taps, t.form.stride
    tilings = costs_of(*image, *sizes, opened=True).tilings
    alike = [cycles for one, cycles in tilings if (one.form, one.formed) == (t.form, t.formed)]
    return all(direct < cycles for cycles in alike)


def _is_pooled(value: SSAValue) -> bool:
    """Whether a pool makes an image of it, not a vector."""
    reader = reader_of(value)
    if reader is None or not is_open(*shape_of(reader.results[0])):
        return False
    return bool(LinalgOp(reader).reduced) and not LinalgOp(reader).product


def _part(
    b: Builder, operations: Sequence[GenericOp], axis: int, count: int
) -> tuple[GenericOp, Tensor]:
    """The operations for some rows, or columns, of the last result; the first of them, and that."""
    made: dict[SSAValue, Tensor] = {}

    def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
        if access.value in made:
            return made[access.value].value
        if linalg_op.reduced or not any(map(access.uses, image_loops(linalg_op))):
            return access.value
        return b.cut(tensor_of(access.value), axis, 0, count).value

    for op in operations:
        shape = list(shape_of(op.results[0]))
        shape[axis] = count
        made[op.results[0]] = part(b, op, shape, operand)
    first, last = (made[operations[n].results[0]] for n in (0, -1))
    return generic_of(first), last
