"""exp and its relatives against float64; and where networks run: denormal numbers are flushed, and
rows end amid a register.
"""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
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
from tests.crossed import some
from tests.runnable import NAMES

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("exp", np.exp, linear(-87.3, 88.7), 1.2e-7, 1.5e-7),
    ("exp", np.exp, spread(-1e-30, 80.0), 1.2e-7, 1.5e-7),
    ("exp2", np.exp2, linear(-125.9, 127.9), 1.2e-7, 1.5e-7),
    ("expm1", np.expm1, spread(-1e-30, 88.0), 2e-7, 2.5e-7),
    ("expm1", np.expm1, linear(-3.0, 3.0), 2e-7, 2.5e-7),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("exp", -inf, 0.0), ("exp", inf, inf), ("exp", nan, nan), ("exp", -200.0, 0.0),
    ("exp", 89.0, inf), ("exp", 0.0, 1.0), ("exp2", -150.0, 0.0), ("exp2", -149.0, 2.0**-149),
    ("exp2", 128.0, inf), ("exp2", 10.0, 1024.0), ("exp2", nan, nan), ("expm1", -inf, -1.0),
    ("expm1", inf, inf), ("expm1", -0.0, -0.0), ("expm1", nan, nan),
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
    """exp is within 1.1 units on every target, over all floats."""
    worst = [5.20013714, -38.4196167, 5.20053768, -5.19826794]  # where most were found
    check_units(compiled(UNARY.format(name="exp")), np.exp, 88.7, 1.1, worst)


@pytest.mark.parametrize("type", ["Sigmoid", "Swish", "TanH", "Mish", "GELU", "ELU"])
@pytest.mark.parametrize("target", some(NAMES, usual=1))
def test_a_value_does_not_depend_on_its_place(type: str, target: str, tmp_path: Path) -> None:
    """In a full register, in one with less lanes, and alone; for values of any size."""
    path = tmp_path / "net.param"
    path.write_text(f"7767517\n2 2\nInput data 0 1 data 0=31\n{type} f 1 1 data y\n")
    (tmp_path / "net.bin").write_bytes(b"")
    model = ncc.compile(path, target=target)
    sizes = [1e-30, 0.3, 3.0, 17.0, 87.0, 88.0, 89.0, 1000.0, 3e38, np.inf]
    for x in [np.nan, 0.0, *sizes, *(-x for x in sizes)]:
        y = model(np.full(31, x, np.float32))
        np.testing.assert_allclose(y, y[0], rtol=1e-6, err_msg=f"{type}({x})")
