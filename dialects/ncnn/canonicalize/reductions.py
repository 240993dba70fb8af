"""Means over whole planes."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, canonical, producer
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.movement.reshape import TOLD_BY_RUN, ReshapeOp
from ncc.dialects.ncnn.pooling.pool import MEAN as MEAN_POOLING
from ncc.dialects.ncnn.pooling.pooling import PoolingOp
from ncc.dialects.ncnn.reduction.reduction import MEAN, ReductionOp
from ncc.dialects.size import is_open

PLANE = (1, 2)
"""The axes of a plane in a tensor of rank 3: h and w."""

CHAIN = 2
"""Most reductions that are taken together."""


@canonical(ReductionOp)
class ReplaceReductionWithGlobalPooling(LayerPattern):
    """mean(x, {h, w}) = Pooling(x, average, global) where x has rank 3.

    One reduction or two, in either order; a Reshape follows where reduced axes are kept. The
    largest is not the largest: a Reduction starts it at -FLT_MAX, a Pooling at -inf.
    """

    name = "replace_reduction_with_global_pooling"
    exact = False

    def match(self, op: Layer) -> Match | None:
        if not isinstance(op, ReductionOp):
            return None
        first, shape = producer(op, ReductionOp), shape_of(op.operands[0])
        alone = shape is not None and _folded((op,), len(shape)) == PLANE
        return (op,) if first is None or alone else (first, op)

    def check(self, *reductions: ReductionOp) -> str | None:
        for op in reductions:
            if op.operation != MEAN:
                return f"operation {op.operation} is not the mean"
            if op.reduce_all:
                return "it reduces all axes"
            if op.coeff != 1.0:
                return f"its coeff is {op.coeff:g}, not 1"
        shape, made = shape_of(reductions[0].operands[0]), shape_of(reductions[-1].results[0])
        if shape is None or made is None:
            return "the rank of its input is not known"
        if len(shape) != 3:
            return f"its input has rank {len(shape)}, not 3"
        axes = _folded(reductions, len(shape))
        if axes != PLANE:
            return f"axes {', '.join(map(str, axes))} are reduced, not 1 and 2"
        if len(reductions) == CHAIN and not reductions[0].results[0].has_one_use():
            return "the mean along one axis is read by others, too"
        return TOLD_BY_RUN if len(made) > 1 and is_open(*made) else None

    def rewrite(self, rewriter: PatternRewriter, *reductions: ReductionOp) -> None:
        last, x = reductions[-1], reductions[0].operands[0]
        channels, *_ = shape_of(x) or ()
        shape = shape_of(last.results[0]) or ()
        is_vector = shape == (channels,)
        pooling = PoolingOp.make(
            [x],
            {"pooling_type": MEAN_POOLING, "global_pooling": 1},
            name=last.layer_name,
            blobs=last.blob_names if is_vector else ("",),
            line=last.line,
            shapes=[(channels,)],
        )
        made: list[Layer] = [pooling]
        if not is_vector:
            extents = dict(zip(("w", "h", "c"), reversed(shape), strict=False))
            made.append(
                ReshapeOp.make(
                    pooling.results,
                    extents,
                    blobs=last.blob_names,
                    line=last.line,
                    shapes=[shape],
                )
            )
        rewriter.replace(last, made)
        for op in reversed(reductions[:-1]):
            rewriter.erase(op)


def _folded(reductions: tuple[ReductionOp, ...], rank: int) -> tuple[int, ...]:
    """The axes of the first operand that a chain of reductions folds, ascending.

    Without `keepdims` the next reduction counts the axes that are left.
    """
    left = list(range(rank))
    folded: set[int] = set()
    for op in reductions:
        here = [left[k] for k in op.reduced(len(left))]
        folded.update(here)
        if not op.keepdims:
            left = [axis for axis in left if axis not in here]
    return tuple(sorted(folded))
