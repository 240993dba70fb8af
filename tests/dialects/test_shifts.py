"""Shifts of every type of integers are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.dialects.element import ELEMENTS, bits_of, dtype_of, is_unsigned
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shifts import shift_left, shift_right
from tests.typed import COUNT, run, samples

INTEGERS = [name for name in ELEMENTS if "int" in name]


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(name: str) -> None:
    """By as many bits as there are, by more, and by negative counts; the sign comes from above."""
    element = ELEMENTS[name]
    x = samples(element)
    by = np.arange(COUNT).astype(dtype_of(element)) % (bits_of(element) + 3)
    by = by.astype(dtype_of(element))
    if not is_unsigned(element):
        by[::5] = -by[::5] - bits_of(element) // 2

    def write(b: Builder, x: Tensor, by: Tensor) -> list[Tensor]:
        made = []
        for shift in (shift_left, shift_right):
            at = b.loops_of(x.shape)
            made.append(b.map(at, shift(x[at], by[at])))
        at = b.loops_of(x.shape)
        return [*made, b.map(at, shift_left(x[at], 2))]

    found = run([(x.shape, element)] * 2, write, [x, by], 2, "host")
    expected = [np.left_shift(x, by), np.right_shift(x, by), x << x.dtype.type(2)]
    for made, exact in zip(found, expected, strict=True):
        np.testing.assert_array_equal(made, exact)
