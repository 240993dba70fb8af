"""Cases that are all combinations of some values, of which a usual run has a few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest


def crossed(*axes: Sequence[Any], usual: int | None = None) -> list[Any]:
    """All combinations of one value of each axis; each value is in one that is not slow.

    For two axes, a table whose diagonal is usual: of 1, 2, 3 and x, y these are 1-x, 2-y and 3-x.
    Where the table is not square, the diagonal begins again at the other edge. Where an axis has no
    values, there are no combinations. `usual` says how many of the diagonal a usual run has, where
    other tests have the values that it leaves out.
    """
    if not all(map(len, axes)):
        return []
    longest = max(len(axis) for axis in axes)
    steps = range(longest)[:usual]
    diagonal = {tuple(step % len(axis) for axis in axes) for step in steps}
    combinations = product(*(enumerate(axis) for axis in axes))
    return [
        pytest.param(
            *(value for _, value in combination),
            marks=() if tuple(place for place, _ in combination) in diagonal else pytest.mark.slow,
            id="-".join(_name(value) for _, value in combination),
        )
        for combination in combinations
    ]


def some(cases: Sequence[Any], usual: int) -> list[Any]:
    """Cases of which a usual run has the first ones."""
    slow = (pytest.param(case, marks=pytest.mark.slow) for case in cases[usual:])
    return [*cases[:usual], *slow]


def in_turn(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases of which a usual run has one of so many, spread over all of them."""
    return [
        case if place % every == 0 else pytest.param(*_values(case), marks=pytest.mark.slow)
        for place, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    """Those of several arguments are a tuple."""
    return case if isinstance(case, tuple) else (case,)


def _name(value: Any) -> str:
    """Of a target or a function its own."""
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)
