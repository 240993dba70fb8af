"""Whether one compilation is for every size, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.explain_sizes import fate_of_sizes
from ncc.compiler.options import Options
from tests.onnx.models import model, written

HEAD = "Input data 0 1 data 0=32 1=32 2=3\n"

NEEDS_NUMBERS = """
SPP bins 1 1 data bins 0=0 1=2
ReLU out 1 1 bins out
"""

FLAT = """
Flatten f 1 1 data f
InnerProduct out 1 1 f out 0=2 2={}
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


PADDED = """
Input wider 0 1 wider
Padding padded 1 1 data padded 0=1 1=0 2=1 3=0
Convolution x 1 1 padded x 0=4 1=1 6=12
Convolution y 1 1 wider y 0=4 1=1 6=12
BinaryOp out 2 1 x y out 0=0
"""


def lines_of(path: Path, layers: str, head: str = HEAD, **options: object) -> list[str]:
    """What is told of a network."""
    lines = layers.strip().splitlines()
    blobs = 1 + sum(int(line.split()[3]) for line in lines)
    path.write_text(f"7767517\n{len(lines) + 1} {blobs}\n{head}{layers.strip()}\n")
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


def test_a_file_that_leaves_extents_open_decides_which(tmp_path: Path) -> None:
    """Boxes have four numbers, and there are two classes."""
    limits = {"most": np.array([20]), "overlap": np.array([0.5], np.float32)}
    nodes = [helper.make_node("NonMaxSuppression", ["boxes", "scores", *limits], ["kept"])]
    inputs: dict[str, tuple[int | str, ...]] = {"boxes": (1, "n", 4), "scores": (1, 2, "m")}
    path = written(tmp_path, model(nodes, inputs, ["kept"], limits))
    assert list(fate_of_sizes(path, None, Options()).lines()) == [
        "inputs: boxes 1x?x4, scores 1x2x?",
        "one compilation runs all sizes for which this holds:",
        "  boxes_n == scores_m",
    ]


def test_sizes_that_are_left_out(tmp_path: Path) -> None:
    """By the conditions that a call is checked for."""
    assert lines_of(tmp_path / "net.param", POOLED) == [
        "inputs: data 3x?x?",
        "one compilation runs all sizes for which this holds:",
        "  data_h >= 2",
        "  data_w >= 2",
    ]


@pytest.mark.parametrize("layers", [WEIGHED, ONE_NUMBER], ids=["weighed", "one number"])
def test_questions_of_equal_answers_leave_out_no_size(tmp_path: Path, layers: str) -> None:
    """Layers that no rewrite changes take all sizes, and so does a number that is repeated."""
    assert lines_of(tmp_path / "net.param", layers) == [
        "inputs: data 3x?x?",
        "one compilation runs every size that the layers take",
    ]


HALVED = """
Split s 1 2 data a b
Pooling p 1 1 a half 0=0 1=2 2=2
Interp up 1 1 half whole 0=1 1=2.0 2=2.0
Concat out 2 1 whole b out
"""


def test_extents_that_meet_a_condition_are_told(tmp_path: Path) -> None:
    """If it is none on the extent itself. Those in a range alone are looked at."""
    shapes = {"data": (3, (5, 12), 8)}
    *_, condition, told = lines_of(tmp_path / "net.param", HALVED, input_shapes=shapes)
    assert "data_h" in condition
    assert told == "of the numbers up to 1024, data_h may be 6, 8, 10, 12"


@pytest.mark.parametrize(
    ("data", "wider", "told"),
    [
        ((64, 128), None, "data 3x64..128x?, wider 3x65..129x2.."),
        (None, (64, 128), "data 3x63..127x?, wider 3x64..128x2.."),
    ],
)
def test_ranges_of_extents_that_others_decide_are_told(
    tmp_path: Path, data: object, wider: object, told: str
) -> None:
    """They are as far apart as the layers want them."""
    shapes = {"data": (3, data, None), "wider": (3, wider, None)}
    first, *_ = lines_of(tmp_path / "net.param", PADDED, input_shapes=shapes)
    assert first == f"inputs: {told}"


def test_the_layers_that_need_numbers(tmp_path: Path) -> None:
    """By their lines."""
    inputs, reason, last = lines_of(tmp_path / "net.param", NEEDS_NUMBERS)
    assert inputs == "inputs: data 3x?x?"
    assert reason.startswith("layer 'bins' on line 4: not supported: SPP")
    assert last == "so no compilation is for all sizes"


@pytest.mark.parametrize("level", [0, 2])
def test_layers_that_take_one_size(tmp_path: Path, level: int) -> None:
    """One row, if weights take three elements, and windows as many images as they round to it."""
    lines = lines_of(tmp_path / "net.param", FLAT.format(6), opt_level=level)
    assert lines == ["inputs: data 3x1x1", "the layers take this size alone"]


def test_layers_that_take_a_number_of_elements(tmp_path: Path) -> None:
    """Long images and square ones."""
    lines = lines_of(tmp_path / "net.param", FLAT.format(6144), opt_level=1)
    assert lines[0] == "inputs: data 3x?x?" and lines[2:] == ["  data_h * data_w == 1024"]


@pytest.mark.parametrize("level", [0, 2])
def test_layers_that_take_the_size_of_the_file(tmp_path: Path, level: int) -> None:
    """The reason names the extents, and leaves out long expressions of them."""
    path, narrow = tmp_path / "net.param", HEAD.replace("0=32 1=32", "0=5 1=7")
    lines = lines_of(path, FLAT.format(210), narrow, opt_level=level)
    assert "(InnerProduct): input" in lines[1] and "data_h" in lines[1]
    assert "//" not in lines[1] and "max(" not in lines[1]


@pytest.mark.parametrize("level", [0, 2])
def test_layers_that_take_no_size_are_wrong(tmp_path: Path, level: int) -> None:
    """That of the file neither."""
    with pytest.raises(ModelError, match="'out' .InnerProduct.: input"):
        lines_of(tmp_path / "net.param", FLAT.format(6146), opt_level=level)


def test_open_axes_of_an_onnx_keep_their_names(tmp_path: Path) -> None:
    """Equal names need not be equal extents. What is only joined to another may be empty."""
    inputs = {"a": ("batch", "seq", 16), "b": ("batch", "seq", 16), "c": ("batch", "seq", 16)}
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Concat", ["sum", "c"], ["y"], axis=1),
    ]
    path = written(tmp_path, model(nodes, inputs, ["y"]))
    assert list(fate_of_sizes(path, None, Options.of()).lines()) == [
        "inputs: a ?x?x16, b ?x?x16, c ?x0..x16",
        "one compilation runs all sizes for which this holds:",
        "  a_seq == b_seq",
    ]
