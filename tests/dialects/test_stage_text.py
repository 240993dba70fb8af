"""Levels as text, also where extents are sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.pipeline import stages
from ncc.dialects.size import assuming
from ncc.dialects.stage_text import text_of
from tests.ir.conftest import parse

NET = """7767517
4 4
Input data 0 1 data
Convolution conv 1 1 data c 0=16 1=3 4=1 5=1 6=432 9=1
Pooling pool 1 1 c p 0=0 1=2 2=2
Sigmoid s 1 1 p out
"""


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, None, None)], ids=["known", "open"])
def test_every_level_has_a_text(tmp_path: Path, shape: tuple[int | None, ...]) -> None:
    """With the extents of its values, be they numbers or sizes; those on tensors can be read."""
    path = tmp_path / "net.param"
    path.write_text(NET)
    with assuming():
        for name, stage in stages(path, random_weights=1, input_shapes={"data": shape}):
            if isinstance(stage, ModuleOp):
                text = text_of(stage)
                tensors = name in ("ncnn", "linalg")
                assert ("data_h@224" in text) == (tensors and None in shape)
                assert text.endswith("\n") and not text.endswith("\n\n")
                assert not tensors or text_of(parse(text)[0]) == text
            if name == "loops":
                return
