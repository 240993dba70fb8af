"""Hyperbolic functions and their inverses against float64, on dense grids and at the edges."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    LARGEST,
    UNARY,
    Case,
    Edge,
    check_edges,
    check_errors,
    check_units,
    linear,
    on_all,
    spread,
)

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("tanh", np.tanh, spread(-1e-30, 20.0), 2e-7, 2.5e-7),
    ("tanh", np.tanh, linear(-10.0, 10.0), 2e-7, 2.5e-7),
    ("sinh", np.sinh, spread(-1e-30, 89.0), 4e-7, 4e-7),
    ("cosh", np.cosh, linear(-89.0, 89.0), 4e-7, 4e-7),
    ("asinh", np.arcsinh, spread(-1e-30, 3e38), 4e-7, 4e-7),
    ("acosh", np.arccosh, 1 + spread(1e-6, 1e30), 4e-7, 4e-7),
    ("atanh", np.arctanh, spread(-1e-30, 0.9999), 4e-7, 4e-7),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("tanh", inf, 1.0), ("tanh", -inf, -1.0), ("tanh", -0.0, -0.0), ("tanh", nan, nan),
    ("sinh", inf, inf), ("sinh", -inf, -inf), ("sinh", nan, nan), ("cosh", -inf, inf),
    ("cosh", 0.0, 1.0), ("cosh", nan, nan), ("asinh", -inf, -inf), ("asinh", nan, nan),
    ("acosh", 1.0, 0.0), ("acosh", 0.5, nan), ("acosh", inf, inf), ("acosh", nan, nan),
    ("acosh", -1.0, nan), ("acosh", -1e4, nan), ("acosh", -1e10, nan), ("acosh", -inf, nan),
    ("atanh", 1.0, inf), ("atanh", -1.0, -inf), ("atanh", 2.0, nan), ("atanh", nan, nan),
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
    """tanh is within 2 units on every target, over all floats."""
    worst = [0.620673478, 0.015533126, 0.600100577, 9.02]  # where most were found
    check_units(compiled(UNARY.format(name="tanh")), np.tanh, LARGEST, 1.9, worst)
