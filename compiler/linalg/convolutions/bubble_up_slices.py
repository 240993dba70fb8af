"""Convolutions compute only the elements that a later slice keeps.

    %p = pad %x by 6 and 6                         %p = pad %x by 6 and 0
    %y = relu(conv(%p))                   ->       %y = relu(conv(%p))
    %z = %y without its last 6 elements

Frameworks write causal convolutions like this: padded on both sides, then cropped. The pass also
slices pointwise operations between a convolution and the slice, pads, and the inputs of pads.

Needs: the linalg level, sequences not yet images.  Breaks: the order of floating-point sums
where a smaller result gets other tiles.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.uses import producer_of
from ncc.compiler.linalg.rewrite.decisions import Decisions
from ncc.compiler.linalg.rewrite.insert import erase_dead, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import (
    Span,
    has_parts,
    image_loops,
    inside_pad,
    part,
    span,
    stands_or_moves,
    window_of,
    window_of_pad,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.dialects.index_notation import Builder
from ncc.dialects.operation import ops_of
from ncc.dialects.structured import offsets_of, pad_sides


class BubbleUpSlices(LinalgChoice["_Sliced"]):
    """Slice the operands of convolutions instead of their results."""

    name = "bubble-up-slices"

    def match(self, op: GenericOp) -> _Sliced | str | None:
        users = (use.operation for use in op.results[0].uses)
        slices = [user for user in users if isinstance(user, tensor.ExtractSliceOp)]
        if not slices or not _follows_convolution(op):
            return None
        if not op.results[0].has_one_use():
            return "the slice is not its only reader"
        slice = slices[0]
        begin, size = offsets_of(slice), shape_of(slice.result)
        if any(step != 1 for step in slice.static_strides.get_values()):
            return "the slice has a stride"
        if size[0] != shape_of(slice.source)[0]:
            return "the slice keeps some of the channels"
        spans = tuple((first, first + n) for first, n in zip(begin[1:], size[1:], strict=True))
        found = _Sliced(op, slice, spans)
        return found if found.reads_values() else "the slice keeps elements that read border alone"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        """Rewrite in front of each slice. A rewrite makes slices of operands, which are next."""
        left = [one for one in _slices(block) if one.result.uses][::-1]
        while left:
            op = left.pop().source.owner
            found = self.decide(op, decisions) if isinstance(op, GenericOp) else None
            if found is not None:
                left += found.rewrite()
                erase_dead(block)


def _slices(block: Block) -> list[tensor.ExtractSliceOp]:
    return [op for op in ops_of(block) if isinstance(op, tensor.ExtractSliceOp)]


class _Sliced(NamedTuple):
    """An operation and its only reader, a slice. spans: the part of each axis after the channels
    that the slice keeps.
    """

    op: GenericOp
    slice: tensor.ExtractSliceOp
    spans: tuple[Span, ...]

    def _spans(self, access: TensorAccess, linalg_op: LinalgOp) -> list[Span]:
        """The part of each axis of an operand, after the channels, that the slice needs."""
        return [span(access, linalg_op, axis, *kept) for axis, kept in enumerate(self.spans, 1)]

    def reads_values(self) -> bool:
        """Whether it reads more of padded operands than their border."""
        linalg_op = LinalgOp(self.op)
        for access in linalg_op.reads:
            pad = access.value.owner
            if isinstance(pad, tensor.PadOp) and _moves(access, linalg_op):
                fronts, extents = pad_sides(pad)[0][1:], shape_of(pad.source)[1:]
                spans = zip(self._spans(access, linalg_op), fronts, extents, strict=True)
                for read, before, extent in spans:
                    begin, end, *_ = inside_pad(*read, before, extent)
                    if begin >= end:
                        return False
        return True

    def rewrite(self) -> list[tensor.ExtractSliceOp]:
        """Replace the slice by an operation on slices of operands; returns these."""
        b = Builder(Block())

        def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
            if not _moves(access, linalg_op):
                return access.value
            spans, pad = self._spans(access, linalg_op), access.value.owner
            if isinstance(pad, tensor.PadOp):
                return window_of_pad(b, pad, spans).value
            return window_of(b, tensor_of(access.value), spans).value

        made = part(b, self.op, shape_of(self.slice.result), operand)
        slices = _slices(b.block)
        replace_op(self.slice, b, made)
        return slices


def _moves(access: TensorAccess, linalg_op: LinalgOp) -> bool:
    """Whether different elements of an image read different elements of an operand."""
    return any(map(access.uses, image_loops(linalg_op)))


def _follows_convolution(op: GenericOp) -> bool:
    """Whether op sums products over a window, or follows such a sum elementwise; each operation is
    the only reader of the one before it.
    """
    left: list[GenericOp | None] = [op]
    while left:
        one = left.pop()
        if one is None:
            continue
        linalg_op = LinalgOp(one)
        if not has_parts(linalg_op, stands_or_moves):
            continue
        dims = ConvolutionDims.of(linalg_op)
        if dims is not None and dims.filter_loop:
            return True
        if linalg_op.is_pointwise:
            at = linalg_op.write.index
            left += [producer_of(read.value) for read in linalg_op.reads if read.index == at]
    return False
