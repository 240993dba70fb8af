"""Elements of every type as those that statements (`dialects/statements.py`) compute with.

float16 and bfloat16 are float32 there, bool and the narrow integers int32, uint32 and uint64 int64.
No element changes on the way there and back.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import bf16, f16, f32, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from ncc.dialects.casts import cast
from ncc.dialects.element import ui8, ui16, ui32, ui64
from ncc.dialects.index_notation import Builder, Tensor

CARRIERS: Mapping[Attribute, Attribute] = {
    f16: f32,
    bf16: f32,
    i1: i32,
    i8: i32,
    i16: i32,
    ui8: i32,
    ui16: i32,
    ui32: i64,
    ui64: i64,
}
"""The type that carries another one; float32, float64, int32 and int64 carry themselves."""


def carried(b: Builder, x: Tensor) -> Tensor:
    """x in the type that carries its elements."""
    return as_elements(b, x, CARRIERS.get(x.element_type, x.element_type))


def as_elements(b: Builder, x: Tensor, element: Attribute) -> Tensor:
    """x in another element type; x itself where it has it."""
    if x.element_type == element:
        return x
    at = b.loops_of(x.shape)
    return b.map(at, cast(x[at], element))
