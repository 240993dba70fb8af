"""Sines, tangents and their inverses against float64, on dense grids and at the edges."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    BINARY,
    COUNT,
    UNARY,
    Case,
    Edge,
    check_edges,
    check_errors,
    linear,
    relative_error,
    spread,
)

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("sin", np.sin, linear(-100.0, 100.0), 2e-7, 2.5e-7),
    ("sin", np.sin, spread(-1e-30, 1e6), 2e-7, 2.5e-7),
    ("cos", np.cos, linear(-100.0, 100.0), 2e-7, 2.5e-7),
    ("cos", np.cos, spread(-1e-30, 1e6), 2e-7, 2.5e-7),
    ("tan", np.tan, linear(-100.0, 100.0), 4e-7, 4e-7),
    ("asin", np.arcsin, linear(-1.0, 1.0), 3e-7, 3e-7),
    ("acos", np.arccos, linear(-1.0, 0.9999), 3e-7, 3e-7),
    ("atan", np.arctan, spread(-1e-30, 1e30), 3e-7, 3e-7),
    ("atan", np.arctan, linear(-4.0, 4.0), 3e-7, 3e-7),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("sin", inf, nan), ("sin", -0.0, -0.0), ("sin", nan, nan), ("cos", -inf, nan),
    ("cos", 0.0, 1.0), ("tan", inf, nan), ("tan", 0.0, 0.0), ("asin", 1.5, nan),
    ("asin", -0.0, -0.0), ("asin", nan, nan), ("acos", 1.0, 0.0), ("acos", -1.5, nan),
    ("atan", nan, nan), ("atan", -0.0, -0.0),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    check_errors(compiled(UNARY.format(name=name)), name, CASES, target)


@pytest.mark.parametrize("name", sorted({edge[0] for edge in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    check_edges(compiled(UNARY.format(name=name)), name, EDGES)


def test_atan2(compiled: Compile) -> None:
    """All four quadrants, both axes, and the corners at zero and at infinity."""
    code = compiled(BINARY.format(name="atan2"))
    random = np.random.default_rng(2)
    y, x = random.normal(size=(2, COUNT)).astype(np.float32)
    special = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan]
    corners = [(b, a) for b in special for a in special]
    y[: len(corners)] = [corner[0] for corner in corners]
    x[: len(corners)] = [corner[1] for corner in corners]
    z = np.zeros(COUNT, np.float32)
    code.call("both", y, x, z)
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert np.array_equal(np.isnan(z), np.isnan(exact))
    known = ~np.isnan(exact)
    assert relative_error(z[known], exact[known]).max() < 4e-7
    assert np.array_equal(np.signbit(z[known]), np.signbit(exact[known]))


def test_sin_of_huge_numbers_is_bounded(compiled: Compile) -> None:
    """Beyond the promised range the results are wrong, but still sines."""
    code = compiled(UNARY.format(name="sin"))
    x = spread(1e7, 3e38)
    y = np.full(COUNT, 9.0, np.float32)
    code.call("vector", x, y)
    assert np.abs(y).max() <= 1.0
