"""Two views in a row, or two permutations of axes, as one."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.canonicalize.pattern import (
    LayerPattern,
    Match,
    canonical,
    in_place_of,
    is_private,
)
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.movement.movement import PERMUTATIONS, PermuteOp
from ncc.dialects.ncnn.movement.reshape import (
    TOLD_BY_RUN,
    ExpandDimsOp,
    FlattenOp,
    ReshapeOp,
    SqueezeOp,
    View,
    reshape_params,
)
from ncc.dialects.size import is_open


@canonical(ReshapeOp, FlattenOp, SqueezeOp, ExpandDimsOp)
class FuseViews(LayerPattern):
    """view2(view1(x)) = view2(x) where view2 looks at no extent of its input.

    Otherwise it is Reshape(x, shape of the result).
    """

    name = "fuse_reshape_reshape"

    def match(self, op: Layer) -> Match | None:
        first = op.operands[0].owner
        return (first, op) if isinstance(first, View) else None

    def check(self, first: View, op: View) -> str | None:
        if any(isinstance(view, ReshapeOp) and view.has_batch for view in (first, op)):
            return "one of the two moves a batch axis"
        shape = shape_of(op.results[0])
        if shape is not None and shape_of(op.operands[0]) in (shape, shape_of(first.operands[0])):
            return "one of the two changes no shape"
        if not _looks_at_no_extent(op) and (shape is None or any(n < 0 for n in shape)):
            return "the shape of the result is not known"
        if not _looks_at_no_extent(op) and is_open(*(shape or ())):
            return TOLD_BY_RUN
        return None

    def rewrite(self, rewriter: PatternRewriter, first: View, op: View) -> None:
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

    def match(self, op: Layer) -> Match | None:
        first = op.operands[0].owner
        return (first, op) if isinstance(first, PermuteOp) else None

    def check(self, first: PermuteOp, op: PermuteOp) -> str | None:
        shape = shape_of(first.operands[0])
        if shape is None:
            return "the rank of the input is not known"
        stays = tuple(range(len(shape)))
        if stays in (first.order(len(shape)), op.order(len(shape))):
            return "one of the two moves no axis"
        return None

    def rewrite(self, rewriter: PatternRewriter, first: PermuteOp, op: PermuteOp) -> None:
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
