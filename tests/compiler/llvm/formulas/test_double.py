"""Functions of float64 against wider floats of numpy."""

from __future__ import annotations

from collections.abc import Mapping
from math import erf

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.dialects.builtin import f64

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import power
from ncc.dialects.weights.sources import Array
from tests.compiler.llvm.formulas.doubles import EDGES, TARGETS, Case, check, linear, spread, units
from tests.typed import run

UNIT = [linear(-1.0, 1.0), spread(1e-20, 1.0)]
POSITIVE = [np.abs(spread(1e-300, 1e300)), linear(0.5, 2.0), 1 + spread(1e-12, 0.1)]


def exact_erf(x: Array) -> Array:
    return np.array([erf(n) for n in x], x.dtype)


CASES: Mapping[str, Case] = {
    "exp": (math.ExpOp, np.exp, [linear(-708, 709), *UNIT], 1.0),
    "exp2": (math.Exp2Op, np.exp2, [linear(-1020, 1023), *UNIT], 1.2),
    "expm1": (math.ExpM1Op, np.expm1, [linear(-40, 709), *UNIT], 2.0),
    "log": (math.LogOp, np.log, POSITIVE, 0.7),
    "log2": (math.Log2Op, np.log2, POSITIVE, 1.2),
    "log10": (math.Log10Op, np.log10, POSITIVE, 2.6),
    "log1p": (math.Log1pOp, np.log1p, [*POSITIVE, linear(-0.9, 2), spread(1e-20, 0.5)], 2.5),
    "sinh": (math.SinhOp, np.sinh, [linear(-700, 700), linear(-3, 3), *UNIT], 3.0),
    "cosh": (math.CoshOp, np.cosh, [linear(-700, 700), linear(-3, 3)], 3.0),
    "tanh": (math.TanhOp, np.tanh, [linear(-30, 30), *UNIT], 3.0),
    "asinh": (math.AsinhOp, np.arcsinh, [linear(-30, 30), spread(1e-10, 1e20)], 3.0),
    "acosh": (math.AcoshOp, np.arccosh, [1 + np.abs(spread(1e-8, 1e20))], 3.5),
    "atanh": (math.AtanhOp, np.arctanh, UNIT, 3.0),
    "erf": (math.ErfOp, exact_erf, [linear(-7, 7), *UNIT], 3.5),
    "cbrt": (math.CbrtOp, np.cbrt, [linear(-7, 7), spread(1e-100, 1e100)], 1.0),
}


@pytest.mark.parametrize("target", TARGETS)
def test_functions(target: str) -> None:
    """Three units of the last place at most, and what numpy makes of infinities and NaN."""
    check(CASES, target)


@pytest.mark.parametrize("target", TARGETS)
def test_power(target: str) -> None:
    """Logarithms are pairs, so that large exponents do not multiply their errors."""
    bases = [np.abs(spread(1e-3, 1e3)), np.abs(spread(1e-30, 1e30)), 1 + spread(1e-10, 1e-3)]
    exponents = [linear(-100, 100), linear(-10, 10), spread(1, 1e5)]
    x, y = (np.concatenate(numbers) for numbers in (bases, exponents))
    corners = np.array(np.meshgrid(EDGES, EDGES)).reshape(2, -1)
    given = [np.concatenate(pair) for pair in zip((x, y), corners, strict=True)]

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        (at,) = b.loops_of(x.shape)
        return b.map((at,), power(x[at], y[at]))

    (found,) = run([(given[0].shape, f64)] * 2, write, given, 2, target)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert units(found[: len(x)], exact) <= 2.0
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found[len(x) :], np.power(*corners), rtol=1e-14)
