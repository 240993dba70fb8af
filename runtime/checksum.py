"""CRC-32 of bytes that were summed up in parts.

A CRC is the remainder of a polynomial over two elements, whose coefficients are the bits of the
text. So that of a text `ab` is that of a, times x to the number of bits of b, plus that of b.
"""

from __future__ import annotations

from functools import cache

_POLYNOMIAL = 0xEDB88320  # the powers up to x^31, that of x^0 as the highest bit
_ONE, _X = 1 << 31, 1 << 30


def joined(first: int, second: int, size: int) -> int:
    """The CRC-32 of a text by those of its two parts, the second one of so many bytes."""
    return _times(first, _power(8 * size)) ^ second


@cache
def _power(exponent: int) -> int:
    """x to an exponent."""
    power = _ONE
    for bit in range(exponent.bit_length()):
        if exponent >> bit & 1:
            power = _times(power, _square(bit))
    return power


@cache
def _square(times: int) -> int:
    """x, squared so many times."""
    if not times:
        return _X
    root = _square(times - 1)
    return _times(root, root)


def _times(a: int, b: int) -> int:
    """The product of two remainders."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ _POLYNOMIAL * (b & 1)
    return product
