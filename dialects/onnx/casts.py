"""Values of one element type as another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from ncc.dialects.casts import cast
from ncc.dialects.element import as_stored, bits_of, dtype_of, is_integer, ui8, ui16, ui32, ui64
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, required
from ncc.dialects.onnx.operator import Array, NotYet, Operator, Shape, operator
from ncc.dialects.onnx.rounded_sizes import rounded

ELEMENTS: Mapping[int, Attribute] = {
    1: f32,
    2: ui8,
    3: i8,
    4: ui16,
    5: i16,
    6: i32,
    7: i64,
    9: i1,
    10: f16,
    11: f64,
    12: ui32,
    13: ui64,
    16: bf16,
}
"""Element types by ONNX's numbers (`TensorProto.DataType`)."""

NAMES: Mapping[int, str] = {
    8: "string",
    14: "complex64",
    15: "complex128",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}
"""The other element types of ONNX, which ncc does not have."""


def element_of_number(number: int) -> Attribute:
    """The element type of ONNX's number. Raises `NotYet` where ncc has none."""
    found = ELEMENTS.get(number)
    if found is None:
        raise NotYet(f"elements {NAMES.get(number, f'of the data type {number}')}")
    return found


class _Casting(Operator):
    BY_ELEMENT = True

    saturate = integer(1)
    """What becomes of numbers beyond the largest float8, which ncc does not have."""
    round_mode = None

    def infer(self, x: Shape, *others: Shape) -> Shape:
        return x

    def target(self) -> Attribute:
        """The type of the result."""
        raise NotImplementedError

    def element_types(self, *operands: Attribute) -> Attribute:
        return self.target()

    def reference(self, x: Array, *others: Array) -> Array:
        target = self.target()
        if target == bf16:
            return as_stored(np.asarray(x, np.float32), bf16)
        if target == i1:
            return np.asarray(x != 0)
        return x.astype(dtype_of(target))

    def of_sizes(self, x: Array, *others: Array) -> Array | None:
        target = self.target()
        return None if target == i1 or bits_of(target) < 32 else x

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        if x.element_type == self.target():
            return x
        at = b.loops_of(x.shape)
        return b.map(at, cast(x[at], self.target()))


@operator("Cast", since=6)
class CastOp(_Casting):
    """x as elements of another type."""

    to = integer()

    def target(self) -> Attribute:
        return element_of_number(required(self.to, "to"))

    def of_fractions(self) -> Array | None:
        target = self.target()
        return rounded(self) if is_integer(target) and bits_of(target) >= 32 else None


@operator("CastLike", since=15, inputs=2)
class CastLikeOp(_Casting):
    """x as elements of the type of the second operand."""

    def target(self) -> Attribute:
        found = self.element_at(1)
        assert found is not None
        return found
