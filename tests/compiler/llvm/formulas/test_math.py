"""The functions of the library against float64, on dense grids and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import erf, inf, nan
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pytest

from ncc.compiler.target import AVX512, ONE_UNIT, TARGETS, TWO_UNITS, Target

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class Code(Protocol):
    """What the fixture `compiled` gives."""

    llvm: str

    def call(self, name: str, *arguments: object) -> None:
        """Call a function."""


Compile = Callable[[str], Code]

DIVIDING = replace(AVX512, name="avx512 that divides", core=ONE_UNIT)
on_all = pytest.mark.parametrize(
    "target", [*TARGETS, DIVIDING], indirect=True, ids=lambda target: target.name
)


@pytest.fixture
def compiled(target: Target, machine_code: Callable[..., Code]) -> Compile:
    """From text whose vectors have 16 lanes, machine code whose vectors fill a register."""
    lanes = {"vector<16x": f"vector<{target.lanes}x", "constant 16 :": f"constant {target.lanes} :"}

    def compile_text(text: str) -> Code:
        for wide, own in lanes.items():
            text = text.replace(wide, own)
        return machine_code(text, target)

    return compile_text


TINY = 2.0**-126
COUNT = 4096

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


def round_half_away(x: Doubles) -> Doubles:
    """C's round."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


double_erf: Callable[[Doubles], Doubles] = np.vectorize(erf)

