"""Conversions between float32 and the 16 bits of float16 and bfloat16, as formulas over lanes.

They are for targets without an instruction, where LLVM would call a library. They round to nearest
even, as the instructions do; NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from ncc.compiler.llvm.formulas.real import Lanes

_MAGNITUDE, _SIGN = 0x7FFFFFFF, -0x80000000
_INFINITY, _QUIET_NAN = 0x7F800000, 0x7E00

_EXPONENTS_APART = 112 << 23
"""float16's exponents are 112 less than float32's in the same bits."""
_SMALLEST = 2.0**-24
"""The smallest float16."""


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
    """Normal numbers by their bits; subnormal ones are integers times 2**-24."""
    wide = bits.widened()
    magnitude = wide & 0x7FFF
    small = (magnitude.to_real() * _SMALLEST).bits()
    shifted = magnitude << 13
    number = magnitude.test("slt", 0x400).choose(small, shifted + _EXPONENTS_APART)
    number = magnitude.test("slt", 0x7C00).choose(number, shifted | _INFINITY)
    return (number | (wide & 0x8000) << 16).as_float()


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


def single_to_be_rounded(x: Lanes) -> Lanes:
    """A float64 as one of both float32 around it: the odd one, unless x is a float32.

    It rounds to fewer bits as x would: no float32 that is half way between two of these is odd (S.
    Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums, 2008).
    """
    nearest = x.to_single()
    back, bits = nearest.to_double(), nearest.bits()
    below = abs(back).test("ogt", abs(x)).choose(bits - 1, bits)
    return back.test("one", x).choose(below | 1, bits).as_float()


FROM_BITS: dict[str, Callable[[Lanes], Lanes]] = {"f16": from_float16, "bf16": from_bfloat16}
TO_BITS: dict[str, Callable[[Lanes], Lanes]] = {"f16": to_float16, "bf16": to_bfloat16}
