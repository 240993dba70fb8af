"""Element types of values: float32 unless a layer says otherwise.

ncnn's blobs can also be int8 (quantized), int32 (indices, sums of products of int8), and the bits
of half precision. numpy has no bfloat16: its arrays hold the bits as uint16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnrankedTensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ncc.dialects.size import Size

DType: TypeAlias = "np.dtype[Any]"

BLOB_ELEMENTS: Mapping[str, Attribute] = {
    "float32": f32,
    "float16": f16,
    "bfloat16": bf16,
    "int8": i8,
    "int32": i32,
}
"""The element types of blobs, by the names that users write."""

i20, i24 = IntegerType(20), IntegerType(24)
"""The storage of fractions (`ncc.dialects.fixed_point`): sixteen i20 in twenty words of two
bytes, an i24 in three bytes.
"""

_DTYPES: Mapping[Attribute, DType] = {
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
    f16: np.dtype(np.float16),
    bf16: np.dtype(np.uint16),
    i1: np.dtype(np.bool_),
    i8: np.dtype(np.int8),
    i16: np.dtype(np.int16),
    i20: np.dtype("V2"),
    i24: np.dtype("V3"),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
    IndexType(): np.dtype(np.int64),
}

_NAMES = {element: name for name, element in BLOB_ELEMENTS.items()}


def dtype_of(element: Attribute) -> DType:
    """The numpy type that holds elements of a type; `TypeError` where there is none."""
    found = _DTYPES.get(element)
    if found is None:
        raise TypeError(f"numpy has no type for {element}")
    return found


def element_of_dtype(dtype: DType) -> Attribute:
    """The element type of a blob or a weight in an array of this dtype; `TypeError` where there is
    none.
    """
    for element in (*BLOB_ELEMENTS.values(), i20, i24):
        if _DTYPES[element] == dtype:
            return element
    raise TypeError(f"no blob has elements of dtype {dtype}")


def name_of(element: Attribute) -> str:
    """An element type as users write it."""
    return _NAMES.get(element, str(element))


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value, ranked or not; `TypeError` for anything else."""
    kind = value.type
    if not isinstance(kind, TensorType | UnrankedTensorType):
        raise TypeError(f"{kind} is no tensor")
    element: Attribute = kind.element_type
    return element


def is_integer(element: Attribute) -> bool:
    """Whether arithmetic on elements of this type is that of integers."""
    return isinstance(element, IntegerType | IndexType)


def holds(element: Attribute, value: float) -> bool:
    """Whether a number, rounded towards zero where these are integers, is one of such elements."""
    if not isinstance(element, IntegerType):
        return True
    least: int = -(1 << (element.width.data - 1))
    return least <= value < -least  # NaN is not


def number(value: float, element: Attribute) -> FloatAttr | IntegerAttr:
    """A number as the attribute of an `arith.constant` of that type: beyond all float32, an
    infinity.
    """
    if isinstance(value, Size):
        raise TypeError(f"{value} is no number, for all inputs")
    if isinstance(element, IntegerType | IndexType):
        return IntegerAttr(int(value), element)
    if not isinstance(element, AnyFloat):
        raise TypeError(f"{element} has no numbers")
    if element == f32:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return FloatAttr(float(value), element)
