"""Small images are convolved directly, or in smaller tiles than large ones.

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
of them are cheaper than its tiles, by the model of costs.

Where there are many weights, a third part is for images between these: the more elements a tile
has, the more weights there are, and the fewer products. So such images take smaller tiles, or let
the run transform the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import isqrt

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.choose_tiles import Costs, cost_of, costs_of
from ncc.compiler.linalg.convolutions.convolution import Convolution
from ncc.compiler.linalg.convolutions.tiling import Tiling, has_many_weights
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
from ncc.dialects.size import is_open, largest, smallest

BEYOND = 1 << 32
"""More rows than an image has."""


def part_small_images(convolution: Convolution) -> dict[GenericOp, Convolution | None]:
    """Compute small images by operations of their own: these, as convolutions in tiles, or None for
    one that is direct. None of them where no image is small, or where a pool reads strips of the
    result.
    """
    op, operations = convolution.op, [convolution.op, *following(convolution.op)]
    last = operations[-1].results[0]
    if not is_image(LinalgOp(op), stands_or_moves) or _is_pooled(last):
        return {}
    axis = ROWS if is_open(convolution.tiling.height) else COLUMNS
    left = count = shape_of(last)[axis]
    b, found, made = Builder(Block()), dict[GenericOp, Convolution | None](), list[Tensor]()
    for tiling, sizes, likely in _ways(convolution):
        few = _few(sizes, left, likely)
        if few != 0:
            first, result = _part(b, operations, axis, few)
            found[first] = None if tiling is None else convolution.of_small_image(first, tiling)
            made.append(result)
            left -= _few(sizes, left, 0)
    if not made:
        return {}
    if left != 0:  # else limits of the image leave none that is larger
        made.append(_part(b, operations, axis, left)[1])
    replace_op(operations[-1], b, b.concat(made, axis, count))
    return found


def _ways(convolution: Convolution) -> Iterator[tuple[Tiling | None, Sequence[int], int]]:
    """How small images are computed, the smallest first: the tiles, or None; sizes, one of which is
    as large as all rows of such an image, while none is positive for any other; and for how many
    rows, or columns, decisions are taken.
    """
    tiling, split, own, most = convolution.tiling, convolution.bf16x3, None, 0
    many = has_many_weights(convolution.weights, tiling.form.stride, tiling.target)
    if many and not split:
        own, most = _own_tiles(tiling)
    likely = max(1, isqrt(_most_direct(tiling, split)) // 2) if split else 1
    yield None, _direct(own or tiling, split), likely
    if own is not None:
        yield own, [most * (most + 1 - tiling.height * tiling.width)], isqrt(most)


def _few(sizes: Sequence[int], count: int, hint: int) -> int:
    """So many rows, or columns, as a small image has; 0 for any other one. count: all of them.
    hint: for how many decisions are taken.
    """
    few = largest(0, *sizes, hint=hint)
    return smallest(count, few) if is_open(few) else 0


@cache
def _own_tiles(tiling: Tiling) -> tuple[Tiling | None, int]:
    """The best tiles for the image for which they save most, and the elements of the largest image
    for which they are cheaper; None where they never save much.
    """
    model, found = tiling.target.costs.winograd, tiling
    worth = model.own_worth
    # Of sides between multiples of four, tiles with four elements waste most.
    images = [_square(tiling, side) for side in range(model.large_extent - 2, 0, -4)]
    for image in images:
        costs = _costs_of(image)
        best, cycles = costs.tilings[0]
        share = cycles / min(costs.direct, cost_of(image))
        if share < worth:
            worth, found = share, best
    if found is tiling:
        return None, 0
    pairs = ((_in_form_of(found, image), image) for image in images)
    most = next(image for own, image in pairs if cost_of(own) < cost_of(image))
    return _in_form_of(found, tiling), most.height * most.width


def _in_form_of(tiling: Tiling, image: Tiling) -> Tiling:
    """The tiles of an image in the form of others."""
    return replace(image, form=tiling.form, formed=tiling.formed)


@cache
def _direct(tiling: Tiling, split: bool) -> tuple[int, ...]:
    """Sizes, one of which is as large as all rows of an image that is convolved directly; for
    others none is positive. An image with more elements has these tiles.

    split: whether direct sums may use bf16x3.
    """
    height, width = tiling.height, tiling.width
    most, (rows, columns) = _most_direct(tiling, split), tiling.axes
    small = [most * (most + 1 - height * width)] if most else []
    # A single row, or column, sees the image through one row, or column, of taps.
    of_line = tiling.form.taps ** (sum(tiling.axes) - 1)
    line = tiling.by_hint()
    if rows and is_open(height) and _is_direct(replace(line, height=1), of_line, split):
        small.append(BEYOND * (2 - height))
    if columns and is_open(width) and _is_direct(replace(line, width=1), of_line, split):
        small.append(BEYOND * (2 - width))
    return tuple(small)


@cache
def _most_direct(tiling: Tiling, split: bool) -> int:
    """The elements of the largest image that is cheaper directly."""
    taps, costs = tiling.form.taps ** sum(tiling.axes), tiling.target.costs
    compared = costs.convolutions.most_small_elements
    if split:
        compared = costs.winograd.large_extent**2
    for image in (_square(tiling, side) for side in range(compared, 0, -1)):
        if image.height * image.width <= compared and _is_direct(image, taps, split):
            return image.height * image.width
    return 0


def _square(tiling: Tiling, side: int) -> Tiling:
    """The tiles of an image with that side: a square, unless another side is known."""
    height, width = (side if is_open(n) else n for n in (tiling.height, tiling.width))
    return replace(tiling, height=height, width=width)


def _is_direct(image: Tiling, taps: int, split: bool) -> bool:
    """Whether the sums of so many taps are cheaper than tiles, for an image."""
    points = image.height * image.width / image.target.costs.convolutions.small_fill
    direct = sum_cycles(taps * image.outputs * image.inputs, points, image.target)
    costs = _costs_of(image, split)
    if costs.direct_on_tiles is not None:
        all_taps = image.form.taps ** sum(image.axes)
        direct = min(direct, costs.direct_on_tiles * taps / all_taps)
    return all(direct < cycles for one, cycles in costs.tilings if one.is_like(image))


def _costs_of(t: Tiling, split: bool = False) -> Costs:
    """What competes for an image."""
    image = t.outputs, t.inputs, t.height, t.width, t.target, t.groups, t.depth, t.dilation
    return costs_of(*image, t.axes, t.form.taps, t.form.stride, split, opened=True)


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
