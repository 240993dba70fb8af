"""Quotients by exp(-x) + 1 against float64: the logistic function, swish, and others."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from ncc.compiler.target import TWO_UNITS, Target
from tests.compiler.llvm.called import Compile
from tests.compiler.llvm.formulas.accuracy import (
    COUNT,
    all_binades,
    float_units,
    linear,
    on_all,
    relative_error,
)

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
