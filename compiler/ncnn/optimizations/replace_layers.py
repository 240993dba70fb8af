"""Layers that a simpler layer can stand for.

    PReLU(x; one slope) = ReLU(x; slope)                 replace_prelu_with_leaky_relu
    Convolution 1x1 (v) = InnerProduct(v)                replace_convolution_with_innerproduct...

v is a vector of all channels: ncnn multiplies it by the matrix of weights, whatever strides and
pads say.

Needs: nothing where the layer that makes the vector tells its rank.  Breaks: nothing.
"""

from __future__ import annotations

import numpy as np
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.ncnn.optimizations.affine_hosts import refuse_special
from ncc.compiler.ncnn.optimizations.optimization import optimization
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, in_place_of
from ncc.dialects.ncnn.canonicalize.ranks import KEEP_RANK, rank_of
from ncc.dialects.ncnn.convolution.convolution import ConvolutionOp
from ncc.dialects.ncnn.elementwise.activation_layers import ReLUOp
from ncc.dialects.ncnn.elementwise.per_channel import PReLUOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, WeightAttr, shape_of
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.ncnn.pooling.pooling import PoolingOp
from ncc.dialects.weights.sources import Weights


@optimization(PReLUOp)
class ReplacePReLUWithLeakyReLU(LayerPattern):
    """PReLU(x; s, s, ..., s) = ReLU(x; s). With s = 0 a ReLU makes 0 of minus infinity, not NaN."""

    name = "replace_prelu_with_leaky_relu"
    exact = False
    differs_on = ("infinities",)

    def match(self, op: Layer) -> Match | None:
        return (op,)

    def check(self, op: PReLUOp) -> str | None:
        if op.slope is None:
            return "it has no slopes"
        slopes = op.slope.array()
        return None if (slopes == slopes[0]).all() else f"its {len(slopes)} slopes are not equal"

    def rewrite(self, rewriter: PatternRewriter, op: PReLUOp) -> None:
        slope = 0.0 if op.slope is None else float(np.float32(op.slope.array()[0]))
        rewriter.replace(op, [in_place_of(op, ReLUOp, op.operands, {"slope": slope})])


class ReplaceConvolution(LayerPattern):
    """Convolution(v, 1x1) = InnerProduct(v) where v is a vector of as many channels as it takes."""

    exact = False
    makers: tuple[type[Layer], ...]

    def match(self, op: Layer) -> Match | None:
        maker = op.operands[0].owner
        return (maker, op) if isinstance(maker, self.makers) else None

    def check(self, *layers: Layer) -> str | None:
        op = layers[-1]
        if not isinstance(op, ConvolutionOp):
            return "it is no convolution"
        if op.is_dynamic:
            return "its weights are inputs"
        if any(window.kernel != 1 for window in op.windows):
            return "its kernel is not 1x1"
        rank, shape = rank_of(op.operands[0]), shape_of(op.operands[0])
        if rank is None:
            return "whether its input is a vector is not known"
        if rank != 1:
            return f"its input has rank {rank}, it is no vector"
        inputs = op.channels.inputs
        if shape is None and inputs == 1:
            return "whether its input is a vector of channels, or one channel, is not known"
        if shape is not None and shape != (inputs,):
            return f"its input has {shape[0]} elements, not one for each of {inputs} channels"
        return refuse_special(op, op.weight)

    def rewrite(self, rewriter: PatternRewriter, *layers: Layer) -> None:
        op = layers[-1]
        if isinstance(op, ConvolutionOp):
            new = in_place_of(op, InnerProductOp, op.operands, *as_inner_product(op))
            rewriter.replace(op, [new])


def as_inner_product(
    op: ConvolutionOp,
) -> tuple[dict[str, ParamValue], dict[str, WeightAttr]]:
    """The params and weights of the InnerProduct that a 1x1 convolution is of each pixel."""
    params: dict[str, ParamValue] = {
        "num_output": op.num_output,
        "bias_term": op.bias_term,
        "weight_data_size": op.weight_data_size,
    }
    if op.activation_type:
        params["activation_type"] = op.activation_type
    if op.activation_params:
        params["activation_params"] = op.activation_params
    weights: dict[str, WeightAttr] = {}
    if op.weight is not None:
        shape = (op.num_output, op.channels.inputs)
        weights["weight"] = WeightAttr(Weights(shape, op.weight.data.source))
    if op.bias is not None:
        weights["bias"] = op.bias
    return params, weights


@optimization(ConvolutionOp)
class ReplaceConvolutionAfterGlobalPooling(ReplaceConvolution):
    """Convolution(v, 1x1) = InnerProduct(v) where v is of a global Pooling."""

    name = "replace_convolution_with_innerproduct_after_global_pooling"
    makers = (PoolingOp,)

    def match(self, op: Layer) -> Match | None:
        pooling = op.operands[0].owner
        return (pooling, op) if isinstance(pooling, PoolingOp) and pooling.global_pooling else None


@optimization(ConvolutionOp)
class ReplaceConvolutionAfterInnerProduct(ReplaceConvolution):
    """Convolution(v, 1x1) = InnerProduct(v) where v is of an InnerProduct."""

    name = "replace_convolution_with_innerproduct_after_innerproduct"
    makers = (InnerProductOp,)


@optimization(ConvolutionOp)
class ReplaceConvolutionOfVector(ReplaceConvolution):
    """Convolution(v, 1x1) = InnerProduct(v) where another layer makes v, known to be a vector."""

    name = "replace_convolution_with_innerproduct"

    def match(self, op: Layer) -> Match | None:
        if isinstance(op.operands[0].owner, PoolingOp | InnerProductOp):
            return None
        if rank_of(op.operands[0]) != 1:
            return None
        chain = [op]
        while shape_of(chain[0].operands[0]) is None:
            maker = chain[0].operands[0].owner
            if not isinstance(maker, Layer):
                return None
            chain.insert(0, maker)
            if not maker.operands or not isinstance(maker, KEEP_RANK):
                break
        return tuple(chain)
