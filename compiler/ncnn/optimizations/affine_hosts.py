"""Layers that take s and t of s y + t up into their weights: their channels, and how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ncc.compiler.ncnn.optimizations.affine import Affine, Double, double
from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.canonicalize.ranks import rank_of
from ncc.dialects.ncnn.convolution.filtering import Filtering
from ncc.dialects.ncnn.elementwise.activation import Activated
from ncc.dialects.ncnn.elementwise.per_channel import GIVEN, BatchNormOp, ScaleOp
from ncc.dialects.ncnn.layer import LAYERS, Layer, ParamValue, WeightAttr, shape_of
from ncc.dialects.ncnn.linear.gemm import COLUMN, NO_C, ROW, SCALAR, VECTOR_OF_ROWS, GemmOp
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.weights.stored import Encoding, Stored

NO_ACTIVATION, RELU, LEAKY_RELU = 0, 1, 2

Changes: TypeAlias = tuple[dict[str, ParamValue], dict[str, Double]]
"""New params, and new weights before they are rounded."""


@dataclass(frozen=True)
class Host(ABC):
    """How layers of one class take s and t up."""

    kind: type[Layer]

    @abstractmethod
    def channels(self, op: Any) -> int:
        """The number of output channels."""

    def axis(self, op: Any) -> int | None:
        """The axis of the result that the channels lie along, where that is known."""
        return 0

    def refuse(self, op: Any, affine: Affine) -> str | None:
        """Why this host cannot take it up."""
        return None

    @abstractmethod
    def weights(self, op: Any, affine: Affine) -> Changes:
        """The new params and weights."""


class RowsHost(Host):
    """A layer whose weights are a row for each output channel."""

    def channels(self, op: Any) -> int:
        return int(op.num_output)

    def refuse(self, op: Any, affine: Affine) -> str | None:
        return refuse_weights(op, op.weight, op.num_output, affine)

    def weights(self, op: Any, affine: Affine) -> Changes:
        return scaled_rows(op.weight, op.bias, op.num_output, affine)


class FilterHost(RowsHost):
    """A convolution or its transpose."""

    def refuse(self, op: Any, affine: Affine) -> str | None:
        if not op.is_dynamic and not op.reads_all(shape_of(op.operands[0])):
            return "it may have more weights than it reads"
        return super().refuse(op, affine)


class InnerProductHost(RowsHost):
    """An inner product: its result is a vector of the channels, or a row of them for each row."""

    def axis(self, op: Any) -> int | None:
        rank = rank_of(op.results[0])
        return None if rank is None else rank - 1


class BatchNormHost(Host):
    """s (slope z + bias) + t = (s slope) z + (s bias + t)."""

    def channels(self, op: Any) -> int:
        return int(op.channels)

    def weights(self, op: Any, affine: Affine) -> Changes:
        slope, bias = (np.zeros(0) if w is None else double(w) for w in (op.slope, op.bias))
        return {}, {"slope": slope * affine.factor, "bias": bias * affine.factor + affine.offset}


class ScaleHost(Host):
    """s (scale x + bias) + t = (s scale) x + (s bias + t)."""

    def channels(self, op: Any) -> int:
        return max(int(op.scale_data_size), 0)  # GIVEN is no number

    def refuse(self, op: Any, affine: Affine) -> str | None:
        if op.scale_data_size == GIVEN or len(op.results) != 1:
            return "the scales are a second input"
        return None

    def weights(self, op: Any, affine: Affine) -> Changes:
        scale = np.zeros(0) if op.scale is None else double(op.scale)
        return with_bias({"scale": scale * affine.factor}, op.bias, affine)


class GemmHost(Host):
    """alpha (A B + beta C) with a constant B, or else a constant A: its columns, or its rows."""

    def channels(self, op: Any) -> int:
        return int(op.constantN if op.constantB else op.constantM)

    def axis(self, op: Any) -> int | None:
        outer = bool(op.constantB) == bool(op.output_transpose)
        return 0 if outer else 1 + bool(op.output_N1M)

    def refuse(self, op: Any, affine: Affine) -> str | None:
        if not op.constantA and not op.constantB:
            return "both of its factors are inputs"
        if op.quantize_term:
            return "its weights are quantized"
        if not op.constantC and len(op.operands) > (not op.constantA) + (not op.constantB):
            return "what it adds is an input"
        if op.alpha == 0:
            return "its alpha is 0"
        along = (NO_C, SCALAR, ROW) if op.constantB else (NO_C, SCALAR, VECTOR_OF_ROWS, COLUMN)
        if op.constantC and op.constant_broadcast_type_C not in along:
            return "what it adds differs along its other axis"
        return None

    def weights(self, op: Any, affine: Affine) -> Changes:
        name, transposed = ("B_data", op.transB) if op.constantB else ("A_data", not op.transA)
        held = double(op.properties[name])
        factor = affine.factor[:, None] if transposed else affine.factor
        weights = {name: held * factor}
        added = np.zeros(1)
        if op.C_data is not None:
            added = double(op.C_data).ravel() * op.beta
        added = added * affine.factor + affine.offset / op.alpha
        if op.C_data is None and not added.any():
            return {}, weights
        kind = ROW if op.constantB else VECTOR_OF_ROWS
        params: dict[str, ParamValue] = {"beta": 1.0, "constantC": 1}
        return {**params, "constant_broadcast_type_C": kind}, {**weights, "C_data": added}


def refuse_weights(
    op: Activated, weight: WeightAttr | None, channels: int, affine: Affine
) -> str | None:
    """Why weights cannot take an affine function up, or the activation not be exchanged with it."""
    special = refuse_special(op, weight)
    if weight is None or special is not None:
        return special
    if op.activation_type != NO_ACTIVATION:
        if op.activation_type not in (RELU, LEAKY_RELU):
            return f"activation {op.activation_type} stands between"
        if (affine.offset != 0).any() or (affine.factor <= 0).any():
            return "a ReLU stands between, and it does not only scale by positive factors"
    largest = np.abs(weight.array().reshape(channels, -1)).max(axis=1).astype(np.float64)
    with np.errstate(over="ignore"):
        scaled = (largest * np.abs(affine.factor)).astype(np.float32)
    return None if np.isfinite(scaled).all() else "the weights would overflow"


def refuse_special(op: Layer, weight: WeightAttr | None) -> str | None:
    """Why weights are none that can be read and written anew: inputs, or quantized."""
    if weight is None:
        return "its weights are inputs"
    quantized = getattr(op, "int8_scale_term", 0) or _stored_as_int8(weight)
    return "its weights are int8" if quantized else None


def _stored_as_int8(weight: WeightAttr) -> bool:
    source = weight.data.source
    return isinstance(source, Stored) and source.encoding == Encoding.INT8


def scaled_rows(
    weight: WeightAttr | None, bias: WeightAttr | None, channels: int, affine: Affine
) -> Changes:
    """Weights of which each output channel is a row, times the factors; and the bias."""
    weights: dict[str, Double] = {}
    if weight is not None and (affine.factor != 1).any():
        rows = double(weight).reshape(channels, -1) * affine.factor[:, None]
        weights["weight"] = rows.reshape(weight.shape)
    return with_bias(weights, bias, affine)


def with_bias(weights: dict[str, Double], bias: WeightAttr | None, affine: Affine) -> Changes:
    """The weights with s b + t as `bias`, unless there was none and t is 0."""
    if bias is not None:
        weights["bias"] = double(bias) * affine.factor + affine.offset
        return {}, weights
    if not (affine.offset != 0).any():
        return {}, weights
    return {"bias_term": 1}, {**weights, "bias": affine.offset}


def affine_hosts() -> list[Host]:
    """All hosts; those that filter are all layers of that family."""
    filters = [FilterHost(kind) for kind in LAYERS.values() if issubclass(kind, Filtering)]
    others = [InnerProductHost(InnerProductOp), BatchNormHost(BatchNormOp), ScaleHost(ScaleOp)]
    return [*filters, *others, GemmHost(GemmOp)]
