"""Reciprocals as ncnn's release takes them where it has the CPU estimate them.

The estimate of 1/x is that of the middle of x's interval, one of 2048 between two powers of two,
to 13 bits: off by up to 1/3300. One step of Newton's makes of an estimate r

    2r - xrr

which is off by a unit or two in the last place, and below 1/x for most x.
"""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.layer import Array

_INTERVALS = 2.0**12
"""Intervals of equal width between 0 and 1; mantissas fall into the upper half of them."""

_LEAST = np.finfo(np.float32).tiny
"""Numbers below count as zero, before and after."""


def estimated_reciprocal(x: Array | np.float32) -> Array:
    """The estimate of 1/x, float32."""
    mantissa, exponent = np.frexp(np.abs(x, dtype=np.float64))
    middle = (np.floor(mantissa * _INTERVALS) + 0.5) / _INTERVALS
    estimate = np.ldexp(np.round(_INTERVALS / middle) / _INTERVALS, -exponent)
    estimate = np.where(np.abs(x) < _LEAST, np.inf, np.where(estimate < _LEAST, 0, estimate))
    return np.copysign(estimate, x).astype(np.float32)


def refined_reciprocal(x: Array | np.float32) -> Array:
    """The estimate of 1/x after one step, float32; for x that have a finite one."""
    estimate = estimated_reciprocal(x)
    return np.asarray((estimate + estimate) - (x * estimate) * estimate)
