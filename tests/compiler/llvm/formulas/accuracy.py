"""How far a function of the library is from float64, on dense grids and at the edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from ncc.compiler.target import AVX512, ONE_UNIT, TARGETS, Target
from tests.compiler.llvm.called import Code, Floats

Doubles = npt.NDArray[np.float64]
Exact = Callable[[Doubles], Doubles]

Case: TypeAlias = tuple[str, Exact, Floats, float, float]
Edge: TypeAlias = tuple[str, float, float]

DIVIDING = replace(AVX512, name="avx512 that divides", core=ONE_UNIT)
on_all = pytest.mark.parametrize(
    "target", [*TARGETS, DIVIDING], indirect=True, ids=lambda target: target.name
)

TINY = 2.0**-126
COUNT = 4096
LARGEST = float(np.finfo(np.float32).max)

UNARY = """
func.func @vector(%x: memref<4096xf32>, %y: memref<4096xf32>) {{
  %c0 = arith.constant 0 : index
  %cn = arith.constant 4096 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %cn step %c16 {{
    %v = vector.load %x[%i] : memref<4096xf32>, vector<16xf32>
    %e = math.{name} %v : vector<16xf32>
    vector.store %e, %y[%i] : memref<4096xf32>, vector<16xf32>
  }}
  func.return
}}
func.func @scalar(%x: memref<4096xf32>, %y: memref<4096xf32>) {{
  %c0 = arith.constant 0 : index
  %cn = arith.constant 4096 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %cn step %c1 {{
    %v = memref.load %x[%i] : memref<4096xf32>
    %e = math.{name} %v : f32
    memref.store %e, %y[%i] : memref<4096xf32>
  }}
  func.return
}}
"""

BINARY = """
func.func @both(%x: memref<4096xf32>, %y: memref<4096xf32>, %z: memref<4096xf32>) {{
  %c0 = arith.constant 0 : index
  %cn = arith.constant 4096 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %cn step %c16 {{
    %a = vector.load %x[%i] : memref<4096xf32>, vector<16xf32>
    %b = vector.load %y[%i] : memref<4096xf32>, vector<16xf32>
    %e = math.{name} %a, %b : vector<16xf32>
    vector.store %e, %z[%i] : memref<4096xf32>, vector<16xf32>
  }}
  func.return
}}
"""


def linear(low: float, high: float) -> Floats:
    """A dense grid."""
    return np.linspace(low, high, COUNT, dtype=np.float32)


def spread(low: float, high: float) -> Floats:
    """A grid that is dense in every power of two, of both signs if low is negative."""
    positive = np.geomspace(abs(low), high, COUNT // (2 if low < 0 else 1))
    both = np.concatenate([-positive[::-1], positive]) if low < 0 else positive
    return both.astype(np.float32)


def all_binades(limit: float, seed: int) -> Floats:
    """Numbers of both signs and every power of two below a limit, denormal ones too."""
    bits = np.random.default_rng(seed).integers(0, np.float32(limit).view(np.int32), 24 * COUNT)
    positive = bits.astype(np.int32).view(np.float32)
    near = np.random.default_rng(seed).uniform(0.0, min(limit, 20.0), 8 * COUNT).astype(np.float32)
    both = np.concatenate([positive, near])
    both[::2] *= -1
    return both


def relative_error(actual: Floats, exact: Doubles) -> Doubles:
    """|actual - exact| / |exact|; 0 where the exact value is below float32 and actual is tiny."""
    error = np.abs(actual.astype(np.float64) - exact)
    scale = np.abs(exact)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(error == 0, 0.0, error / np.maximum(scale, TINY))


def float_units(actual: Floats, exact: Doubles) -> Doubles:
    """|actual - exact| in units of the last place of the exact value in float32."""
    exponent = np.maximum(np.frexp(exact)[1], -125)
    units: Doubles = np.ldexp(np.abs(actual - exact), 24 - exponent)
    return units


def check_errors(code: Code, name: str, cases: Sequence[Case], target: Target) -> None:
    """Vectors and scalars of a function are within the promised error of each of its cases."""
    for _, reference, x, fused, separate in (case for case in cases if case[0] == name):
        exact = reference(x.astype(np.float64))
        bound = fused if target.fma else separate
        for function in ("vector", "scalar"):
            y = np.full(COUNT, nan, np.float32)
            code.call(function, x, y)
            error = relative_error(y, exact)
            worst = int(np.argmax(error))
            message = f"{function} {name}({x[worst]!r}) = {y[worst]!r}, exact {exact[worst]!r}"
            assert error[worst] <= bound, message


def check_edges(code: Code, name: str, edges: Sequence[Edge]) -> None:
    """A function is exact at its edges, the sign of zeros included."""
    cases = [edge for edge in edges if edge[0] == name]
    x = np.zeros(COUNT, np.float32)
    x[: len(cases)] = [argument for _, argument, _ in cases]
    y = np.full(COUNT, 123.0, np.float32)
    code.call("vector", x, y)
    for (_, argument, exact), result in zip(cases, y, strict=False):
        same = np.isnan(result) if np.isnan(exact) else result == np.float32(exact)
        assert same, f"{name}({argument}) = {result}, expected {exact}"
        assert np.isnan(exact) or np.signbit(result) == np.signbit(exact), f"sign of {name}"


def check_units(
    code: Code, reference: Exact, limit: float, bound: float, worst: Sequence[float]
) -> None:
    """Over numbers of every size below a limit, and where most units were found."""
    x = all_binades(limit, 3)
    x[: 2 * len(worst)] = [*worst, *(-value for value in worst)]
    for part in x.reshape(-1, COUNT):
        y = np.full(COUNT, nan, np.float32)
        code.call("vector", part, y)
        units = float_units(y, reference(part.astype(np.float64)))
        found = int(np.argmax(units))
        assert units[found] <= bound, f"f({part[found]!r}) = {y[found]!r}: {units[found]} units"