# Name, reference, arguments, largest relative error (with fused multiply-add, without).
CASES: list[tuple[str, Callable[[Doubles], Doubles], Floats, float, float]] = [
    ("exp", np.exp, linear(-87.3, 88.7), 1.2e-7, 1.5e-7),
    ("exp", np.exp, spread(-1e-30, 80.0), 1.2e-7, 1.5e-7),
    ("exp2", np.exp2, linear(-125.9, 127.9), 1.2e-7, 1.5e-7),
    ("expm1", np.expm1, spread(-1e-30, 88.0), 2e-7, 2.5e-7),
    ("expm1", np.expm1, linear(-3.0, 3.0), 2e-7, 2.5e-7),
    ("log", np.log, spread(TINY, 3e38), 1.2e-7, 1.5e-7),
    ("log", np.log, linear(0.5, 2.0), 1.2e-7, 1.5e-7),
    ("log2", np.log2, spread(TINY, 3e38), 2e-7, 2.5e-7),
    ("log2", np.log2, linear(0.5, 2.0), 2e-7, 2.5e-7),
    ("log10", np.log10, spread(TINY, 3e38), 2e-7, 2.5e-7),
    ("log10", np.log10, linear(0.5, 2.0), 2e-7, 2.5e-7),
    ("log1p", np.log1p, spread(1e-30, 3e38), 3e-7, 3e-7),
    ("log1p", np.log1p, linear(-0.999, 2.0), 3e-7, 3e-7),
    ("tanh", np.tanh, spread(-1e-30, 20.0), 2e-7, 2.5e-7),
    ("tanh", np.tanh, linear(-10.0, 10.0), 2e-7, 2.5e-7),
    ("sinh", np.sinh, spread(-1e-30, 89.0), 4e-7, 4e-7),
    ("cosh", np.cosh, linear(-89.0, 89.0), 4e-7, 4e-7),
    ("asinh", np.arcsinh, spread(-1e-30, 3e38), 4e-7, 4e-7),
    ("acosh", np.arccosh, 1 + spread(1e-6, 1e30), 4e-7, 4e-7),
    ("atanh", np.arctanh, spread(-1e-30, 0.9999), 4e-7, 4e-7),
    ("erf", double_erf, spread(-1e-30, 10.0), 2e-7, 2.5e-7),
    ("erf", double_erf, linear(-4.5, 4.5), 2e-7, 2.5e-7),
    ("cbrt", np.cbrt, spread(-1e-37, 3e38), 1.2e-7, 1.2e-7),
    ("sin", np.sin, linear(-100.0, 100.0), 2e-7, 2.5e-7),
    ("sin", np.sin, spread(-1e-30, 1e6), 2e-7, 2.5e-7),
    ("cos", np.cos, linear(-100.0, 100.0), 2e-7, 2.5e-7),
    ("cos", np.cos, spread(-1e-30, 1e6), 2e-7, 2.5e-7),
    ("tan", np.tan, linear(-100.0, 100.0), 4e-7, 4e-7),
    ("asin", np.arcsin, linear(-1.0, 1.0), 3e-7, 3e-7),
    ("acos", np.arccos, linear(-1.0, 0.9999), 3e-7, 3e-7),
    ("atan", np.arctan, spread(-1e-30, 1e30), 3e-7, 3e-7),
    ("atan", np.arctan, linear(-4.0, 4.0), 3e-7, 3e-7),
    ("sqrt", np.sqrt, spread(TINY, 3e38), 6e-8, 6e-8),
    ("rsqrt", lambda x: 1 / np.sqrt(x), spread(TINY, 3e38), 1.2e-7, 1.2e-7),
    ("absf", np.abs, spread(-1e-30, 3e38), 0, 0),
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
EDGES: list[tuple[str, float, float]] = [
    ("exp", -inf, 0.0), ("exp", inf, inf), ("exp", nan, nan), ("exp", -200.0, 0.0),
    ("exp", 89.0, inf), ("exp", 0.0, 1.0), ("exp2", -150.0, 0.0), ("exp2", -149.0, 2.0**-149),
    ("exp2", 128.0, inf), ("exp2", 10.0, 1024.0), ("exp2", nan, nan), ("expm1", -inf, -1.0),
    ("expm1", inf, inf), ("expm1", -0.0, -0.0), ("expm1", nan, nan), ("log", 0.0, -inf),
    ("log", -0.0, -inf), ("log", inf, inf), ("log", -1.0, nan), ("log", -inf, nan),
    ("log", nan, nan), ("log", 1.0, 0.0), ("log2", 8.0, 3.0), ("log2", 2.0**-149, -149.0),
    ("log2", 0.0, -inf), ("log10", 1000.0, 3.0), ("log10", -2.0, nan), ("log1p", -1.0, -inf),
    ("log1p", inf, inf), ("log1p", -0.0, -0.0), ("log1p", -2.0, nan), ("log1p", nan, nan),
    ("tanh", inf, 1.0), ("tanh", -inf, -1.0), ("tanh", -0.0, -0.0), ("tanh", nan, nan),
    ("sinh", inf, inf), ("sinh", -inf, -inf), ("sinh", nan, nan), ("cosh", -inf, inf),
    ("cosh", 0.0, 1.0), ("cosh", nan, nan), ("asinh", -inf, -inf), ("asinh", nan, nan),
    ("acosh", 1.0, 0.0), ("acosh", 0.5, nan), ("acosh", inf, inf), ("acosh", nan, nan),
    ("acosh", -1.0, nan), ("acosh", -1e4, nan), ("acosh", -1e10, nan), ("acosh", -inf, nan),
    ("atanh", 1.0, inf), ("atanh", -1.0, -inf), ("atanh", 2.0, nan), ("atanh", nan, nan),
    ("erf", inf, 1.0), ("erf", -inf, -1.0), ("erf", -0.0, -0.0), ("erf", nan, nan),
    ("cbrt", -27.0, -3.0), ("cbrt", -0.0, -0.0), ("cbrt", inf, inf), ("cbrt", nan, nan),
    ("sin", inf, nan), ("sin", -0.0, -0.0), ("sin", nan, nan), ("cos", -inf, nan),
    ("cos", 0.0, 1.0), ("tan", inf, nan), ("tan", 0.0, 0.0), ("asin", 1.5, nan),
    ("asin", -0.0, -0.0), ("asin", nan, nan), ("acos", 1.0, 0.0), ("acos", -1.5, nan),
    ("atan", nan, nan), ("atan", -0.0, -0.0), ("sqrt", -1.0, nan), ("sqrt", inf, inf),
    ("rsqrt", 0.0, inf), ("rsqrt", inf, 0.0), ("floor", nan, nan), ("floor", -inf, -inf),
    ("floor", -0.5, -1.0), ("floor", -0.0, -0.0), ("ceil", -0.5, -0.0), ("ceil", nan, nan),
    ("trunc", -0.5, -0.0), ("trunc", inf, inf), ("round", 0.49999997, 0.0),
    ("round", -0.5, -1.0), ("round", 2.5, 3.0), ("round", nan, nan), ("roundeven", 2.5, 2.0),
    ("roundeven", -0.5, -0.0), ("roundeven", nan, nan), ("absf", -0.0, 0.0), ("absf", -inf, inf),
]  # fmt: skip


def relative_error(actual: Floats, exact: Doubles) -> Doubles:
    """|actual - exact| / |exact|; 0 where the exact value is below float32 and actual is tiny."""
    error = np.abs(actual.astype(np.float64) - exact)
    scale = np.abs(exact)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(error == 0, 0.0, error / np.maximum(scale, TINY))


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_relative_error(name: str, target: Target, compiled: Compile) -> None:
    """On grids over the whole range, vectors and scalars alike stay within the promised error."""
    code = compiled(UNARY.format(name=name))
    for case, reference, x, fused, separate in CASES:
        if case != name:
            continue
        exact = reference(x.astype(np.float64))
        bound = fused if target.fma else separate
        for function in ("vector", "scalar"):
            y = np.full(COUNT, nan, np.float32)
            code.call(function, x, y)
            error = relative_error(y, exact)
            worst = int(np.argmax(error))
            message = f"{function} {name}({x[worst]!r}) = {y[worst]!r}, exact {exact[worst]!r}"
            assert error[worst] <= bound, message


@pytest.mark.parametrize("name", sorted({case[0] for case in EDGES}))
def test_edges(name: str, compiled: Compile) -> None:
    """Infinities, NaN, signed zeros, overflow and what is undefined come out as in C."""
    code = compiled(UNARY.format(name=name))
    cases = [case for case in EDGES if case[0] == name]
    x = np.zeros(COUNT, np.float32)
    x[: len(cases)] = [argument for _, argument, _ in cases]
    y = np.full(COUNT, 123.0, np.float32)
    code.call("vector", x, y)
    for (_, argument, exact), result in zip(cases, y, strict=False):
        same = np.isnan(result) if np.isnan(exact) else result == np.float32(exact)
        assert same, f"{name}({argument}) = {result}, expected {exact}"
        assert np.isnan(exact) or np.signbit(result) == np.signbit(exact), f"sign of {name}"


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


def test_no_symbol_is_left_undefined(target: Target, compiled: Compile) -> None:
    """Everything in one module: compiled code needs no library at run time."""
    for name in sorted({case[0] for case in CASES}):
        text = compiled(UNARY.format(name=name)).llvm
        calls = {word.split("(")[0] for word in text.split("@")[1:] if not word.startswith("llvm.")}
        assert all(call.startswith(("ncc.", "vector", "scalar")) for call in calls), calls


def float_units(actual: Floats, exact: Doubles) -> Doubles:
    """|actual - exact| in units of the last place of the exact value in float32."""
    exponent = np.maximum(np.frexp(exact)[1], -125)
    units: Doubles = np.ldexp(np.abs(actual - exact), 24 - exponent)
    return units


def all_binades(limit: float, seed: int) -> Floats:
    """Numbers of both signs and every power of two below a limit, denormal ones too."""
    bits = np.random.default_rng(seed).integers(0, np.float32(limit).view(np.int32), 24 * COUNT)
    positive = bits.astype(np.int32).view(np.float32)
    near = np.random.default_rng(seed).uniform(0.0, min(limit, 20.0), 8 * COUNT).astype(np.float32)
    both = np.concatenate([positive, near])
    both[::2] *= -1
    return both


LARGEST = float(np.finfo(np.float32).max)
# Name, reference, limit of the arguments, units of the last place, where most were found.
UNITS: list[tuple[str, Callable[[Doubles], Doubles], float, float, list[float]]] = [
    ("exp", np.exp, 88.7, 1.1, [5.20013714, -38.4196167, 5.20053768, -5.19826794]),
    ("tanh", np.tanh, LARGEST, 1.9, [0.620673478, 0.015533126, 0.600100577, 9.02]),
    ("erf", double_erf, LARGEST, 2.0, [3.57954621, 0.073755346, 0.00040875573, 0.904540956]),
]


@on_all
@pytest.mark.parametrize(("name", "reference", "limit", "bound", "worst"), UNITS)
def test_units_of_the_last_place(
    name: str,
    reference: Callable[[Doubles], Doubles],
    limit: float,
    bound: float,
    worst: list[float],
    compiled: Compile,
) -> None:
    """exp, tanh and erf are within 2 units on every target, over all floats."""
    code = compiled(UNARY.format(name=name))
    x = all_binades(limit, 3)
    x[: 2 * len(worst)] = [*worst, *(-value for value in worst)]
    for part in x.reshape(-1, COUNT):
        y = np.full(COUNT, nan, np.float32)
        code.call("vector", part, y)
        units = float_units(y, reference(part.astype(np.float64)))
        found = int(np.argmax(units))
        message = f"{name}({part[found]!r}) = {y[found]!r}: {units[found]} units"
        assert units[found] <= bound, message


LOGISTIC = """
func.func @both(%x : memref<4096xf32>, %y : memref<4096xf32>, %z : memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %cn = arith.constant 4096 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  %ones = vector.broadcast %one : f32 to vector<16xf32>
  scf.for %i = %c0 to %cn step %c16 {
    %a = vector.load %x[%i] : memref<4096xf32>, vector<16xf32>
    %b = vector.load %y[%i] : memref<4096xf32>, vector<16xf32>
    %n = arith.negf %a : vector<16xf32>
    %e = math.exp %n : vector<16xf32>
    %d = arith.addf %e, %ones : vector<16xf32>
    %q = arith.divf %b, %d : vector<16xf32>
    vector.store %q, %z[%i] : memref<4096xf32>, vector<16xf32>
  }
  func.return
}
"""


@on_all
@pytest.mark.parametrize("itself", [False, True], ids=["other", "itself"])
def test_division_by_exp_plus_one(itself: bool, compiled: Compile) -> None:
    """y / (exp(-x) + 1), and x in the place of y, is within 5e-7 for moderate x, within 1e-6 for
    all, and NaN where C has one.
    """
    code = compiled(LOGISTIC.replace("divf %b", "divf %a" if itself else "divf %b"))
    y = np.random.default_rng(1).uniform(-9.0, 9.0, COUNT).astype(np.float32)
    z = np.zeros(COUNT, np.float32)
    for reach, bound in ((1e-6, 5e-7), (16.0, 5e-7), (87.0, 1e-6)):
        x = linear(-reach, reach)
        code.call("both", x, y, z)
        exact = (x if itself else y).astype(np.float64) / (np.exp(-x.astype(np.float64)) + 1.0)
        assert relative_error(z, exact).max() < bound
    x[:8] = [inf, -inf, nan, -1e30, 1e30, 0.0, -0.0, 100.0]
    y[:8] = [3.0, 3.0, 3.0, 3.0, 3.0, nan, 3.0, 3.0]
    code.call("both", x, y, z)
    expected = [3.0, 0.0, nan, 0.0, 3.0, nan, 1.5, 3.0]
    if itself:
        x[1] = x[3] = -1e3  # the reciprocal of what is limited is not 0 unless it is flushed
        code.call("both", x, y, z)
        expected = [inf, 0.0, nan, 0.0, 1e30, 0.0, -0.0, 100.0]
    np.testing.assert_allclose(z[:8], expected, rtol=1e-6, atol=1e-35)


@on_all
@pytest.mark.parametrize("name", ["logistic", "swish"])
def test_units_of_logistic_and_swish(name: str, target: Target, compiled: Compile) -> None:
    """Logistic is within 2.5 units; so is swish as a quotient, as a product, which is rounded once
    more, within 2.9.
    """
    code = compiled(LOGISTIC.replace("divf %b", "divf %a" if name == "swish" else "divf %ones"))
    x = all_binades(87.3, 4)
    x[:8] = [-16.6547813, -16.6515369, -70.123764, -9.965349, -1.3, 8.65859318, -5.1134224, 0.0597]
    for part in x.reshape(-1, COUNT):
        z = np.zeros(COUNT, np.float32)
        code.call("both", part, part, z)
        wide = part.astype(np.float64)
        units = float_units(z, (wide if name == "swish" else 1.0) / (np.exp(-wide) + 1.0))
        product = name == "swish" and target.core == TWO_UNITS and target.lanes == 16
        assert units.max() <= (2.9 if product else 2.5)
