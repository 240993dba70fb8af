"""Vectors that were made planes of one pixel go on as vectors; the Reshape sinks below.

    %p = ncnn.Pooling(%x) {global}                   %p = ncnn.Pooling(%x) {global}
    %r = ncnn.Reshape(%p) : 1x1xC                    %c = ncnn.InnerProduct(%p)
    %c = ncnn.Convolution(%r) {kernel 1x1}    ->     %s = ncnn.Sigmoid(%c)
    %s = ncnn.Sigmoid(%c)                            %r = ncnn.Reshape(%s) : 1x1xM
    %y = ncnn.BinaryOp(%x, %r)                       %y = ncnn.BinaryOp(%x, %r)

At the end it meets a BinaryOp that takes the vector itself (`eliminate_reshape_before_binaryop`),
or an output of the network. A Reshape moves down only, so the rewriting ends.

Needs: shapes.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.ncnn.optimizations.affine import constant_operand
from ncc.compiler.ncnn.optimizations.affine_hosts import refuse_special
from ncc.compiler.ncnn.optimizations.optimization import optimization
from ncc.compiler.ncnn.optimizations.replace_layers import as_inner_product
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, is_private
from ncc.dialects.ncnn.convolution.convolution import ConvolutionOp
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import BatchNormOp, PReLUOp, ScaleOp
from ncc.dialects.ncnn.elementwise.unary import Unary
from ncc.dialects.ncnn.layer import Layer, Shape, shape_of
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.ncnn.movement.reshape import TOLD_BY_RUN, ReshapeOp, View, reshape_params
from ncc.dialects.ncnn.plumbing import DropoutOp, MemoryDataOp
from ncc.dialects.size import is_open
from ncc.dialects.weights.weight import WeightAttr


class SinkReshape(LayerPattern):
    """f(view(v)) = view(f(v)) where the view makes [C, 1, 1] of a vector of C elements."""

    exact = True

    def match(self, op: Layer) -> Match | None:
        view = op.operands[0].owner if len(op.operands) == 1 else None
        return (view, op) if isinstance(view, View) else None

    def check(self, view: View, op: Any) -> str | None:
        before, after = shape_of(view.operands[0]), shape_of(op.operands[0])
        if before is None or after is None:
            return "the shapes of the view are not known"
        if len(before) != 1 or after != (*before, 1, 1):
            return "the view does not make planes of one pixel of a vector"
        if not is_private(view.results[0]):
            return "the view is read by others, too"
        return TOLD_BY_RUN if is_open(*(shape_of(op.results[0]) or ())) else None

    def below(self, view: View, op: Any) -> Layer:
        """The layer that replaces `op`: a layer of the vector."""
        vector = shape_of(view.operands[0])
        new: Layer = type(op).make(
            view.operands, name=op.layer_name, line=op.line, shapes=[vector or ()]
        )
        new.properties.update(op.properties)
        return new

    def rewrite(self, rewriter: PatternRewriter, view: View, op: Any) -> None:
        new = self.below(view, op)
        shape = shape_of(op.results[0]) or ()
        last = ReshapeOp.make(
            new.results,
            dict(reshape_params(shape)),
            name=view.layer_name,
            blobs=op.blob_names,
            line=view.line,
            shapes=[shape],
        )
        rewriter.replace(op, [new, last])
        rewriter.erase(view)


@optimization(Unary, DropoutOp, BatchNormOp, ScaleOp, PReLUOp)
class SinkReshapeBelowActivation(SinkReshape):
    """f(view(v)) = view(f(v)) where f treats the elements of a vector as channels.

    A Bias does not: to it a vector is one channel.
    """

    name = "sink_reshape_below_activation"


@optimization(ConvolutionOp)
class SinkReshapeBelowConvolution(SinkReshape):
    """Convolution(view(v), 1x1) = view(InnerProduct(v)) where the result has one pixel, too."""

    name = "sink_reshape_below_convolution"
    exact = False

    def check(self, view: View, op: Any) -> str | None:
        if any(window.kernel != 1 for window in op.windows):
            return "its kernel is not 1x1"
        if max(op.pad_left, op.pad_right, op.pad_top, op.pad_bottom) > 0:
            return "it pads"
        return super().check(view, op) or refuse_special(op, op.weight)

    def below(self, view: View, op: Any) -> Layer:
        params, weights = as_inner_product(op)
        return InnerProductOp.make(
            view.operands,
            params,
            weights,
            name=op.layer_name,
            line=op.line,
            shapes=[(op.num_output,)],
        )


@optimization(BinaryOpOp)
class SinkReshapeBelowConstant(LayerPattern):
    """f(v, [C, 1, 1]) = view(f(v, [C])) of a vector v of C elements: the constant may then go into
    the weights before it.
    """

    name = "sink_reshape_below_constant"
    exact = True

    def match(self, op: Layer) -> Match | None:
        found = constant_operand(op) if isinstance(op, BinaryOpOp) else None
        planes = found is not None and found[0].shape[1:] == (1, 1) and found[0].shape[0] > 1
        return (found[0], op) if found is not None and planes else None

    def check(self, constant: MemoryDataOp, op: BinaryOpOp) -> str | None:
        other = next(value for value in op.operands if value is not constant.results[0])
        if shape_of(other) != constant.shape[:1]:
            return "the constant is not combined with a vector of its channels"
        return None

    def rewrite(self, rewriter: PatternRewriter, constant: MemoryDataOp, op: BinaryOpOp) -> None:
        shape = constant.shape
        data = constant.values.data
        held = MemoryDataOp.make(
            [],
            {"w": shape[0]},
            {"data": WeightAttr(type(data)(shape[:1], data.source))},
            name=constant.layer_name,
            line=constant.line,
            shapes=[shape[:1]],
        )
        operands = [
            held.results[0] if value is constant.results[0] else value for value in op.operands
        ]
        rewriter.replace(op, [held, *below_view(op, operands, shape)])
        if not constant.results[0].uses:
            rewriter.erase(constant)


@optimization(BinaryOpOp)
class SinkReshapeBelowBinaryOp(LayerPattern):
    """f(v, view(u)) = view(f(v, u)) where both are vectors of C elements, and the view makes planes
    of one pixel: a vector is aligned with the channels, as they are.
    """

    name = "sink_reshape_below_binaryop"
    exact = True

    def match(self, op: Layer) -> Match | None:
        views = [operand.owner for operand in op.operands if isinstance(operand.owner, View)]
        found = len(views) == 1 and len(op.operands) == 2 and isinstance(views[0], Layer)
        return (views[0], op) if found else None

    def check(self, view: View, op: BinaryOpOp) -> str | None:
        other = next(value for value in op.operands if value is not view.results[0])
        vectors = {shape_of(view.operands[0]), shape_of(other)}
        (vector, *more) = vectors
        if more or vector is None or len(vector) != 1:
            return "it does not combine two vectors of as many elements"
        if shape_of(view.results[0]) != (*vector, 1, 1):
            return "the view does not make planes of one pixel of a vector"
        if not is_private(view.results[0]):
            return "the view is read by others, too"
        return TOLD_BY_RUN if is_open(*(shape_of(op.results[0]) or ())) else None

    def rewrite(self, rewriter: PatternRewriter, view: View, op: BinaryOpOp) -> None:
        shown = view.results[0]
        vectors = [view.operands[0] if value is shown else value for value in op.operands]
        rewriter.replace(op, below_view(op, vectors, shape_of(shown) or ()))
        rewriter.erase(view)


def below_view(op: BinaryOpOp, vectors: Sequence[SSAValue], shape: Shape) -> list[Layer]:
    """A layer on vectors instead of planes of one pixel, and the view of its result."""
    name, line = op.layer_name, op.line
    new = BinaryOpOp.make(vectors, name=name, line=line, shapes=[shape[:1]])
    new.properties.update(op.properties)
    params, blobs = dict(reshape_params(shape)), op.blob_names
    last = ReshapeOp.make(new.results, params, name=name, blobs=blobs, line=line, shapes=[shape])
    return [new, last]
