"""erf against float64, on dense grids and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, inf, nan

import numpy as np
import pytest

from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    LARGEST,
    UNARY,
    Case,
    Doubles,
    Edge,
    check_edges,
    check_errors,
    check_units,
    linear,
    on_all,
    spread,
)

double_erf: Callable[[Doubles], Doubles] = np.vectorize(erf)


# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("erf", double_erf, spread(-1e-30, 10.0), 2e-7, 2.5e-7),
    ("erf", double_erf, linear(-4.5, 4.5), 2e-7, 2.5e-7),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("erf", inf, 1.0), ("erf", -inf, -1.0), ("erf", -0.0, -0.0), ("erf", nan, nan),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    check_errors(compiled(UNARY.format(name=name)), name, CASES, target)


@pytest.mark.parametrize("name", sorted({edge[0] for edge in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    check_edges(compiled(UNARY.format(name=name)), name, EDGES)


@on_all
def test_units_of_the_last_place(compiled: Compile) -> None:
    """erf is within 2 units on every target, over all floats."""
    worst = [3.57954621, 0.073755346, 0.00040875573, 0.904540956]  # where most were found
    check_units(compiled(UNARY.format(name="erf")), double_erf, LARGEST, 2.0, worst)
