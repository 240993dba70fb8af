"""Rows quantized while the network runs, and their products with int8 weights.

A row x becomes q = round(127 x / m), m its largest magnitude, halves away from zero, and counts
m / 127 times what q says. A row of zeros is zero, and so is one so small that 127 / m is infinite.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32

from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.imperative import Code, Memory, Value
from ncc.dialects.scalar import absolute, convert, saturated_int8, select
from ncc.dialects.weight import Array

LARGEST = 127.0
"""The largest quantized magnitude."""

SMALLEST = float(LARGEST / np.finfo(np.float32).max)
"""The largest magnitude by which 127 cannot be divided."""


def quantize_array(x: Array) -> tuple[Array, Array]:
    """The rows of x as int8, and what 1 of each counts."""
    largest = np.abs(x).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", over="ignore"):
        scale = np.where(largest > SMALLEST, np.float32(LARGEST) / largest, np.float32(1))
    scaled = x * scale
    whole = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    return whole.astype(np.int8), (np.float32(1) / scale)[..., 0]


def quantize_rows(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of a matrix as int8, and what 1 of each counts."""
    t, k = b.loops("t k")
    largest = b.max((t,), over=(k,), of=absolute(x[t, k]), init=0.0)
    (t,) = b.loops("t")
    scale = b.map((t,), select(largest[t] > SMALLEST, LARGEST / largest[t], 1.0))
    t, k = b.loops("t k")
    whole = b.map((t, k), saturated_int8(x[t, k] * scale[t]))
    (t,) = b.loops("t")
    return whole, b.map((t,), 1.0 / scale[t])


def whole_product(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """out[r, o] = the sum over k of x[r, k] * w[o, k], of int8 in int32."""
    r, o, k = b.loops("r o k")
    return b.sum((r, o), over=(k,), of=convert(x[r, k], i32) * convert(w[o, k], i32))


def quantize(code: Code, x: Memory, whole: Memory) -> Value:
    """Write x as whole numbers, in int32, into `whole`; returns what 1 counts."""
    (extent,) = x.shape
    largest = code.largest(extent, lambda k: code.absolute(x[k]), 0.0)
    scale = code.select(largest > SMALLEST, LARGEST / largest, 1.0)
    with code.lanes(extent) as k:
        whole[k] = code.convert(code.round(x[k] * scale), i32)
    return 1.0 / scale
