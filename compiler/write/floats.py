"""Writes a float32 as the shortest text that every runtime reads as the same float32.

    0.1            0.1
    1.0            1.0
    -3.4028235e+38 -3.4028235e+38
    1e-45          1e-45

ncnn's runtimes up to mid-2026 have a reader of their own: at most 15 characters, digits before and
behind the point each summed in 32 bits, then scaled in doubles. Later ones round rightly. A text is
good if both come to the very value.
"""

from __future__ import annotations

import re

import numpy as np

LONGEST = 15
"""Characters of a number that a runtime reads; the rest would be taken for the next key."""

_PARTS = re.compile(r"(-?)(\d*)\.?(\d*)(?:e([+-]\d+))?")


def float_text(value: float) -> str:
    """The text of a value of 32 bits, with a point or an exponent in it.

    Raises `ValueError` for an infinity or a NaN, which the format cannot say.
    """
    single = np.float32(value)
    if not np.isfinite(single):
        raise ValueError(f"a .param file cannot say {single}")
    positional = np.format_float_positional(single, unique=True, trim="0")
    scientific = np.format_float_scientific(single, unique=True, trim="-", exp_digits=2)
    shortest = sorted((positional, scientific), key=len)
    for text in (*shortest, f"{single:.8e}"):
        if len(text) <= LONGEST and _is_read_as(text, single):
            return text
    raise ValueError(f"no text of {LONGEST} characters is read as {single!r}")


def _is_read_as(text: str, single: np.float32) -> bool:
    old = reading_of_old_runtimes(text)
    same = old is not None and old == single and np.signbit(old) == np.signbit(single)
    return same and np.float32(float(text)) == single


def reading_of_old_runtimes(text: str) -> np.float32 | None:
    """The value that a runtime with 32-bit sums reads; None if a sum overflows."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number")
    sign, whole, fraction, exponent = match.groups()
    if int(whole or 0) >= 2**32 or len(fraction) > 9:
        return None
    magnitude = int(whole or 0) + int(fraction or 0) / 10.0 ** len(fraction)
    left = abs(int(exponent or 0))
    scale = 1.0
    while left >= 8:
        scale, left = scale * 1e8, left - 8
    while left:
        scale, left = scale * 10.0, left - 1
    magnitude = magnitude / scale if (exponent or "").startswith("-") else magnitude * scale
    with np.errstate(over="ignore"):
        return np.float32(-magnitude if sign else magnitude)
