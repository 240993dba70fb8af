"""Sequences of convolutions as images of one row.

    y[o, q] += x[i, q * 2 + m] * w[o, i, m]    ->    y[o, r, q] += x[i, r, q * 2 + m] * w[o, i, m]

Then all passes over images also work on sequences. Above all, channels can be in blocks: otherwise
vectors would run along the sequence, even a short or a strided one. Other readers of a sequence
read a view of the image.

Needs: the linalg level before views are sunk.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, TensorType, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.affine_form import indexing_map
from ncc.compiler.linalg.analysis.block_size import lanes_in
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import (
    LinalgOp,
    TensorAccess,
    filled_with,
    outs_of,
    shape_of,
)
from ncc.compiler.linalg.analysis.tensors import groups_of, is_constant
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decisions
from ncc.compiler.linalg.rewrite.insert import erase_dead, rebuilt, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.linalg.rewrite.through_views import same_view
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.operation import ops_of
from ncc.dialects.size import hint
from ncc.dialects.structured import PARALLEL


class Conv1dToConv2d(LinalgChoice[tuple[TensorAccess, ...]], CostedPass):
    """Rewrite convolutions of sequences for images."""

    name = "conv1d-to-conv2d"

    def match(self, op: GenericOp) -> tuple[TensorAccess, ...] | str | None:
        """The operands that become images, of a convolution or of a follower."""
        if not any(map(_is_sequence, op.inputs)):
            return None
        linalg_op = LinalgOp(op)
        data = _convolved(linalg_op, self.costs)
        if isinstance(data, str):
            return data
        found = _lifted_operands(linalg_op) if data is None else (data,)
        if not found:
            return None
        if element_of(op.results[0]) != f32:
            return "it is not of float32"
        if linalg_op.computes_coordinates or not linalg_op.may_be_rebuilt:
            return "it computes with its indices, or attributes describe its loops"
        return found

    def run(self, block: Block, decisions: Decisions | None) -> None:
        """Rewrite operations in order, so that operands are images before their readers."""
        lifted = [self._lift(op, decisions) for op in ops_of(block)]
        if any(lifted):
            erase_dead(block)

    def _lift(self, op: Operation, decisions: Decisions | None) -> bool:
        """Rewrite op for images, if it reads a sequence of a convolution."""
        b = Builder(Block())
        made: Tensor | None = None
        match op:
            case GenericOp():
                found = self.decide(op, decisions)
                made = None if found is None else _with_row(b, op, found)
            case tensor.PadOp() if _is_lifted(op.source) or self._feeds_convolution(op):
                made = _view(b, op)
            case tensor.CollapseShapeOp() if _is_lifted(op.src):
                *groups, last = groups_of(op)
                if len(last) == 1 and groups:
                    made = _view(b, op)
        if made is None:
            return False
        replace_op(op, b, _sequence(b, made))
        return True

    def _feeds_convolution(self, op: tensor.PadOp) -> bool:
        users = (use.operation for use in op.result.uses if _is_sequence(op.result))
        views = (LinalgOp(user) for user in users if isinstance(user, GenericOp))
        found = [_convolved(one, self.costs) for one in views]
        return any(isinstance(data, TensorAccess) and data.value is op.result for data in found)


def _view(b: Builder, op: Operation) -> Tensor:
    """The view op, of an image."""
    return same_view(b, op, [_image(b, op.operands[0])], behind=1)


def _with_row(b: Builder, op: GenericOp, data: Sequence[TensorAccess]) -> Tensor:
    """op with an axis for rows in its result and in some operands."""
    linalg_op = LinalgOp(op)
    row = AffineDimExpr(len(linalg_op.extents))
    maps: list[AffineMapAttr] = []
    for access, given in zip([*linalg_op.reads, linalg_op.write], op.indexing_maps, strict=True):
        results = list(given.data.results)
        if access in data or access is linalg_op.write:
            results.insert(len(results) - 1, row)
        maps.append(indexing_map(len(linalg_op.extents) + 1, results))
    operands = [
        _image(b, access.value).value if access in data else access.value
        for access in linalg_op.reads
    ]
    outs = _start(b, outs_of(op))
    return rebuilt(b, op, operands, outs, maps, [*op.iterator_types, PARALLEL])


def _start(b: Builder, value: SSAValue) -> Tensor:
    """The initial value of sums, as an image."""
    start, number = value.owner, filled_with(value)
    *outer, width = shape_of(value)
    shape = (*outer, 1, width)
    if number is not None:
        return b.full(shape, number, element_of(value))
    if isinstance(start, tensor.EmptyOp):
        return b.empty(shape, element_of(value))
    if (
        isinstance(start, GenericOp)
        and LinalgOp(start).is_pointwise
        and not LinalgOp(start).captured
    ):
        return _with_row(b, start, ())
    return _image(b, value)


def _is_sequence(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and len(shape_of(value)) == 2


def _convolved(linalg_op: LinalgOp, costs: CostModel) -> TensorAccess | str | None:
    """The sequence of a convolution, or why it stays; None for other operations.

    The convolution sums over windows, or over channels by constants, or it writes one phase of a
    transposed convolution.
    """
    dims = ContractionDims.of(linalg_op)
    if dims is None or len(linalg_op.live) != 2 or len(linalg_op.write.index) < 2:
        return None
    data, place = dims.lhs, linalg_op.write.index[-1]
    along = data.index[-1].loops()
    if len(data.index) != 2 or not along & place.loops():
        return None
    if element_of(data.value) != f32:
        return "it is not of float32"
    if along & set(linalg_op.reduced) or place.bare is None:
        return data
    if not is_constant(dims.rhs.value):
        return "both matrices of the product are computed"
    width = hint(shape_of(data.value)[-1])
    if lanes_in(width) / width - 1 >= costs.convolutions.fewest_empty_lanes:
        return data
    return "vectors along the sequence have hardly an empty lane"


def _lifted_operands(linalg_op: LinalgOp) -> tuple[TensorAccess, ...]:
    """The operands of a pointwise operation on sequences, if one of them is lifted."""
    if not linalg_op.is_pointwise or len(linalg_op.write.axes or ()) != 2:
        return ()
    found = [access for access in linalg_op.reads if access.index == linalg_op.write.index]
    return tuple(found) if any(_is_lifted(access.value) for access in found) else ()


def _is_lifted(value: SSAValue) -> bool:
    """Whether a value is a view of an image of one row."""
    op = value.owner
    if not isinstance(op, tensor.CollapseShapeOp) or shape_of(op.src)[-2:-1] != (1,):
        return False
    return groups_of(op) == _rows(len(shape_of(op.src)))


def _image(b: Builder, value: SSAValue) -> Tensor:
    """A sequence as an image of one row."""
    op = value.owner
    if _is_lifted(value) and isinstance(op, tensor.CollapseShapeOp):
        return tensor_of(op.src)
    *outer, width = shape_of(value)
    return b.expand(tensor_of(value), _rows(len(outer) + 2), [*outer, 1, width])


def _sequence(b: Builder, image: Tensor) -> Tensor:
    return b.collapse(image, _rows(image.rank))


def _rows(rank: int) -> list[list[int]]:
    """The collapse of an image to a sequence."""
    return [*([axis] for axis in range(rank - 2)), [rank - 2, rank - 1]]
