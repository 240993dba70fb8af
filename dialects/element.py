"""Element types of values: float32 unless a layer says otherwise.

ncnn's blobs can also be int8 (quantized), int32 (indices, sums of products of int8), and the bits
of half precision; ONNX has all of `ELEMENTS`. Integers with a sign are MLIR's signless ones, those
without have types of their own (ui8), so that a type says which operation is meant. Truth values
are i1, which memory holds as bytes of 0 or 1. numpy has no bfloat16: its arrays hold the bits as
uint16.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
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

from ncc.dialects.bfloat16 import from_bfloat16, to_bfloat16
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

ui8, ui16, ui32, ui64 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32, 64))

ELEMENTS: Mapping[str, Attribute] = {
    **BLOB_ELEMENTS,
    "float64": f64,
    "int16": i16,
    "int64": i64,
    "uint8": ui8,
    "uint16": ui16,
    "uint32": ui32,
    "uint64": ui64,
    "bool": i1,
}
"""All element types of values, by the names that users write."""

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
    ui8: np.dtype(np.uint8),
    ui16: np.dtype(np.uint16),
    ui32: np.dtype(np.uint32),
    ui64: np.dtype(np.uint64),
    IndexType(): np.dtype(np.int64),
}

_NAMES = {element: name for name, element in ELEMENTS.items()}


def dtype_of(element: Attribute) -> DType:
    """The numpy type that holds elements of a type; `TypeError` where there is none."""
    found = _DTYPES.get(element)
    if found is None:
        raise TypeError(f"numpy has no type for {element}")
    return found


def element_of_dtype(dtype: DType) -> Attribute:
    """The element type of a blob or a weight in an array of this dtype; `TypeError` where there is
    none. Arrays of uint16 hold bfloat16.
    """
    for element in (*ELEMENTS.values(), i20, i24):
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


def is_unsigned(element: Attribute) -> bool:
    """Whether these are integers without a sign, or truth values."""
    if not isinstance(element, IntegerType):
        return False
    return element == i1 or element.signedness.data is Signedness.UNSIGNED


def signless(element: Attribute) -> Attribute:
    """The type of constants of a type: those of `arith` have no sign."""
    return IntegerType(bits_of(element)) if is_unsigned(element) and element != i1 else element


def is_half(element: Attribute) -> bool:
    """Whether arithmetic on elements of this type is done in float32."""
    return element in (f16, bf16)


def is_wide(element: Attribute) -> bool:
    """Whether these are numbers of 64 bits; places in memory are none."""
    return element in (f64, i64, ui64)


def bits_of(element: Attribute) -> int:
    """The width of an element; `TypeError` for what has none."""
    if not isinstance(element, IntegerType | AnyFloat):
        raise TypeError(f"{element} has no width")
    return int(element.bitwidth)


def least(element: Attribute) -> float:
    """The least number of a type: of floats, minus infinity."""
    if not isinstance(element, IntegerType):
        return -inf
    return 0 if is_unsigned(element) else -(1 << (bits_of(element) - 1))


def greatest(element: Attribute) -> float:
    """The greatest number of a type: of floats, infinity."""
    if not isinstance(element, IntegerType):
        return inf
    return (1 << (bits_of(element) - (not is_unsigned(element)))) - 1


def holds(element: Attribute, value: float) -> bool:
    """Whether a number, rounded towards zero where these are integers, is one of such elements."""
    if not isinstance(element, IntegerType):
        return True
    return least(element) <= value < greatest(element) + 1  # NaN is not


def number(value: float, element: Attribute) -> FloatAttr | IntegerAttr:
    """A number as the attribute of an `arith.constant` of that type: of floats the nearest one,
    beyond all of them an infinity; an infinity of integers is the least or the greatest. Without a
    sign, integers have the low bits of the number.
    """
    if isinstance(value, Size):
        raise TypeError(f"{value} is no number, for all inputs")
    if isinstance(element, IntegerType | IndexType):
        if value in (-inf, inf):
            value = least(element) if value < 0 else greatest(element)
        held = int(value)
        return IntegerAttr(
            held % (1 << bits_of(element)) if is_unsigned(element) else held, element
        )
    if not isinstance(element, AnyFloat):
        raise TypeError(f"{element} has no numbers")
    return FloatAttr(rounded(float(value), element), element)


def rounded(value: float, element: Attribute) -> float:
    """The nearest float of a type."""
    with np.errstate(over="ignore"):
        if element == f32:
            return float(np.float32(value))
        if element == f16:
            return float(np.float16(value))
        if element == bf16:
            return float(from_bfloat16(to_bfloat16(np.array(value, np.float32))))
    return value


def as_stored(values: Any, element: Attribute) -> NDArray[Any]:
    """Numbers as a dense array of what memory holds: of bfloat16, the bits.

    Arrays of uint16 are these bits already.
    """
    array = np.asarray(values)
    with np.errstate(over="ignore"):
        if element == bf16 and array.dtype != np.uint16:
            return to_bfloat16(array)
        return np.asarray(array, dtype_of(element), order="C")
