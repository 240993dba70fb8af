"""Cases that are all combinations of some values, of which a usual run has a few."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def crossed(*axes: Sequence[Any]) -> list[Any]:
    """All combinations of one value of each axis; each value is in one that is not slow.

    For two axes, a table whose diagonal is usual: of 1, 2, 3 and x, y these are 1-x, 2-y and 3-x.
    Where the table is not square, the diagonal begins again at the other edge. Where an axis has no
    values, there are no combinations.
    """
    if not all(map(len, axes)):
        return []
    longest = max(len(axis) for axis in axes)
    usual = {tuple(step % len(axis) for axis in axes) for step in range(longest)}
    combinations = product(*(enumerate(axis) for axis in axes))
    return [
        pytest.param(
            *(value for _, value in combination),
            marks=() if tuple(place for place, _ in combination) in usual else pytest.mark.slow,
            id="-".join(_name(value) for _, value in combination),
        )
        for combination in combinations
    ]


def some(cases: Sequence[Any], usual: int) -> list[Any]:
    """Cases of which a usual run has the first ones."""
    slow = (pytest.param(case, marks=pytest.mark.slow) for case in cases[usual:])
    return [*cases[:usual], *slow]


def _name(value: Any) -> str:
    """Of a target or a function its own."""
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)
