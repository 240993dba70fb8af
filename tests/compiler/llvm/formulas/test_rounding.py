"""Rounding to integers is exact, by instructions and without them."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    UNARY,
    Case,
    Doubles,
    Edge,
    check_edges,
    check_errors,
    linear,
    spread,
)


def round_half_away(x: Doubles) -> Doubles:
    """C's round."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("floor", np.floor, linear(-40.0, 40.0), 0, 0),
    ("floor", np.floor, spread(-1e-3, 3e38), 0, 0),
    ("ceil", np.ceil, linear(-40.0, 40.0), 0, 0),
    ("ceil", np.ceil, spread(-1e-3, 3e38), 0, 0),
    ("trunc", np.trunc, linear(-40.0, 40.0), 0, 0),
    ("trunc", np.trunc, spread(-1e-3, 3e38), 0, 0),
    ("round", round_half_away, linear(-512.0, 511.75), 0, 0),
    ("round", round_half_away, spread(-1e-3, 3e38), 0, 0),
    ("roundeven", np.rint, linear(-512.0, 511.75), 0, 0),
    ("roundeven", np.rint, spread(-1e-3, 3e38), 0, 0),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("floor", nan, nan), ("floor", -inf, -inf), ("floor", -0.5, -1.0), ("floor", -0.0, -0.0),
    ("ceil", -0.5, -0.0), ("ceil", nan, nan), ("trunc", -0.5, -0.0), ("trunc", inf, inf),
    ("round", 0.49999997, 0.0), ("round", -0.5, -1.0), ("round", 2.5, 3.0), ("round", nan, nan),
    ("roundeven", 2.5, 2.0), ("roundeven", -0.5, -0.0), ("roundeven", nan, nan),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    check_errors(compiled(UNARY.format(name=name)), name, CASES, target)


@pytest.mark.parametrize("name", sorted({edge[0] for edge in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    check_edges(compiled(UNARY.format(name=name)), name, EDGES)
