"""log and its relatives against float64, on dense grids and at the edges."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    TINY,
    UNARY,
    Case,
    Edge,
    check_edges,
    check_errors,
    linear,
    spread,
)

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("log", np.log, spread(TINY, 3e38), 1.2e-7, 1.5e-7),
    ("log", np.log, linear(0.5, 2.0), 1.2e-7, 1.5e-7),
    ("log2", np.log2, spread(TINY, 3e38), 2e-7, 2.5e-7),
    ("log2", np.log2, linear(0.5, 2.0), 2e-7, 2.5e-7),
    ("log10", np.log10, spread(TINY, 3e38), 2e-7, 2.5e-7),
    ("log10", np.log10, linear(0.5, 2.0), 2e-7, 2.5e-7),
    ("log1p", np.log1p, spread(1e-30, 3e38), 3e-7, 3e-7),
    ("log1p", np.log1p, linear(-0.999, 2.0), 3e-7, 3e-7),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("log", 0.0, -inf), ("log", -0.0, -inf), ("log", inf, inf), ("log", -1.0, nan),
    ("log", -inf, nan), ("log", nan, nan), ("log", 1.0, 0.0), ("log2", 8.0, 3.0),
    ("log2", 2.0**-149, -149.0), ("log2", 0.0, -inf), ("log10", 1000.0, 3.0), ("log10", -2.0, nan),
    ("log1p", -1.0, -inf), ("log1p", inf, inf), ("log1p", -0.0, -0.0), ("log1p", -2.0, nan),
    ("log1p", nan, nan),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    check_errors(compiled(UNARY.format(name=name)), name, CASES, target)


@pytest.mark.parametrize("name", sorted({edge[0] for edge in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    check_edges(compiled(UNARY.format(name=name)), name, EDGES)
