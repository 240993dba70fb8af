"""Modules of torch, exported both ways, are computed as torch does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.onnx.torch_modules.export import EXPORTERS, FAMILIES, export, load
from tests.onnx.torch_modules.judge import judged

HAS_TORCH = importlib.util.find_spec("torch") and importlib.util.find_spec("onnxscript")

needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch and onnxscript are not installed")

LEAST = 0.8
"""The part of its modules that an exporter can write, at least; the old one writes fewer."""


@needs_torch
@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES)
def test_modules_of_a_family(family: str, tmp_path: Path) -> None:
    """Each model that torch writes is right at -O0 and at -O2."""
    wrong, written, count = [], 0, 0
    for case in load([family]):
        for exporter in EXPORTERS:
            made = export(case, exporter, tmp_path)
            found = None if isinstance(made, str) else judged(made)
            written += found is not None and exporter == "dynamo"
            if found is not None and found.kind in ("WRONG", "refused"):
                wrong.append(str(found))
        count += 1
    if not count:
        pytest.skip(f"the package {family} is not installed")
    assert not wrong, "\n".join(wrong)
    assert written >= LEAST * count
