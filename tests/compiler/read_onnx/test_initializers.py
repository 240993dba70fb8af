"""Tensors of a graph: in the file, and beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read_onnx.read_model import read_model
from ncc.dialects.weights.stored import Raw
from ncc.dialects.weights.weight import WeightAttr
from tests.onnx.models import model, written

VALUES = np.arange(4000, dtype=np.float32)


def _model(**external: str) -> Any:
    """y = x + w; w in another file where that is said."""
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [4000]}, ["y"], {"w": VALUES})
    if external:
        tensor = made.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in external.items():
            tensor.external_data.add(key=key, value=value)
    return made


def _stored(path: Path) -> list[Raw]:
    held = [w for op in read_model(path).walk() for w in op.properties.values()]
    sources = [weight.data.source for weight in held if isinstance(weight, WeightAttr)]
    return [source for source in sources if isinstance(source, Raw)]


def test_large_tensors_stay_in_the_file(tmp_path: Path) -> None:
    """The module says where they are."""
    path = written(tmp_path, _model())
    (raw,) = _stored(path)
    assert raw.path == str(path)
    np.testing.assert_array_equal(raw.read(4000), VALUES)


def test_external_data(tmp_path: Path) -> None:
    """Values in another file of the folder, from some byte on."""
    Path(tmp_path, "w.bin").write_bytes(bytes(64) + VALUES.tobytes())
    path = written(tmp_path, _model(location="w.bin", offset="64", length="16000"))
    x = np.ones(4000, np.float32)
    np.testing.assert_array_equal(ncc.compile(path)(x), x + VALUES)
    Path(tmp_path, "w.bin").write_bytes(bytes(64) + (VALUES * 2).tobytes())
    np.testing.assert_array_equal(ncc.compile(path)(x), x + VALUES * 2)


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/passwd", "sub/../../w.bin", "link.bin", "link/w.bin", ""]
)
def test_external_data_stays_in_the_folder(tmp_path: Path, location: str) -> None:
    """No path leads out of it, nor does a link."""
    folder = tmp_path / "model"
    folder.mkdir()
    Path(tmp_path, "w.bin").write_bytes(VALUES.tobytes())
    os.symlink(tmp_path / "w.bin", folder / "link.bin")
    os.symlink(tmp_path, folder / "link")
    path = written(folder, _model(location=location))
    with pytest.raises(ModelError, match="'w' has its values in .*, outside of the model's folder"):
        read_model(path)


@pytest.mark.parametrize(
    ("external", "message"),
    [
        ({"location": "none.bin"}, "No such file"),
        ({"location": "w.bin", "offset": "4"}, "ends at byte 16004 of 'w.bin', which has 16000"),
        ({"location": "w.bin", "offset": "-4"}, "has the offset '-4'"),
        ({"location": "w.bin", "length": "4"}, "has 4 bytes in 'w.bin', not 16000"),
        ({"location": "."}, "which is no file"),
    ],
)
def test_external_data_that_is_not_there(
    tmp_path: Path, external: dict[str, str], message: str
) -> None:
    """The file and the tensor are named."""
    Path(tmp_path, "w.bin").write_bytes(VALUES.tobytes())
    path = written(tmp_path, _model(**external))
    with pytest.raises(ModelError, match=f"net.onnx: error: the initializer 'w' .*{message}"):
        read_model(path)
