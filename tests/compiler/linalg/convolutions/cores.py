"""The cores that costs are told of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncc.compiler.target import AVX512, ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD

TARGETS = [replace(AVX512, core=core) for core in (ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD)]
ON_ALL = pytest.mark.parametrize("target", TARGETS, ids=["one unit", "two units", "of AMD"])
