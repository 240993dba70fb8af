"""Convolutions compute only the cells that a slice behind them keeps.

    %p = pad %x by 6 and 6                         %p = pad %x by 6 and 0
    %y = relu(conv(%p))                   ->       %y = relu(conv(%p))
    %z = %y without its last 6 cells

Frameworks write causal convolutions like this: padded on both sides, then cropped. Pointwise
computations between a convolution and the slice are sliced with it; so are pads, and what they pad.

Needs: the linalg level, sequences not yet images.  Breaks: the order of floating-point sums
where fewer cells get other tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import pad_sides
from ncc.compiler.linalg.analysis.uses import producer_of
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
from ncc.dialects.index_notation import Builder
from ncc.dialects.operation import ops_of


@dataclass(frozen=True)
class BubbleUpSlices(ModulePass):
    """Compute no other cells of convolutions; see the head of this file."""

    name = "bubble-up-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        left = [one for one in _slices(block) if one.result.uses][::-1]
        while left:
            found = _Sliced.of(left.pop())
            if found is not None:
                left += found.rewrite()
                erase_dead(block)


def _slices(block: Block) -> list[tensor.ExtractSliceOp]:
    return [op for op in ops_of(block) if isinstance(op, tensor.ExtractSliceOp)]


@dataclass(frozen=True)
class _Sliced:
    """A computation, and the slice that alone reads it. cells: what that keeps along each axis
    behind the channels.
    """

    op: GenericOp
    slice: tensor.ExtractSliceOp
    cells: tuple[Span, ...]

    @staticmethod
    def of(slice: tensor.ExtractSliceOp) -> _Sliced | None:
        """What a slice reads, if it is a convolution or follows one, and has all channels."""
        begin, size = slice.static_offsets.get_values(), shape_of(slice.result)
        whole, op = shape_of(slice.source), slice.source.owner
        if any(step != 1 for step in slice.static_strides.get_values()) or size[0] != whole[0]:
            return None
        if not isinstance(op, GenericOp) or not _is_convolution_alone(slice.source):
            return None
        cells = tuple((first, first + n) for first, n in zip(begin[1:], size[1:], strict=True))
        found = _Sliced(op, slice, cells)
        return found if found._reads_values() else None

    def _spans(self, access: TensorAccess, linalg_op: LinalgOp) -> list[Span]:
        """The cells of an operand that are read, behind its channels."""
        return [span(access, linalg_op, axis, *cells) for axis, cells in enumerate(self.cells, 1)]

    def _reads_values(self) -> bool:
        """Whether what it reads of padded operands is not their border alone."""
        linalg_op = LinalgOp(self.op)
        for access in linalg_op.reads:
            pad = access.value.owner
            if isinstance(pad, tensor.PadOp) and _moves(access, linalg_op):
                fronts, extents = pad_sides(pad)[0][1:], shape_of(pad.source)[1:]
                spans = zip(self._spans(access, linalg_op), fronts, extents, strict=True)
                for cells, before, extent in spans:
                    begin, end, *_ = inside_pad(*cells, before, extent)
                    if begin >= end:
                        return False
        return True

    def rewrite(self) -> list[tensor.ExtractSliceOp]:
        """Put the computation of these cells in place of the slice; the slices of operands."""
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
    """Whether an operand is read elsewhere for other cells."""
    return any(map(access.uses, image_loops(linalg_op)))


def _is_convolution_alone(value: SSAValue) -> bool:
    """Whether a value is a convolution, or what follows one point by point; nobody reads any of
    them twice.
    """
    left = [value]
    while left:
        op = producer_of(left.pop())
        if op is None:
            continue
        linalg_op = LinalgOp(op)
        if not has_parts(linalg_op, stands_or_moves):
            continue
        if _is_convolution(linalg_op):
            return True
        if linalg_op.is_pointwise:
            left += [one.value for one in linalg_op.reads if one.index == linalg_op.write.index]
    return False


def _is_convolution(linalg_op: LinalgOp) -> bool:
    """Whether it sums products over a window."""
    dims = ConvolutionDims.of(linalg_op)
    return dims is not None and bool(dims.filter_loop)
