"""Whether one compilation is for every size, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.explain_sizes import fate_of_sizes
from ncc.compiler.options import Options

HEAD = "Input data 0 1 data 0=32 1=32 2=3\n"

NEEDS_NUMBERS = """
SPP bins 1 1 data bins 0=0 1=2
ReLU out 1 1 bins out
"""

FIXED = """
Flatten f 1 1 data f
InnerProduct out 1 1 f out 0=2 2=6144
"""

POOLED = "\nPooling out 1 1 data out 0=0 1=3 2=2\n"


WEIGHED = """
Split s 1 2 data x again
Pooling p 1 1 again p 0=1 4=1
Reshape row 1 1 p row 0=3 1=1
Softmax weights 1 1 row weights 0=1 1=1
Reshape r 1 1 weights r 0=1 1=1 2=3
BinaryOp out 2 1 x r out 0=2
"""
"""If images had 3 rows, the row and the column of weights would fit them alike."""

ONE_NUMBER = """
MemoryData one 0 1 one 0=1
Reduction means 1 1 data means 0=3 1=0 -23303=1,0 4=0 5=1
BinaryOp out 2 1 means one out 0=2
"""
"""The number is no vector of rows, also where there is one row."""


def lines_of(path: Path, layers: str, **options: object) -> list[str]:
    """What is told of a network."""
    count = len(layers.strip().splitlines()) + 1
    path.write_text(f"7767517\n{count} {count + layers.count('Split')}\n{HEAD}{layers.strip()}\n")
    return list(fate_of_sizes(path, None, Options.of(random_weights=1, **options)).lines())  # type: ignore[arg-type]


def test_a_network_for_every_size(tmp_path: Path) -> None:
    """All extents but channels are open, whatever the file says, or those that are asked for."""
    told = "one compilation runs every size that the layers take"
    path = tmp_path / "net.param"
    assert lines_of(path, "\nReLU r 1 1 data out") == ["inputs: data 3x?x?", told]
    shapes = {"data": (3, 32, None)}
    assert lines_of(path, "\nReLU r 1 1 data out", input_shapes=shapes) == [
        "inputs: data 3x32x?",
        told,
    ]


def test_sizes_that_are_left_out(tmp_path: Path) -> None:
    """By the conditions that a call is checked for."""
    assert lines_of(tmp_path / "net.param", POOLED) == [
        "inputs: data 3x?x?",
        "one compilation runs all sizes for which this holds:",
        "  data_h - 2 >= 0",
        "  data_w - 2 >= 0",
    ]


@pytest.mark.parametrize("layers", [WEIGHED, ONE_NUMBER], ids=["weighed", "one number"])
def test_questions_of_equal_answers_leave_out_no_size(tmp_path: Path, layers: str) -> None:
    """Layers that no rewrite changes take all sizes, and so does a number that is repeated."""
    assert lines_of(tmp_path / "net.param", layers) == [
        "inputs: data 3x?x?",
        "one compilation runs every size that the layers take",
    ]


def test_the_layers_that_need_numbers(tmp_path: Path) -> None:
    """By their lines."""
    inputs, reason, last = lines_of(tmp_path / "net.param", NEEDS_NUMBERS)
    assert inputs == "inputs: data 3x?x?"
    assert reason.startswith("layer 'bins' on line 4: not supported: SPP")
    assert last == "so each shape is a compilation of its own"


@pytest.mark.parametrize("level", [0, 2])
def test_layers_that_take_one_size(tmp_path: Path, level: int) -> None:
    """The reason names the extents, and leaves out long expressions of them."""
    lines = lines_of(tmp_path / "net.param", FIXED, opt_level=level)
    assert "(InnerProduct): input" in lines[1] and "data_h" in lines[1]
    assert "//" not in lines[1] and "max(" not in lines[1]
