"""exp(-x) + 1 in few instructions of AVX-512 or AVX2: a table in a register has roots of two.

    m = the multiple of 1/8 nearest to -x / ln(2)
    n = m * (1 - 1/2048) + 1/16
    r = x + n*C                          C = ln(2) / (1 - 1/2048);   0 <= r <= C/8
    exp(-x) = 2**m * exp(C/16) * exp(-r)

ln(2) as one float32 would be wrong by 2.4e-7 in the exponent of the largest numbers, and as two
floats it would take one more instruction. C is 9 times as near to a float32. n is exact in 24 bits.
For |m| < 128 it has the same floor as m, and the instruction for powers of two reads only the
floor.

AVX2 has no such instruction. There the sum with the magic number has the bits of 8*m. They are
shifted and added to the exponent of the root, which multiplies the root by 2**floor(m). The
fraction of m adds bits below the exponent, which the table has subtracted.
"""

from __future__ import annotations

from functools import cache
from math import exp, log

import numpy as np

from ncc.compiler.llvm.formulas.approximation import Interpolated
from ncc.compiler.llvm.formulas.avx512 import REGISTER
from ncc.compiler.llvm.formulas.real import Lanes

LARGEST = 87.0
"""The largest x whose power is a normal number; the sum is 1 long before."""

_LN2 = log(2.0)
_STEPS = 8
_SHRINK = 1.0 - 1.0 / 2048.0
_C = float(np.float32(_LN2 / _SHRINK))
_HALF = 0.5 / _STEPS
# Added to a number it leaves its eighths in the low bits; shrunk it is below 2**20, and so are
# sums with it, where sixteenths have a bit.
_MAGIC = 2.0**20 + 256.0
# exp(-r) is written times this number, which is below 1, where floats are denser, and such that
# the roots over it are nearly floats.
_SHARE = 0.9685419201850891
# The shift of the bits of 8*m, so that whole m are in the exponent of a float32.
_PLACE = 23 - 3
# C is too small by 3.2e-10, which makes powers too large by up to 2.8e-8: roots meet it halfway.
_LESS = 1.0 - 1e-8


_WHOLE = Interpolated(lambda r: np.exp(-r), 0.0, 2.0 * _HALF * _C, 3)
"""exp(-r), 0 <= r <= C/8."""


@cache
def _powers() -> tuple[float, ...]:
    """The same times _SHARE, to 1.9e-8; the constant term is _SHARE itself."""
    whole = _WHOLE.coefficients
    return tuple(_SHARE * c / whole[0] for c in whole)


@cache
def _roots() -> tuple[float, ...]:
    """2**(k/8) * exp(C/16) over the factor of the powers, for k of 0 to 7, and once more."""
    factor = exp(_HALF * _C) * _WHOLE.coefficients[0] * _LESS / _SHARE
    return tuple(2.0 ** (k % _STEPS / _STEPS) * factor for k in range(REGISTER))


@cache
def _bits_of_roots() -> tuple[int, ...]:
    """The bits of these for k of 0 to 7, less the bits of k and of the magic number, moved like
    8*m.
    """
    bits = np.array(_roots()[:_STEPS], np.float32).view(np.uint32)
    magic = np.float32(_MAGIC).view(np.uint32)
    below = (np.arange(_STEPS, dtype=np.uint32) + magic) << np.uint32(_PLACE)
    return tuple((bits - below).view(np.int32).tolist())


def short_exp_plus_one(x: Lanes) -> Lanes:
    """exp(-x) + 1 in lanes that fill a register, within 1.6e-7; -88.3 <= x <= 88.3, in AVX2 up to
    LARGEST.
    """
    shifted = x.times_plus(-1.0 / _LN2, _MAGIC)
    n = shifted.times_plus(_SHRINK, _HALF - _MAGIC * _SHRINK)
    power = n.times_plus(_C, x).nested_polynomial(_powers())
    eighths = shifted.bits()
    if x.fills_avx2:
        scaled = (eighths.looked_up_of_eight(_bits_of_roots()) + (eighths << _PLACE)).as_float()
    else:
        scaled = eighths.looked_up(_roots()).scaled(n)
    return power.times_plus(scaled, 1.0)
