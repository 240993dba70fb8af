"""Tensors of an ONNX file as arrays and weights."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute

from ncc.compiler.diagnostics import Unsupported
from ncc.dialects.element import dtype_of
from ncc.dialects.onnx.casts import ELEMENTS, NAMES
from ncc.dialects.weights.sources import Array

EXTERNAL = 1
"""ONNX's number of the place of values in another file (`TensorProto.DataLocation`)."""

FIELDS = {
    1: "float_data",
    7: "int64_data",
    11: "double_data",
    12: "uint64_data",
    13: "uint64_data",
}
"""The field of the values of a tensor that has no raw bytes; `int32_data` for all other types."""


MOST = (1 << 47) - 1
"""Elements that an axis has at most: as many as there are addresses."""


class BrokenTensor(ValueError):
    """A tensor does not have the values that its shape says."""


def element(number: int, what: str) -> Attribute:
    """The element type of ONNX's number. Raises `Unsupported` where ncc has none."""
    found = ELEMENTS.get(number)
    if found is None:
        name = NAMES.get(number, f"of ONNX's data type {number}")
        raise Unsupported(f"{what} with elements {name}")
    return found


def array_of(tensor: Any, raw: bytes | None = None) -> Array:
    """The values of a TensorProto; bfloat16 as bits. raw: its bytes, if they stand elsewhere.

    Raises `BrokenTensor` and `Unsupported`.
    """
    kind = element(tensor.data_type, f"the tensor {tensor.name!r}")
    dtype, shape = dtype_of(kind), tuple(tensor.dims)
    if tensor.data_location == EXTERNAL and raw is None:
        raise Unsupported(f"the tensor {tensor.name!r} of an attribute, in another file")
    if any(extent < 0 for extent in shape):
        raise BrokenTensor(f"has the extents {shape}")
    count = prod(shape)
    if max(shape, default=0) > MOST:
        raise BrokenTensor(f"has the extents {shape}")
    if raw is None and tensor.HasField("raw_data"):
        raw = tensor.raw_data
    if raw is not None:
        if len(raw) != count * dtype.itemsize:
            raise BrokenTensor(f"has {len(raw)} bytes, not {count * dtype.itemsize}")
        return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)
    values = getattr(tensor, FIELDS.get(tensor.data_type, "int32_data"))
    if len(values) != count:
        raise BrokenTensor(f"has {len(values)} values, not {count}")
    if kind == f16:  # bits, in numbers of 32 bits
        return np.array(values, np.uint16).view(np.float16).reshape(shape)
    return np.array(values, dtype).reshape(shape)
