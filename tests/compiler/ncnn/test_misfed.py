"""Another form of an input is advised where it helps, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelError, Problem
from ncc.compiler.ncnn import misfed
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.dialects.ncnn.layer import Shape

Net = Callable[..., ModuleOp]

IMAGE = """
    Input       data 0 1 data {extents}
    Split       s    1 2 data a b
    Convolution conv 1 1 a conv 0=8 1=3 6=216
"""


def problems(module: ModuleOp, shapes: Mapping[str, Shape] | None = None) -> tuple[Problem, ...]:
    with pytest.raises(ModelError) as caught:
        infer_shapes(module, shapes)
    return caught.value.problems


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 3, 8, 9), "there is no batch axis: 3x8x9 instead of 1x3x8x9 for 'data'"),
        ((2, 3, 8, 9), "there is no batch axis: 3x8x9 instead of 2x3x8x9 for 'data'"),
        ((8, 9, 3), "channels come first: 3x8x9 instead of 8x9x3 for 'data'"),
        ((4, 4, 3), "channels come first: 3x4x4 instead of 4x4x3 for 'data'"),
        (
            (1, 8, 9, 3),
            "there is no batch axis and channels come first: 3x8x9 instead of 1x8x9x3 for 'data'",
        ),
        ((5, 8, 9), None),
        ((8, 9), None),
    ],
    ids=str,
)
def test_habits_of_other_systems_are_known(net: Net, shape: Shape, said: str | None) -> None:
    """A picture with a batch axis, or with its colours last, is told how it is fed here."""
    (problem,) = problems(net(IMAGE.format(extents=""), shapes=False), {"data": shape})
    assert problem.misfed is None if said is None else str(problem.misfed) == said
    if said is not None:
        assert str(problem).endswith(f"  to go on: {said}")


def test_no_other_form_has_room_where_memory_ends(net: Net) -> None:
    """A column repeated as often as it has rows: as a row, it would be small, and not what is
    meant.
    """
    module = net("Input i 0 1 data\nTile t 1 1 data y 0=2 1=999999999", shapes=False)
    (problem,) = problems(module, {"data": (999999, 1, 1)})
    assert problem.misfed is None and "no memory holds" in str(problem)


def test_the_form_that_the_file_says(net: Net) -> None:
    """Where no habit explains what was asked for."""
    module = net(IMAGE.format(extents="0=9 1=8 2=3"), shapes=False)
    (problem,) = problems(module, {"data": (5, 8, 9)})
    assert str(problem.misfed) == ("the file says another shape: 3x8x9 instead of 5x8x9 for 'data'")
    (problem,) = problems(module, {"data": (8, 9, 3)})
    assert "channels come first" in str(problem.misfed)


@pytest.mark.parametrize(
    "lines",
    [
        """
        Input   in  0 1 in 0=7 1=7 2=8
        Input   in2 0 1 in2 0=1 1=1 2=16
        Pooling p   1 1 in a 0=1 4=1
        Concat  c   2 1 a in2 out 0=0
        """,
        """
        Input    a 0 1 a 0=4 1=3 2=2
        Input    b 0 1 b 0=5 1=3 2=2
        BinaryOp o 2 1 a b out 0=1
        """,
    ],
    ids=["concat", "binary"],
)
def test_no_form_is_advised_that_does_not_help(net: Net, lines: str) -> None:
    """16x1x1 looks like a picture with its colours last, and is none."""
    (problem,) = problems(net(lines, shapes=False))
    assert problem.misfed is None and "to go on" not in str(problem)


def test_a_layer_far_behind_the_input_counts(net: Net) -> None:
    """All in front of it takes any shape."""
    lines = """
        Input        data 0 1 data
        ReLU         relu 1 1 data relu
        Pooling      pool 1 1 relu pool 0=1 1=2 2=2
        Convolution  conv 1 1 pool conv 0=8 1=1 6=24
    """
    (problem,) = problems(net(lines, shapes=False), {"data": (8, 10, 3)})
    assert str(problem.misfed) == "channels come first: 3x8x10 instead of 8x10x3 for 'data'"


def test_a_form_must_not_break_another_layer(net: Net) -> None:
    """One reader wants three channels, the other one eight."""
    lines = """
        Input        data 0 1 data
        Split        s    1 2 data a b
        Convolution  c    1 1 a x 0=8 1=1 6=24
        Convolution  d    1 1 b y 0=8 1=1 6=64
    """
    (problem,) = problems(net(lines, shapes=False), {"data": (8, 9, 3)})
    assert problem.misfed is None


def test_two_faults_of_two_inputs(net: Net) -> None:
    """Each is told its own; of what no form mends nothing is said."""
    lines = """
        Input        a 0 1 a
        Input        b 0 1 b
        Input        c 0 1 c
        Convolution  x 1 1 a x 0=8 1=1 6=24
        Convolution  y 1 1 b y 0=8 1=1 6=24
        Convolution  z 1 1 c z 0=8 1=1 6=24
    """
    shapes = {"a": (8, 9, 3), "b": (1, 3, 8, 9), "c": (7, 7, 7)}
    first, second, third = problems(net(lines, shapes=False), shapes)
    assert str(first.misfed).startswith("channels come first: 3x8x9")
    assert str(second.misfed).startswith("there is no batch axis: 3x8x9")
    assert third.misfed is None


def test_the_network_stays_as_it_was(net: Net) -> None:
    """Other forms are tried on copies."""
    module = net(IMAGE.format(extents=""), shapes=False)
    before = str(module)
    problems(module, {"data": (8, 9, 3)})
    assert "tensor<8x9x3xf32>" in str(module) and "3x8x9" not in str(module)
    infer_shapes(module, {"data": (3, 8, 9)})
    assert "tensor<3x8x9xf32>" in str(module) and str(module) != before


def test_trials_have_an_end(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many inputs a layer depends on."""
    copies: list[ModuleOp] = []
    clone = ModuleOp.clone

    def counting(module: ModuleOp) -> ModuleOp:
        copies.append(module)
        return clone(module)

    monkeypatch.setattr(ModuleOp, "clone", counting)
    names = [f"x{k}" for k in range(30)]
    inputs = [f"Input {name} 0 1 {name} 0={k + 2} 1=3 2=2" for k, name in enumerate(names)]
    lines = "\n".join([*inputs, f"Concat c 30 1 {' '.join(names)} out 0=0"])
    (problem,) = problems(net(lines, shapes=False))
    assert problem.misfed is None and len(copies) == misfed.MOST_TRIALS


def test_no_form_has_more_axes_than_a_blob(net: Net) -> None:
    """Filters that are fed have four axes, and do not become a batch of one."""
    module = net("Input x 0 1 x\nInput w 0 1 w\nConvolution conv 2 1 x w y 19=1", shapes=False)
    (problem,) = problems(module, {"x": (8, 9, 9), "w": (4, 7, 3, 3)})
    assert problem.misfed is None
