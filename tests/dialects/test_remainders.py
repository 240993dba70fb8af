"""Remainders of every element type are those of numpy."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64, i1

from ncc.dialects.element import ELEMENTS, as_stored, is_half
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.remainders import fmod, modulo
from tests.typed import every_type, numbers, run, samples


@every_type
def test_remainders(name: str, level: int, target: str) -> None:
    """The sign of the divisor, or that of the dividend; 0 of integers by 0."""
    element = ELEMENTS[name]
    x, y = samples(element), np.roll(samples(element, 1), 5)
    if element == i1:
        element, x, y = f64, np.array([1e15, 7.5, -7.5]), np.array([0.1, -2.0, 2.0])

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        made = []
        for compute in (modulo, fmod):
            at = b.loops_of(x.shape)
            made.append(b.map(at, compute(x[at], y[at])))
        return made

    found = run([(x.shape, element)] * 2, write, [x, y], level, target)
    for made, exact in zip(found, (np.mod, np.fmod), strict=True):
        with np.errstate(all="ignore"):
            expected = exact(x, y)
        if is_half(element):
            expected = numbers(as_stored(expected, element), element)
        np.testing.assert_array_equal(made, expected)
