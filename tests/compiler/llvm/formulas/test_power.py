"""pow and the cube root against float64, and the special cases of C."""

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
    relative_error,
    spread,
)

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[Case] = [
    ("cbrt", np.cbrt, spread(-1e-37, 3e38), 1.2e-7, 1.2e-7),
]

# Name, argument, exact result.
EDGES: list[Edge] = [
    ("cbrt", -27.0, -3.0), ("cbrt", -0.0, -0.0), ("cbrt", inf, inf), ("cbrt", nan, nan),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    check_errors(compiled(UNARY.format(name=name)), name, CASES, target)


@pytest.mark.parametrize("name", sorted({edge[0] for edge in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    check_edges(compiled(UNARY.format(name=name)), name, EDGES)


def test_pow_error(compiled: Compile) -> None:
    """Powers of moderate and of extreme numbers are within 1e-7."""
    code = compiled(BINARY.format(name="powf"))
    random = np.random.default_rng(1)
    for low, high, largest in ((1e-3, 1e3, 10.0), (0.9, 1.1, 800.0), (1e-37, 1e37, 1.0)):
        x = np.exp(random.uniform(np.log(low), np.log(high), COUNT)).astype(np.float32)
        y = random.uniform(-largest, largest, COUNT).astype(np.float32)
        z = np.zeros(COUNT, np.float32)
        code.call("both", x, y, z)
        assert relative_error(z, x.astype(np.float64) ** y.astype(np.float64)).max() < 1e-7


POWERS = [
    (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -3.0, -0.125), (-2.0, 0.5, nan), (0.0, 0.0, 1.0),
    (nan, 0.0, 1.0), (1.0, nan, 1.0), (nan, 1.0, nan), (2.0, nan, nan), (-1.0, nan, nan),
    (0.0, 2.5, 0.0), (0.0, -1.0, inf), (-0.0, -1.0, -inf), (-0.0, 3.0, -0.0), (-0.0, -2.0, inf),
    (inf, -0.5, 0.0), (inf, 2.0, inf), (-inf, 3.0, -inf), (-inf, 0.5, inf), (2.0, 128.0, inf),
    (2.0, -160.0, 0.0), (0.5, inf, 0.0), (0.5, -inf, inf), (-1.0, inf, 1.0), (1.0, -inf, 1.0),
    (-1.0, 1e30, 1.0), (-3.0, 16777217.0 - 2, -inf), (2.0, 0.5, 2.0**0.5), (9.0, 0.5, 3.0),
    (0.0, 0.1, 0.0), (2.0, -149.0, 2.0**-149),
]  # fmt: skip


def test_pow_edges(compiled: Compile) -> None:
    """The special cases of C's powf (ISO C, F.10.4.4)."""
    code = compiled(BINARY.format(name="powf"))
    x, y = np.ones((2, COUNT), np.float32)
    x[: len(POWERS)] = [case[0] for case in POWERS]
    y[: len(POWERS)] = [case[1] for case in POWERS]
    z = np.full(COUNT, 123.0, np.float32)
    code.call("both", x, y, z)
    for (base, exponent, exact), result in zip(POWERS, z, strict=False):
        same = np.isnan(result) if np.isnan(exact) else result == np.float32(exact)
        assert same, f"pow({base}, {exponent}) = {result}, expected {exact}"
        assert np.isnan(exact) or np.signbit(result) == np.signbit(exact), (base, exponent)
