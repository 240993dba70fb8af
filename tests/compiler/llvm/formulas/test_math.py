"""What is one instruction or a few, and that all functions are in the module that calls them."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from ncc.compiler.llvm.formulas.math import FORMULAS
from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    BINARY,
    TINY,
    UNARY,
    Case,
    Edge,
    check_edges,
    check_errors,
    spread,
)

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("sqrt", np.sqrt, spread(TINY, 3e38), 6e-8, 6e-8),
    ("rsqrt", lambda x: 1 / np.sqrt(x), spread(TINY, 3e38), 1.2e-7, 1.2e-7),
    ("absf", np.abs, spread(-1e-30, 3e38), 0, 0),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("sqrt", -1.0, nan), ("sqrt", inf, inf), ("rsqrt", 0.0, inf), ("rsqrt", inf, 0.0),
    ("absf", -0.0, 0.0), ("absf", -inf, inf),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    check_errors(compiled(UNARY.format(name=name)), name, CASES, target)


@pytest.mark.parametrize("name", sorted({edge[0] for edge in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    check_edges(compiled(UNARY.format(name=name)), name, EDGES)


def test_no_symbol_is_left_undefined(target: Target, compiled: Compile) -> None:
    """Everything in one module: compiled code needs no library at run time."""
    unary = FORMULAS.keys() - {"logistic", "swish", "powf", "atan2"}
    texts = [UNARY.format(name=name) for name in sorted(unary)]
    for text in [*texts, BINARY.format(name="powf"), BINARY.format(name="atan2")]:
        words = compiled(text).llvm.split("@")[1:]
        calls = {word.split("(")[0] for word in words if not word.startswith("llvm.")}
        assert all(call.startswith(("ncc.", "vector", "scalar", "both")) for call in calls), calls
