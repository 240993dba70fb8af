"""Folds constant borders into the layer that reads them, if it can pad by itself.

    Convolution(Padding(x, v), pads 0)  =  Convolution(x, pads of the Padding, pad_value v)
    Pooling(Padding(x, v), pads 0)      =  Pooling(x, pads of the Padding)

A Convolution that pads with the same value already adds the pads up. A mean pads with 0, and counts
the padding; the largest pads with -FLT_MAX, or with 0 where x is not negative, as behind a ReLU.

Needs: the shape of x.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.ncnn.optimizations.optimization import optimization
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, is_private, set_params
from ncc.dialects.ncnn.convolution.convolution import ConvolutionLayer
from ncc.dialects.ncnn.elementwise.activation_layers import ReLUOp, SigmoidOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, shape_of
from ncc.dialects.ncnn.movement.padding import CONSTANT, PaddingOp
from ncc.dialects.ncnn.pooling.pool import LOWEST, MAXIMUM
from ncc.dialects.ncnn.pooling.pooling import FULL, VALID, PoolingOp
from ncc.dialects.ncnn.window import PAD_NAMES, Pad


def _pads(padding: PaddingOp, axes: str) -> Sequence[Pad] | str:
    """The borders of the spatial axes, or the reason why the padding cannot be folded."""
    shape = shape_of(padding.operands[0])
    if shape is None:
        return "the shape of its input is not known"
    if len(shape) != len(axes) + 1:
        return f"its input has rank {len(shape)}, not {len(axes) + 1}"
    if padding.type != CONSTANT or padding.per_channel_pad_data_size:
        return "it does not pad with one value"
    channels, *pads = padding.pads(len(shape))
    return "it pads the channels" if any(channels) else pads


def _padded(op: Layer, axes: str, pads: Sequence[Pad]) -> dict[str, ParamValue]:
    """The params that say these pads on top of those that `op` has."""
    names = [PAD_NAMES[axis] for axis in axes]
    return {
        name: getattr(op, name) + width
        for pair, pad in zip(names, pads, strict=True)
        for name, width in zip(pair, pad, strict=True)
    }


class FoldPadding(LayerPattern):
    """layer(Padding(x)) = layer(x) with the pads."""

    def match(self, op: Layer) -> Match | None:
        padding = op.operands[0].owner
        return (padding, op) if isinstance(padding, PaddingOp) else None

    def rewrite(self, rewriter: PatternRewriter, *layers: Layer) -> None:
        padding, op = layers[-2:]
        params, alone = self.params(padding, op), is_private(padding.results[0])
        set_params(op, params)
        op.operands[0] = padding.operands[0]
        rewriter.handle_operation_modification(op)
        if alone:
            rewriter.erase(padding)

    def params(self, padding: Any, op: Any) -> dict[str, ParamValue]:
        """The new params of the layer."""
        raise NotImplementedError(self.name)


@optimization(ConvolutionLayer)
class FusePaddingConvolution(FoldPadding):
    """Convolution(Padding(x, v)) = Convolution(x, more pads of v)."""

    name = "fuse_padding_convolution"
    exact = False

    def check(self, padding: PaddingOp, op: ConvolutionLayer) -> str | None:
        pads = _pads(padding, op.AXES)
        if isinstance(pads, str):
            return pads
        own = [width for pad in op.pads for width in pad]
        if min(own) < 0:
            return f"{op.layer_name} pads by what it is given"
        if any(own) and op.pad_value != padding.value:
            return f"{op.layer_name} pads with {op.pad_value:g}, not {padding.value:g}"
        if getattr(op, "int8_scale_term", 0):
            return f"{op.layer_name} is int8"
        return None

    def params(self, padding: Any, op: Any) -> dict[str, ParamValue]:
        pads = padding.pads(len(op.AXES) + 1)[1:]
        return {**_padded(op, op.AXES, pads), "pad_value": padding.value}


@optimization(PoolingOp)
class FusePaddingPooling(FoldPadding):
    """Pooling(Padding(x, v)) = Pooling(x, pads).

    Where a window sees but NaN inside, a border of 0 was the largest.
    """

    name = "fuse_padding_pooling"
    exact = False
    differs_on = ("nan",)

    def match(self, op: Layer) -> Match | None:
        found = super().match(op)
        maker = None if found is None else found[0].operands[0].owner
        return (maker, *found) if found and isinstance(maker, ReLUOp | SigmoidOp) else found

    def check(self, *layers: Any) -> str | None:
        padding, op = layers[-2:]
        pads = _pads(padding, "hw")
        if isinstance(pads, str):
            return pads
        if op.global_pooling or op.adaptive_pooling:
            return f"{op.layer_name} pads nothing"
        if op.pad_mode not in (FULL, VALID):
            return f"{op.layer_name} pads by what it is given"
        shape = shape_of(op.operands[0])
        if shape is None or any(width for pad in op.borders(shape[1:]) for width in pad):
            return f"{op.layer_name} has borders of its own"
        if op.pooling_type != MAXIMUM:
            return None if padding.value == 0 else f"a mean pads with 0, not {padding.value:g}"
        for window, pad in zip(op.windows, pads, strict=True):
            if max(pad) >= window.kernel:
                return "a window may see nothing but the border"
        positive = len(layers) > 2 and getattr(layers[0], "slope", 0) == 0
        if padding.value == LOWEST or (padding.value == 0 and positive):
            return None
        return f"the border of {padding.value:g} may be the largest"

    def params(self, padding: Any, op: Any) -> dict[str, ParamValue]:
        params = _padded(op, "hw", padding.pads(3)[1:])
        if op.pooling_type != MAXIMUM:
            params["avgpool_count_include_pad"] = 1
        return params
