"""Functions where networks run: denormal numbers are flushed, and rows end amid a register."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ncc
from tests.runnable import NAMES as RUNNABLE


@pytest.mark.parametrize("type", ["Sigmoid", "Swish", "TanH", "Mish", "GELU", "ELU"])
@pytest.mark.parametrize("target", RUNNABLE)
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
