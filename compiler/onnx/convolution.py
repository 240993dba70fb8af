"""Conversions of convolutions and pools of one image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ncc.compiler.onnx.conversion import Conversion, composes, converts, reshaped, weight_of
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.attributes import tensor_type
from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.layer import LAYERS, Layer, ParamValue, WeightAttr
from ncc.dialects.ncnn.pooling.pool import MAXIMUM, MEAN
from ncc.dialects.ncnn.pooling.pooling import FULL, PAD_SAME_LOWER, PAD_SAME_UPPER, VALID
from ncc.dialects.ncnn.window import SAME_LOWER, SAME_UPPER
from ncc.dialects.onnx.convolution import ConvOp, ConvTransposeOp
from ncc.dialects.onnx.operator import Operator
from ncc.dialects.onnx.pooling import AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp, MaxPoolOp
from ncc.dialects.onnx.windows import Window
from ncc.dialects.size import is_open

AXES = {1: "w", 2: "hw", 3: "dhw"}
PADS = {
    "w": ("pad_left", "pad_right"),
    "h": ("pad_top", "pad_bottom"),
    "d": ("pad_front", "pad_behind"),
}
SAME = {"SAME_UPPER": SAME_UPPER, "SAME_LOWER": SAME_LOWER}
"""Pads that ncnn computes of the size."""


def layer_of(family: str, rank: int, groups: int = 1) -> type[Layer]:
    """The layer of a family for windows of so many axes."""
    dimensions = {1: "1D", 2: "", 3: "3D"}[rank]
    return LAYERS[family + "DepthWise" * (groups > 1) + dimensions]


def window_params(
    windows: Sequence[Window], *, dilated: bool, auto_pad: str = ""
) -> dict[str, ParamValue]:
    """The params of windows, with their names along each axis. Pads that an open size decides are
    those that ncnn computes.
    """
    params: dict[str, ParamValue] = {}
    for axis, window in zip(AXES[len(windows)], windows, strict=True):
        params[f"kernel_{axis}"], params[f"stride_{axis}"] = window.kernel, window.stride
        if dilated:
            params[f"dilation_{axis}"] = window.dilation
        params.update(zip(PADS[axis], (window.low, window.high), strict=True))
    if auto_pad in SAME and any(is_open(window.low, window.high) for window in windows):
        names = (name for axis in AXES[len(windows)] for name in PADS[axis])
        params.update(dict.fromkeys(names, SAME[auto_pad]))
    return params


def _auto_pad(op: ConvOp | MaxPoolOp | AveragePoolOp, to: Conversion) -> str:
    """The way in which ncnn computes pads: code has them as sizes."""
    return op.auto_pad if to.for_files else ""


def filters_of(op: ConvOp | ConvTransposeOp) -> tuple[WeightAttr, WeightAttr | None] | None:
    """The filters and the bias of a convolution of one image, where layers have its rank and both
    are constants.
    """
    x, filters, *more = op.operands
    w, bias = weight_of(filters), weight_of(more[0]) if more else None
    if w is None or (bias is None and more) or shape(x)[0] != 1 or len(shape(x)) - 2 not in AXES:
        return None
    return w, bias


@converts(ConvOp)
def convolution(op: ConvOp, to: Conversion) -> SSAValue | None:
    """A convolution of one image with filters that are constants."""
    constants = filters_of(op)
    if constants is None:
        return None
    x, (w, bias) = op.operands[0], constants
    rank = len(shape(x)) - 2
    windows = op.windows(shape(x), w.shape)
    params = window_params(windows, dilated=True, auto_pad=_auto_pad(op, to))
    params["num_output"] = w.shape[0]
    grouped = (op.group, w.shape[0] // op.group, *w.shape[1:])
    filters = reshaped(w, grouped if op.group > 1 else w.shape)
    made = _filtered(op, to, layer_of("Convolution", rank, op.group), params, filters, bias)
    return _as_said(made, op) if params["pad_left"] in SAME.values() else made


def _filtered(
    op: ConvOp | ConvTransposeOp,
    to: Conversion,
    layer: type[Layer],
    params: dict[str, ParamValue],
    filters: WeightAttr,
    bias: WeightAttr | None,
) -> SSAValue:
    """The layer of these filters, with the params that they decide."""
    params |= {"bias_term": int(bias is not None), "weight_data_size": prod(filters.shape)}
    if op.group > 1:
        params["group"] = op.group
    weights = {"weight": filters} if bias is None else {"weight": filters, "bias": bias}
    return to.layer(layer, [to.blob(op.operands[0])], weights, **params)


def reaching(window: Window, count: int) -> Window:
    """A window with as much padding behind as its last place reaches."""
    end = (count - 1) * window.stride + window.reach
    return replace(window, high=end - window.low - window.size)


def pooled(
    op: MaxPoolOp | AveragePoolOp, to: Conversion, kind: int, counts_padding: int = 0
) -> SSAValue | None:
    """The pools of one image, by windows without holes. Those that end outside of image and padding
    see more padding, which counts for nothing.
    """
    x = op.operands[0]
    windows = op.windows(shape(x))
    dense = all(w.dilation == 1 for w in windows)
    counts = op.counts(shape(x))
    inside = counts == tuple(w.count for w in windows)
    opened = to.for_files and is_open(*counts) and not inside
    if shape(x)[0] != 1 or len(windows) not in AXES or not dense:
        return None
    if not inside and counts_padding:
        return None
    if not inside and not opened:
        windows = tuple(reaching(w, count) for w, count in zip(windows, counts, strict=True))
    params = window_params(windows, dilated=False, auto_pad=_auto_pad(op, to))
    mode = FULL if opened else VALID
    if params["pad_left"] in SAME.values():
        if kind == MEAN:
            return None
        mode = PAD_SAME_UPPER if op.auto_pad == "SAME_UPPER" else PAD_SAME_LOWER
    params |= {"pad_mode": mode, "pooling_type": kind}
    if kind == MEAN:
        params["avgpool_count_include_pad"] = counts_padding
    made = to.layer(layer_of("Pooling", len(windows)), [to.blob(x)], **params)
    if params["pad_left"] in SAME.values():
        return _as_said(made, op)
    if opened:
        return _as_many(made, op, windows)
    return made if shape(made) == shape(op.results[0])[1:] else None


def _as_many(made: SSAValue, op: Operator, windows: Sequence[Window]) -> SSAValue | None:
    """A pool of open axes whose last windows may end outside, if none of these begins behind the
    image: those ONNX leaves out.
    """
    if any(window.kernel < window.stride + window.high for window in windows):
        return None
    return _as_said(made, op)


def _as_said(made: SSAValue, op: Operator) -> SSAValue:
    """The same with the shape that ONNX says: that of ncnn is another expression of the size."""
    kind = tensor_type(f32, shape(op.results[0])[1:])
    return Rewriter.replace_value_with_new_type(made, kind)


@converts(MaxPoolOp)
def max_pool(op: MaxPoolOp, to: Conversion) -> SSAValue | None:
    """The maxima of windows, without their places."""
    return None if len(op.results) > 1 else pooled(op, to, MAXIMUM)


@composes(GlobalMaxPoolOp)
def global_maximum(op: GlobalMaxPoolOp, to: Conversion) -> SSAValue | None:
    """The largest element of each channel of one image."""
    return _global(op, to, MAXIMUM)


@converts(GlobalAveragePoolOp)
def global_average(op: GlobalAveragePoolOp, to: Conversion) -> SSAValue | None:
    """The mean of each channel of one image."""
    return _global(op, to, MEAN)


def _global(op: Operator, to: Conversion, kind: int) -> SSAValue | None:
    x = op.operands[0]
    rank = len(shape(x)) - 2
    if shape(x)[0] != 1 or rank not in AXES:
        return None
    return to.layer(layer_of("Pooling", rank), [to.blob(x)], pooling_type=kind, global_pooling=1)


@converts(AveragePoolOp)
def average_pool(op: AveragePoolOp, to: Conversion) -> SSAValue | None:
    """The means of windows."""
    return pooled(op, to, MEAN, op.count_include_pad)


@converts(ConvTransposeOp)
def transposed(op: ConvTransposeOp, to: Conversion) -> SSAValue | None:
    """A transposed convolution of one image, with filters that are constants."""
    constants = filters_of(op)
    if constants is None:
        return None
    x, (w, bias) = op.operands[0], constants
    rank = len(shape(x)) - 2
    windows = op.windows(shape(x), w.shape)
    if any(min(a.low, a.high) < 0 for a in windows):
        return None
    params = window_params(windows, dilated=True)
    extra = op.output_padding or (0,) * rank
    names = {"w": "output_pad_right", "h": "output_pad_bottom", "d": "output_pad_behind"}
    params |= {names[axis]: n for axis, n in zip(AXES[rank], extra, strict=True)}
    params["num_output"] = w.shape[1] * op.group
    # ncnn has the outputs first.
    filters = w.array().reshape(op.group, -1, *w.shape[1:]).swapaxes(1, 2)
    extents = filters.shape if op.group > 1 else filters.shape[1:]
    weight = WeightAttr.typed(np.ascontiguousarray(filters.reshape(extents)))
    made = _filtered(op, to, layer_of("Deconvolution", rank, op.group), params, weight, bias)
    return made if shape(made) == shape(op.results[0])[1:] else None
