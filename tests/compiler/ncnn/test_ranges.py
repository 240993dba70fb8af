"""Which extents of inputs may be 0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from onnx import helper

from ncc.compiler.ncnn.ranges import ranges_of
from ncc.compiler.options import Options
from ncc.compiler.read_onnx.read_model import read_model
from ncc.runtime.errors import InputError
from ncc.runtime.extents import ANY
from tests.onnx.models import model, written

EMPTY = (0, None)


@pytest.mark.parametrize(
    ("kinds", "ranges"),
    [
        (["Concat"], (ANY, EMPTY, ANY)),
        (["Concat", "Concat"], (ANY, EMPTY, ANY)),
        (["Shape", "Concat"], (ANY, EMPTY, ANY)),
        (["Concat", "Relu"], None),
        (["Relu"], None),
    ],
)
def test_what_is_only_joined_to_others_may_be_empty(
    kinds: list[str], ranges: tuple[object, ...] | None, tmp_path: Path
) -> None:
    """Along that axis, if it is open."""
    names = [f"y{place}" for place in range(len(kinds))]
    nodes = [
        helper.make_node("Concat", ["x", "new"], [name], axis=1)
        if kind == "Concat"
        else helper.make_node(kind, ["x"], [name])
        for kind, name in zip(kinds, names, strict=True)
    ]
    inputs: dict[str, list[int | str]] = {"x": ["batch", "past", 8], "new": [1, 3, 8]}
    module = read_model(written(tmp_path, model(nodes, inputs, names)))
    assert ranges_of(module, Options.of()).get("x") == ranges
    asked = Options.of(input_shapes={"x": (1, (2, 5), 8)})
    assert ranges_of(module, asked)["x"][1] == (2, 5)
    from_none = Options.of(input_shapes={"x": (1, (0, 5), 8)})
    if ranges is not None:
        assert ranges_of(module, from_none)["x"][1] == (0, 5)
        one_size = replace(from_none, input_shapes={"x": (1, 4, 8)})
        assert ranges_of(module, one_size)["x"][1] == (0, 5)
    else:
        with pytest.raises(InputError, match="'x' is not only joined .* from 1 along axis 1.*0..5"):
            ranges_of(module, from_none)
    settled = Options.of(input_shapes={"x": (1, 4, 8)})
    assert "x" not in ranges_of(module, settled)
