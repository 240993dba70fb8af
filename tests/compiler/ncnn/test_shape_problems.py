"""Who does not take a shape is told where it came from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes

Net = Callable[..., ModuleOp]


def test_a_long_way_is_told_by_its_ends(net: Net) -> None:
    """What leaves the shape alone is left out, and the input is always in."""
    lines = ["Input data 0 1 r0 0=64 1=64 2=3"]
    for k in range(1, 9):
        lines.append(f"Pooling p{k} 1 1 r{k - 1} p{k} 1=2 2=2 5=1")
        lines.append(f"ReLU r{k} 1 1 p{k} r{k}")
    with pytest.raises(ModelError) as caught:
        infer_shapes(net("\n".join(lines), shapes=False))
    (problem,) = caught.value.problems
    assert problem.message.startswith("layer 'p7' (Pooling): a window of 2x2 does not fit into 1x1")
    assert problem.found == "r0 3x64x64 -> ... -> p4 3x4x4 -> p5 3x2x2 -> p6 3x1x1 -> r6 3x1x1"
