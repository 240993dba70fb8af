"""Angles of float64 against wider floats of numpy."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi

import numpy as np
import pytest
from xdsl.dialects import math

from tests.compiler.llvm.formulas.doubles import TARGETS, Case, check, linear, spread

NEAR = np.arange(1, 1000) * (pi / 2)
"""Next to them, quadrants leave few bits of an argument."""
ANGLES = [linear(-10, 10), linear(-1e5, 1e5), spread(1e-10, 1e6), NEAR]
UNIT = [linear(-1.0, 1.0), spread(1e-10, 1.0)]

CASES: Mapping[str, Case] = {
    "sin": (math.SinOp, np.sin, ANGLES, 1.2),
    "cos": (math.CosOp, np.cos, ANGLES, 1.2),
    "tan": (math.TanOp, np.tan, ANGLES, 2.5),
    "asin": (math.AsinOp, np.arcsin, UNIT, 3.0),
    "acos": (math.AcosOp, np.arccos, UNIT, 3.0),
    "atan": (math.AtanOp, np.arctan, [linear(-10, 10), spread(1e-10, 1e10)], 3.0),
}


@pytest.mark.parametrize("target", TARGETS)
def test_functions(target: str) -> None:
    """Three units of the last place at most, also next to multiples of a quadrant."""
    check(CASES, target)
