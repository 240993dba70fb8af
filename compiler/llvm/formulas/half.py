"""Conversions between float32 and the 16 bits of float16 and bfloat16, as formulas over lanes.

They are for targets without an instruction, where LLVM would call a library. They round to nearest
even, as the instructions do; NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from ncc.compiler.llvm.formulas.real import Lanes

_MAGNITUDE, _SIGN = 0x7FFFFFFF, -0x80000000
_INFINITY, _QUIET_NAN = 0x7F800000, 0x7E00

_EXPONENTS_APART = 2.0**112
"""float16's exponents are 112 less than float32's in the same bits."""


def from_bfloat16(bits: Lanes) -> Lanes:
    """The upper half of a float32."""
    return (bits.widened() << 16).as_float()


def to_bfloat16(x: Lanes) -> Lanes:
    """Adds half a unit of the last place, less one bit if this place is even."""
    bits = x.bits()
    odd = (bits >> 16) & 1
    nearest = (bits + odd + 0x7FFF) >> 16
    quiet = (bits >> 16) | 0x40
    return x.test("uno", x).choose(quiet, nearest).shortened()


def from_float16(bits: Lanes) -> Lanes:
    """The magnitude in the bits of a float32, times 2**112: this normalizes subnormal numbers."""
    wide = bits.widened()
    magnitude = (wide & 0x7FFF) << 13
    number = (magnitude.as_float() * _EXPONENTS_APART).bits()
    finite = (wide & 0x7C00).test("ne", 0x7C00)
    return (finite.choose(number, magnitude | _INFINITY) | (wide & 0x8000) << 16).as_float()


def to_float16(x: Lanes) -> Lanes:
    """Normal numbers as for bfloat16; adding 0.5 rounds subnormal ones, since its last place is
    their unit.
    """
    bits = x.bits()
    magnitude = bits & _MAGNITUDE
    odd = (magnitude >> 13) & 1
    normal = (magnitude + odd - 0x37FFF001) >> 13
    small = (magnitude.as_float() + 0.5).bits() - 0x3F000000
    found = magnitude.test("slt", 0x38800000).choose(small, normal)
    found = magnitude.test("sge", 0x47800000).choose(found.filled(0x7C00), found)
    found = magnitude.test("sgt", _INFINITY).choose(found.filled(_QUIET_NAN), found)
    return (found | ((bits & _SIGN) >> 16)).shortened()


FROM_BITS: dict[str, Callable[[Lanes], Lanes]] = {"f16": from_float16, "bf16": from_bfloat16}
TO_BITS: dict[str, Callable[[Lanes], Lanes]] = {"f16": to_float16, "bf16": to_bfloat16}
