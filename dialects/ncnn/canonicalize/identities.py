"""Layers that hand their operand on."""

from __future__ import annotations

from typing import Any

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import (
    LayerPattern,
    Match,
    canonical,
    forward,
    refuse_retyping,
)
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.plumbing import DropoutOp, NoopOp, SplitOp
from ncc.dialects.ncnn.pooling.pooling import PoolingOp


class Identity(LayerPattern):
    """layer(x) = x."""

    def match(self, op: Layer) -> Match | None:
        return (op,)

    def check(self, op: Any) -> str | None:
        return self.refuse(op) or refuse_retyping(op)

    def refuse(self, op: Any) -> str | None:
        """Why the result is not the operand, but for another shape."""
        return None

    def rewrite(self, rewriter: PatternRewriter, op: Any) -> None:
        forward(rewriter, op)


@canonical(DropoutOp)
class EliminateDropout(Identity):
    """Dropout(x, scale = 1) = x."""

    name = "eliminate_dropout"

    def refuse(self, op: DropoutOp) -> str | None:
        return f"its scale is {op.scale:g}, not 1" if op.scale != 1.0 else None


@canonical(PoolingOp)
class EliminatePooling1x1(Identity):
    """Pooling(x, kernel 1x1, stride 1x1, no pads) = x where x has rank 3.

    Of any other rank the result has another shape: a matrix becomes one channel, and only the
    first of the depth of a volume is read. The average of -0 is 0.
    """

    name = "eliminate_pooling1x1"
    differs_on = ("zeros",)

    def match(self, op: Layer) -> Match | None:
        if not isinstance(op, PoolingOp) or op.global_pooling:
            return None
        return (op,) if op.kernel_w == op.kernel_h == 1 else None

    def refuse(self, op: PoolingOp) -> str | None:
        if op.adaptive_pooling:
            return "it is adaptive: its kernel is not used"
        if (op.stride_w, op.stride_h) != (1, 1):
            return f"its stride is {op.stride_h}x{op.stride_w}, not 1x1"
        if any((op.pad_left, op.pad_right, op.pad_top, op.pad_bottom)):
            return "it pads"
        shape = shape_of(op.operands[0])
        if shape is None:
            return "the rank of its input is not known"
        return f"its input has rank {len(shape)}, not 3" if len(shape) != 3 else None


@canonical(NoopOp)
class EliminateNoop(Identity):
    """Noop(x0, x1, ...) = (x0, x1, ...); operands without a result just end."""

    name = "eliminate_noop"


@canonical(SplitOp)
class EliminateSplit(Identity):
    """Split(x) = (x, x, ...): a value may have any number of readers, and of names as an output."""

    name = "eliminate_split"

    def rewrite(self, rewriter: PatternRewriter, op: SplitOp) -> None:
        rewriter.replace(op, [], [op.operands[0]] * len(op.results))
