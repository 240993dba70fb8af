"""Views that the layer before or behind them makes needless."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import (
    LayerPattern,
    Match,
    canonical,
    forward,
    is_private,
    producer,
    refuse_retyping,
)
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp, aligned, broadcast
from ncc.dialects.ncnn.layer import Layer, LayerError, shape_of
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.ncnn.movement.reshape import ABSENT, FlattenOp, ReshapeOp, View
from ncc.dialects.ncnn.pooling.pooling import PoolingOp
from ncc.dialects.shapes import shown


class ViewOfVector(LayerPattern):
    """view(v) = v where v is a vector that a layer of a certain kind makes."""

    maker: type[Layer]

    def match(self, op: Layer) -> Match | None:
        made_by = producer(op, self.maker)
        return None if made_by is None else (made_by, op)

    def rewrite(self, rewriter: PatternRewriter, made_by: Layer, op: Layer) -> None:
        forward(rewriter, op)


def _global_pooling(op: Layer) -> Match | None:
    made_by = producer(op, PoolingOp)
    if isinstance(made_by, PoolingOp) and made_by.global_pooling:
        return (made_by, op)
    return None


def _refuse_flatten(op: FlattenOp) -> str | None:
    return "it flattens to a matrix" if op.axis is not None else refuse_retyping(op)


@canonical(FlattenOp)
class EliminateFlattenAfterGlobalPooling(ViewOfVector):
    """Flatten(Pooling(x, global)) = Pooling(x, global), which is a vector whatever x is."""

    name = "eliminate_flatten_after_global_pooling"

    def match(self, op: Layer) -> Match | None:
        return _global_pooling(op)

    def check(self, pooling: PoolingOp, op: FlattenOp) -> str | None:
        return _refuse_flatten(op)


@canonical(ReshapeOp)
class EliminateReshapeAfterGlobalPooling(ViewOfVector):
    """Reshape(Pooling(x, global), w) = Pooling(x, global) where w is the number of channels.

    w is -1 or 0, which both mean what the vector has, or the number itself.
    """

    name = "eliminate_reshape_after_global_pooling"

    def match(self, op: Layer) -> Match | None:
        return _global_pooling(op)

    def check(self, pooling: PoolingOp, op: ReshapeOp) -> str | None:
        if op.has_batch:
            return "it moves a batch axis"
        if op.shape_expr:
            return "it computes its shape from an expression"
        if op.h != ABSENT:
            return "its result is no vector"
        if op.w not in (-1, 0):
            shape = shape_of(pooling.results[0])
            if shape is None:
                return f"whether there are {op.w} channels is not known"
            if shape != (op.w,):
                return f"there are {shape[0]} channels, not {op.w}"
        return refuse_retyping(op)


@canonical(FlattenOp)
class EliminateFlattenAfterInnerProduct(ViewOfVector):
    """Flatten(InnerProduct(x)) = InnerProduct(x) where that is a vector.

    The rows of a matrix are multiplied each by itself, and the result is a matrix.
    """

    name = "eliminate_flatten_after_innerproduct"
    maker = InnerProductOp

    def check(self, product: InnerProductOp, op: FlattenOp) -> str | None:
        shape = shape_of(product.results[0])
        if shape is None:
            return "whether the inner product makes a vector or a matrix is not known"
        if len(shape) != 1:
            return f"the inner product makes a result of rank {len(shape)}, not a vector"
        return _refuse_flatten(op)


@canonical(InnerProductOp)
class EliminateReshapeBeforeInnerProduct(LayerPattern):
    """InnerProduct(view(x)) = InnerProduct(x), which reads all elements of x in their order.

    Unless x or the view of it is a matrix of which each row is multiplied by itself.
    """

    name = "eliminate_reshape_before_innerproduct"

    def match(self, op: Layer) -> Match | None:
        view = producer(op, View)
        return None if view is None else (view, op)

    def check(self, view: View, op: InnerProductOp) -> str | None:
        shapes = [shape_of(view.operands[0]), shape_of(view.results[0])]
        for shape in shapes:
            if shape is None:
                return "the shapes before and behind the view are not known"
            if op.batched(shape):
                return f"the rows of {shown(shape)} are multiplied each by itself"
        return None

    def rewrite(self, rewriter: PatternRewriter, view: View, op: InnerProductOp) -> None:
        alone = is_private(view.results[0])
        op.operands = [view.operands[0]]
        rewriter.handle_operation_modification(op)
        if alone:
            rewriter.erase(view)


@canonical(BinaryOpOp)
class EliminateReshapeBeforeBinaryOp(LayerPattern):
    """f(view(x), y) = f(x, y) where BinaryOp aligns both the same way, and on either side.

    A vector of as many elements as y has channels is aligned with the channels, as [c, 1, 1] is.
    """

    name = "eliminate_reshape_before_binaryop"

    def match(self, op: Layer) -> Match | None:
        if not isinstance(op, BinaryOpOp) or len(op.operands) != 2:
            return None
        views = [operand.owner for operand in op.operands if isinstance(operand.owner, View)]
        for view in views:
            if isinstance(view, Layer) and self.check(view, op) is None:
                return (view, op)
        return (views[0], op) if views and isinstance(views[0], Layer) else None

    def check(self, view: Layer, op: BinaryOpOp) -> str | None:
        if op.operands[0] is op.operands[1]:
            return "both operands are the same"
        other = next(operand for operand in op.operands if operand is not view.results[0])
        before, after, beside = (
            shape_of(value) for value in (view.results[0], view.operands[0], other)
        )
        if before is None or after is None or beside is None:
            return "the shapes of the operands are not known"
        try:
            same = broadcast(before, beside) == broadcast(after, beside)
        except LayerError:
            same = False
        if not same or aligned(beside, before) != aligned(beside, after):
            return f"{after} instead of {before} would not meet {beside} in the same way"
        if aligned(before, beside) != aligned(after, beside):
            return f"{after} is aligned with other axes of {beside} than {before} is"
        return None

    def rewrite(self, rewriter: PatternRewriter, view: Layer, op: BinaryOpOp) -> None:
        alone = is_private(view.results[0])
        op.operands = [
            view.operands[0] if operand is view.results[0] else operand for operand in op.operands
        ]
        rewriter.handle_operation_modification(op)
        if alone:
            rewriter.erase(view)
