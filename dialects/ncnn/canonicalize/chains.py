"""Two layers in a row that move no values, or only axes, as one."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.arithmetic import BinaryOpOp, aligned, broadcast
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.canonicalize.pattern import (
    LayerPattern,
    Match,
    canonical,
    in_place_of,
    is_private,
)
from ncc.dialects.ncnn.layer import Layer, LayerError, Shape, shape_of
from ncc.dialects.ncnn.movement import PERMUTATIONS, PermuteOp
from ncc.dialects.ncnn.reshape import ExpandDimsOp, FlattenOp, ReshapeOp, SqueezeOp, View


def reshape_params(shape: Shape) -> dict[str, int]:
    """The params of the Reshape that makes this shape, whatever it is given."""
    return dict(zip(EXTENT_NAMES[len(shape)], shape, strict=True))


@canonical(ReshapeOp, FlattenOp, SqueezeOp, ExpandDimsOp)
class FuseViews(LayerPattern):
    """view2(view1(x)) = view2(x) where view2 looks at no extent of its input.

    Otherwise it is Reshape(x, shape of the result).
    """

    name = "fuse_reshape_reshape"

    def look(self, op: Layer) -> Match | None:
        first = op.operands[0].owner
        return (first, op) if isinstance(first, View) else None

    def legal(self, first: View, op: View) -> str | None:
        if any(isinstance(view, ReshapeOp) and view.has_batch for view in (first, op)):
            return "one of the two moves a batch axis"
        shape = shape_of(op.results[0])
        if shape is not None and shape_of(op.operands[0]) in (shape, shape_of(first.operands[0])):
            return "one of the two changes no shape"
        if not _looks_at_no_extent(op) and (shape is None or min(shape) < 0):
            return "the shape of the result is not known"
        return None

    def become(self, rewriter: PatternRewriter, first: View, op: View) -> None:
        x, alone = first.operands[0], is_private(first.results[0])
        if _looks_at_no_extent(op):
            op.operands = [x]
            rewriter.handle_operation_modification(op)
        else:
            params = reshape_params(shape_of(op.results[0]) or ())
            rewriter.replace(op, [in_place_of(op, ReshapeOp, [x], params)])
        if alone:
            rewriter.erase(first)


def _looks_at_no_extent(op: View) -> bool:
    """Whether a view makes the same of all inputs of as many elements."""
    if isinstance(op, FlattenOp):
        return op.axis is None
    if not isinstance(op, ReshapeOp) or op.shape_expr:
        return False
    return 0 not in (op.w, op.h, op.d, op.c)


@canonical(PermuteOp)
class FusePermutes(LayerPattern):
    """Permute(Permute(x, p), q) = Permute(x, p q)."""

    name = "fuse_permute_permute"

    def look(self, op: Layer) -> Match | None:
        first = op.operands[0].owner
        return (first, op) if isinstance(first, PermuteOp) else None

    def legal(self, first: PermuteOp, op: PermuteOp) -> str | None:
        shape = shape_of(first.operands[0])
        if shape is None:
            return "the rank of the input is not known"
        stays = tuple(range(len(shape)))
        if stays in (first.order(len(shape)), op.order(len(shape))):
            return "one of the two moves no axis"
        return None

    def become(self, rewriter: PatternRewriter, first: PermuteOp, op: PermuteOp) -> None:
        rank = len(shape_of(first.operands[0]) or ())
        inner, outer = first.order(rank), op.order(rank)
        together = tuple(inner[axis] for axis in outer)
        params = {"order_type": _order_type(together)}
        alone = is_private(first.results[0])
        rewriter.replace(op, [in_place_of(op, PermuteOp, first.operands, params)])
        if alone:
            rewriter.erase(first)


def _order_type(order: tuple[int, ...]) -> int:
    """The order_type that makes these axes of the input, in numpy order, the axes of the result."""
    names = EXTENT_NAMES[len(order)]
    return PERMUTATIONS[len(order)].index("".join(names[axis] for axis in reversed(order)))


@canonical(BinaryOpOp)
class EliminateReshapeBeforeBinaryOp(LayerPattern):
    """f(view(x), y) = f(x, y) where BinaryOp aligns both the same way, and on either side.

    A vector of as many elements as y has channels is aligned with the channels, as [c, 1, 1] is.
    """

    name = "eliminate_reshape_before_binaryop"

    def look(self, op: Layer) -> Match | None:
        if not isinstance(op, BinaryOpOp) or len(op.operands) != 2:
            return None
        views = [operand.owner for operand in op.operands if isinstance(operand.owner, View)]
        for view in views:
            if isinstance(view, Layer) and self.legal(view, op) is None:
                return (view, op)
        return (views[0], op) if views and isinstance(views[0], Layer) else None

    def legal(self, view: Layer, op: BinaryOpOp) -> str | None:
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

    def become(self, rewriter: PatternRewriter, view: Layer, op: BinaryOpOp) -> None:
        alone = is_private(view.results[0])
        op.operands = [
            view.operands[0] if operand is view.results[0] else operand for operand in op.operands
        ]
        rewriter.handle_operation_modification(op)
        if alone:
            rewriter.erase(view)
