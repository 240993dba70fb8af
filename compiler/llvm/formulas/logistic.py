"""The logistic function, swish, and the sum that both divide by, as formulas over float32 lanes."""

from __future__ import annotations

from ncc.compiler.llvm.formulas.exponential import reduced
from ncc.compiler.llvm.formulas.real import Lanes
from ncc.compiler.llvm.formulas.short_exp import LARGEST, short_exp_plus_one

_LIMIT = 88.3
"""A little less than 88.72, where exp overflows float32."""


def exp_of_negated_plus_one(x: Lanes) -> Lanes:
    """exp(-x) + 1 = 2**n * (exp(r) - 1) + (2**n + 1), |x| <= 88.3: the sum of both powers of two is
    exact for n up to 23, and nearly so beyond.
    """
    if x.fills_avx512 or x.fills_avx2:
        return short_exp_plus_one(x)
    parts = reduced(-x)
    return parts.fraction.times_plus(parts.scale, parts.scale + 1.0)


def _upper_limit(x: Lanes) -> float:
    """The largest argument of this sum."""
    return LARGEST if x.fills_avx2 else _LIMIT


def logistic(x: Lanes) -> Lanes:
    """1 / (1 + exp(-x)), which is 0 (denormal, unless flushed) if exp(-x) overflows."""
    limited = x.at_least(-_LIMIT).at_most(_upper_limit(x))
    return exp_of_negated_plus_one(limited).inverse()


def swish(x: Lanes) -> Lanes:
    """x / (1 + exp(-x)), x limited below so that no infinity is divided by a limited sum; or
    x * (1 / (1 + exp(-x))), in which the second factor ends in 0. A NaN comes through x.
    """
    if x.divides:
        low = x.at_least(-_LIMIT)
        return low / exp_of_negated_plus_one(low.at_most(_upper_limit(x)))
    return x * exp_of_negated_plus_one(x.within(_LIMIT)).inverse()
