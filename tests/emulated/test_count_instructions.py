"""The counts of instructions are those of a network, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.c_programs import emulated
from tests.emulated.count_instructions import of_one_run
from tests.emulated.emulator import compiled
from tests.emulated.subjects import DIGITS

MULTIPLY_ADDS = 8 * 8 * 9 * 16
"""Those of the first layer of the digits, a convolution of 3x3 to 16 channels."""


@emulated
@pytest.mark.slow
def test_counts_repeat(tmp_path: Path) -> None:
    """No instruction of another program is among them."""
    artifact = compiled(DIGITS / "digits.param", DIGITS / "digits.bin", "neon")
    once, again = (of_one_run(artifact, "neon", tmp_path, hottest=5) for _ in range(2))
    assert once == again
    assert once["multiply-add of float32"] * 4 > MULTIPLY_ADDS
    assert once["dot product of bytes"] == 0
    assert sum(kind.startswith("at ") for kind in once) >= 5
