"""Convolutions read the network's input in place; only elements at the border read padded copies.

    %p = pad %x                    %i = relu(conv(%x))                       the inside
    %c = conv(%p)          ->      %l = relu(conv(pad (first columns of %x)))
    %y = relu(%c)                  %t = relu(conv(pad (first rows of %x)))
                                   %y = concat rows (%t, concat columns (%l, %i))

A kernel can write its result into memory that has room for the border. But the caller owns the
input: to pad it means to copy it, and only the few elements near the border need that. An image
whose size is open is copied: it may be smaller than the window.

Needs: the linalg level before layouts and groups.  Breaks: the order of floating-point sums
where a part gets another layout or schedule than the whole would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, BlockArgument, SSAValue

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.data_types.split_bf16 import fills_a_k_tile
from ncc.compiler.linalg.rewrite.insert import replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import (
    COLUMNS,
    ROWS,
    Span,
    following,
    image_loops,
    is_image,
    moves_with_image,
    no_window_is_border,
    part,
    span,
    stands_or_moves,
    window_of,
    window_of_pad,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.linalg.rewrite.through_views import leaves_whole
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import is_open
from ncc.dialects.structured import pad_sides


@dataclass(frozen=True)
class PeelBorders(LinalgPattern["Peeling"]):
    """Compute the borders of convolutions of inputs separately.

    Inputs that fit the target's first-level cache are copied. Slices of larger inputs are not, even
    small ones: they come from memory.

    bf16x3: whether `SplitBf16` follows, which copies the elements of large windows with the border.
    """

    name = "peel-borders"

    target: Target = AVX512
    bf16x3: bool = False

    def match(self, op: GenericOp) -> Peeling | str | None:
        linalg_op = LinalgOp(op)
        dims = ContractionDims.of(linalg_op)
        if dims is None or not is_image(linalg_op, stands_or_moves):
            return None
        data = dims.lhs
        pad = data.value.owner
        if not isinstance(pad, tensor.PadOp) or not data.value.has_one_use():
            return None
        given, size = _input_of(pad.source), prod(shape_of(pad.source))
        if given is None:
            return None
        if is_open(*shape_of(given), *shape_of(op.results[0])):
            return "its image is open, and a small one has no inside"
        if 4 * prod(shape_of(given)) <= self.target.core.l1_bytes:
            return "its input fits the first-level cache, so that it is copied"
        most = self.target.costs.convolutions.most_peeled_work
        if prod(linalg_op.extents) > most * size:
            return f"it has more than {most} multiply-adds an element, so that a copy costs less"
        if not leaves_whole(pad, 0):
            return "its channels are padded, too"
        # Sums of fewer channels than a block run along rows, and peeling would make these shorter.
        channels = linalg_op.write.index[0].bare
        if channels not in dims.n or linalg_op.extents[channels] < BLOCK:
            return f"it makes fewer than {BLOCK} channels, or its weights do not index them"
        if not moves_with_image(data, linalg_op):
            return "its windows do not move with the image"
        along_row = {d for form in (data.index[0], data.index[-1]) for d in form.loops()}
        if self.bf16x3 and fills_a_k_tile(
            prod(linalg_op.extents[d] for d in linalg_op.reduced if d in along_row),
            self.target.costs,
        ):
            return "bf16x3 copies rows of its windows, with their border"
        rows, columns = (_inside(data, linalg_op, pad, axis) for axis in (ROWS, COLUMNS))
        inside, whole = (rows, columns), shape_of(op.results[0])[1:]
        shares = ((last - first, n) for (first, last), n in zip(inside, whole, strict=True))
        if any(2 * own < n for own, n in shares):
            return "less than half of a row or a column reads no border"
        if not all(no_window_is_border(data, linalg_op, axis) for axis in (ROWS, COLUMNS)):
            return "some of its windows see the border alone"
        if all(last - first == n for (first, last), n in zip(inside, whole, strict=True)):
            return "none of its windows reads the border"
        return Peeling([op, *following(op)], pad, inside)

    def rewrite(self, found: Peeling) -> None:
        last = found.operations[-1]
        _, height, width = shape_of(last.results[0])
        b = Builder(Block())
        replace_op(last, b, found.around(b, ROWS, (0, height), (0, width)))


@dataclass
class Peeling:
    """A convolution of a padded input and its followers.

    inside: the rows and the columns of the result that read no border.
    """

    operations: list[GenericOp]
    pad: tensor.PadOp
    inside: tuple[Span, Span]

    def around(self, b: Builder, axis: int, rows: Span, columns: Span) -> Tensor:
        """A box of the result, cut at the ends of the inside along an axis and the later axes."""
        if axis > COLUMNS:
            return self._part(b, rows, columns)
        whole, inside = (rows, columns)[axis - ROWS], self.inside[axis - ROWS]

        def box(cut: Span, axis_behind: int) -> Tensor:
            return self.around(b, axis_behind, *((cut, columns) if axis == ROWS else (rows, cut)))

        middle = box(inside, axis + 1)
        before = [box((whole[0], inside[0]), COLUMNS + 1)] if whole[0] < inside[0] else []
        behind = [box((inside[1], whole[1]), COLUMNS + 1)] if inside[1] < whole[1] else []
        return b.concat([*before, middle, *behind], axis)

    def _part(self, b: Builder, rows: Span, columns: Span) -> Tensor:
        """The operations for one box of the last result."""
        made: dict[SSAValue, Tensor] = {}

        def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
            if access.value in made:
                return made[access.value].value
            if not any(map(access.uses, image_loops(linalg_op))):
                return access.value
            spans = [
                span(access, linalg_op, axis, *kept)
                for axis, kept in ((ROWS, rows), (COLUMNS, columns))
            ]
            if access.value is self.pad.result:
                return window_of_pad(b, self.pad, spans).value
            return window_of(b, tensor_of(access.value), spans).value

        for op in self.operations:
            channels = shape_of(op.results[0])[0]
            shape = (channels, rows[1] - rows[0], columns[1] - columns[0])
            made[op.results[0]] = part(b, op, shape, operand)
        return made[self.operations[-1].results[0]]


def _input_of(value: SSAValue) -> BlockArgument | None:
    """The network's input, if a value is that input or a window of it."""
    owner = value.owner
    if isinstance(owner, tensor.ExtractSliceOp):
        return _input_of(owner.source)
    return value if isinstance(value, BlockArgument) else None


def _inside(data: TensorAccess, linalg_op: LinalgOp, pad: tensor.PadOp, axis: int) -> Span:
    """The elements of the result along an axis that read no border."""
    extent = shape_of(linalg_op.op.results[0])[axis]
    low, own = pad_sides(pad)[0][axis], shape_of(pad.source)[axis]
    step = span(data, linalg_op, axis, 1, 2)[0]
    reach = span(data, linalg_op, axis, 0, 1)[1]
    return min(-(-low // step), extent), max(0, min((low + own - reach) // step + 1, extent))
