"""Diagnostics say where, what was expected, what came and how to go on."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from ncc.compiler import diagnostics
from ncc.compiler.diagnostics import CompilerBug, Misfed, ModelError, NccError, Problem, Unsupported
from ncc.runtime import errors
from ncc.runtime.errors import ArtifactError, InputError
from ncc.runtime.forms import Form

CONVOLUTION = Problem(
    "no such layer type",
    path=Path("net.param"),
    line=3,
    column=1,
    source_line="Convolutoin  conv1  1 1 data conv1",
    expected="a layer type",
    found="'Convolutoin'",
    suggestion="Convolution",
    width=11,
)


def test_a_problem_prints_place_source_caret_and_suggestion() -> None:
    """The whole text of a located problem."""
    assert str(ModelError(CONVOLUTION)) == (
        "net.param:3:1: error: no such layer type\n"
        "  Convolutoin  conv1  1 1 data conv1\n"
        "  ^^^^^^^^^^^\n"
        "  expected a layer type, found 'Convolutoin'\n"
        "  did you mean 'Convolution'?"
    )


def test_parts_that_are_not_known_are_left_out() -> None:
    """A problem of a binary file has a path only; one without a file has a message only."""
    assert str(Problem("too short", path="net.bin")) == "net.bin: error: too short"
    assert str(Problem("empty")) == "error: empty"
    assert str(Problem("odd", "a", 2)) == "a:2: error: odd"
    assert str(Problem("odd", found="3")) == "error: odd\n  found 3"
    assert str(Problem("odd", expected="3")) == "error: odd\n  expected 3"


def test_an_input_in_another_form_is_the_way_on() -> None:
    """What would have to be fed, in place of what was."""
    form = Form("channels come first", "x.transpose(2, 0, 1)", (3, 8, 9))
    problem = Problem("odd", misfed=Misfed("data", form, (8, 9, 3)))
    assert str(problem) == (
        "error: odd\n  to go on: channels come first: 3x8x9 instead of 8x9x3 for 'data'"
    )
    assert pickle.loads(pickle.dumps(ModelError(problem))).problems == (problem,)


def test_all_problems_of_a_file_come_together() -> None:
    """One error carries several problems, in order."""
    second = Problem("second", "net.param", 9)
    error = ModelError([CONVOLUTION, second])
    assert error.problems == (CONVOLUTION, second)
    assert str(error).endswith("\nnet.param:9: error: second")
    with pytest.raises(CompilerBug):
        ModelError([])


def test_the_caret_stands_under_its_character_after_tabs_and_control_characters() -> None:
    """A tab counts as one column, and an escape sequence does not reach the terminal."""
    lines = str(Problem("bad", "p", 1, column=5, source_line="a\t\x1b[X=1\r\n")).split("\n")
    assert lines[1] == "  a ?[X=1"
    assert lines[2] == "      ^"


@pytest.mark.parametrize("column", [1, 77, 5000, 10_000])
def test_a_long_line_is_cut_around_the_caret(column: int) -> None:
    """The caret still points to the faulty character in the window that is shown."""
    source = "." * (column - 1) + "X" + "." * (10_000 - column)
    _, shown, caret = str(Problem("bad", "p", 1, column, source)).split("\n")
    assert len(shown) <= diagnostics.SOURCE_WIDTH + 2
    assert shown[caret.index("^")] == "X"


def test_unsupported_names_layer_nearest_and_way_out() -> None:
    """What, where, nearest and how are all in the text."""
    error = Unsupported("Einsum with a repeated label", "plain labels", "rewrite it", "e1", 12)
    assert str(error) == (
        "layer 'e1' on line 12: not supported: Einsum with a repeated label\n"
        "  nearest supported: plain labels\n"
        "  to go on: rewrite it"
    )
    assert str(Unsupported("training")) == "not supported: training"
    assert str(Unsupported("training", line=4)) == "line 4: not supported: training"


def test_a_compiler_bug_asks_to_be_reported() -> None:
    """Pass and dump are named, a dump of several lines stands below its label."""
    text = str(CompilerBug("operand vanished", "fold-affine", Path("dump/03.mlir")))
    assert text.startswith("compiler bug in pass fold-affine: operand vanished\n")
    assert "IR at that point: dump/03.mlir" in text and "please report it with that dump" in text
    assert "IR at that point:\nmodule {\n}" in str(CompilerBug("x", dump="module {\n}"))
    assert str(CompilerBug("x")).endswith("please report it")


def test_there_is_one_root() -> None:
    """The compiler's root is the runtime's, and InputError is a ValueError too."""
    assert diagnostics.NccError is errors.NccError
    for kind in (ModelError, Unsupported, CompilerBug, InputError, ArtifactError):
        assert issubclass(kind, NccError)
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    "error",
    [
        ModelError([CONVOLUTION]),
        Unsupported("a", "b", "c", "d", 5),
        CompilerBug("a", "b", "c"),
        InputError("a", "b", "c", "d", "e"),
        InputError.unknown_name("output", "prb", ["prob"]),
        ArtifactError("a", ["avx2"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: NccError) -> None:
    """An error of a worker process reaches its parent unchanged."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error) and vars(copy) == vars(error)


def test_an_unknown_name_among_many_lists_a_dozen() -> None:
    """And how many more there are; what was meant is found among all."""
    text = str(InputError.unknown_name("blob", "blob_77", [f"blob_{k}" for k in range(70, 190)]))
    assert text.count(" or ") == 12 and "or 108 more" in text
    text = str(InputError.unknown_name("blob", "convv", [*map(str, range(50)), "conv"]))
    assert "'conv'" in text.partition("39 more")[2]


def test_an_unknown_name_lists_the_known_and_the_near() -> None:
    """InputError.unknown_name names the blob, what there is and what was meant."""
    text = str(InputError.unknown_name("output", "prb", ["prob", "fc"]))
    assert text == ("the model has no output 'prb': expected 'prob' or 'fc'; did you mean 'prob'?")
