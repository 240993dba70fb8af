"""Who does not take a shape is told where it came from, and how to feed what was meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.dialects.ncnn.layer import Shape

Net = Callable[..., ModuleOp]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 3, 8, 9), "there is no batch axis: 3x8x9 instead of 1x3x8x9"),
        ((8, 9, 3), "channels come first: 3x8x9 instead of 8x9x3"),
        ((5, 8, 9), None),
    ],
)
def test_habits_of_other_systems_are_known(net: Net, shape: Shape, said: str | None) -> None:
    """A picture with a batch axis, or with its colours last, is told how it is fed here."""
    lines = """
        Input       data 0 1 data 0=9 1=8 2=3
        Split       s    1 2 data a b
        Convolution conv 1 1 a conv 0=8 1=3 6=216
    """
    with pytest.raises(ModelError) as caught:
        infer_shapes(net(lines, shapes=False), {"data": shape})
    assert caught.value.problems[0].how == said


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
