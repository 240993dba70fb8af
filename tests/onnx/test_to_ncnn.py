"""ONNX networks that `ncc optimize` converts: right by the wheel of ncnn, or refused by name."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.onnx.converted import check_converted
from tests.onnx.models import model, written
from tests.onnx.to_ncnn import KINDS, judged, reasons, run

HAS_TORCH = importlib.util.find_spec("torch") and importlib.util.find_spec("onnxscript")
OF_TORCH = ("vision", "open", "modules")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_none_is_wrong(kind: str, tmp_path: Path) -> None:
    """Nor does any crash."""
    pytest.importorskip("ncnn")
    if kind in OF_TORCH and not HAS_TORCH:
        pytest.skip("torch and onnxscript are not installed")
    found = list(run(kind, tmp_path))
    wrong = [str(one) for one in found if one.kind == "WRONG"]
    assert not wrong, "\n".join(wrong)
    assert any(one.kind == "right" for one in found)


def test_a_wrong_result_is_told(tmp_path: Path) -> None:
    """Another value, and another name."""
    pytest.importorskip("ncnn")
    path = str(
        written(tmp_path, model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1, 4]}, "y"))
    )
    x = np.arange(-2, 2, dtype=np.float32)[None]

    def check(**outputs: Any) -> str:
        return judged("relu", lambda: check_converted(path, {"x": x}, outputs)).kind

    assert check(y=np.maximum(x, 0)) == "right"
    assert check(y=x) == check(z=np.maximum(x, 0)) == "WRONG"


def test_reasons_of_a_refusal() -> None:
    """By operator, without the names of nodes."""
    said = "in ncnn: Where ('a' of 3, 4; 'b' of 3); the input 'i' of int64; 'v', which is 2x3"
    assert list(reasons(said)) == ["Where", "the input of int64", ", which has too many axes"]
