"""Sizes in place of extents that nobody says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.driver.compile import compile
from ncc.compiler.ncnn.sized_shapes import default_hint, has_sizes, sized_shapes, with_equalities
from ncc.compiler.options import Options
from ncc.compiler.read.read_network import read
from ncc.compiler.read_onnx.read_model import read_model
from ncc.dialects.size import Assumption, Size, form_of, hint
from ncc.dialects.size_atoms import Symbol
from ncc.runtime.extents import ANY
from tests.onnx.models import model, written

TWO = """7767517
3 3
Input data 0 1 a-b{a}
Input more 0 1 a_b{b}
BinaryOp add 2 1 a-b a_b out 0=0
"""

CROP = """7767517
3 3
Input data 0 1 data
Input box 0 1 box 0=6
Crop crop 2 1 data box out 0=-233
"""


def found(tmp_path: Path, text: str, options: Options) -> dict[str, tuple[int | None, ...]]:
    """The shapes of a network."""
    path = tmp_path / "net.param"
    path.write_text(text)
    return sized_shapes(read(path, random_weights=0).module, options)


def test_open_extents_are_sizes(tmp_path: Path) -> None:
    """Whether the file leaves them open or the caller; the names of two inputs never meet."""
    options = Options.of(input_shapes={"a-b": (3, None, (64, 512))})
    shapes = found(tmp_path, TWO.format(a="", b=" 0=0 1=8 2=3"), options)
    (_, h, w), (c, height, width) = shapes["a-b"], shapes["a_b"]
    assert (c, height) == (3, 8)
    assert isinstance(h, Size) and form_of(h).symbols == {Symbol("a_b_h", 224)}
    assert isinstance(w, Size) and form_of(w).symbols == {Symbol("a_b_w", 224, 64, 512)}
    assert isinstance(width, Size) and form_of(width).symbols == {Symbol("a_b_w_", 224)}
    assert has_sizes(shapes)


def test_a_hint_is_what_costs_are_compared_for(tmp_path: Path) -> None:
    """It need not be near the usual one."""
    options = Options(input_shapes={"a-b": (3, None, 5)}, hints={"a-b": (3, 11, 5)})
    shapes = found(tmp_path, TWO.format(a="", b=" 0=5 1=11 2=3"), options)
    h = shapes["a-b"][1]
    assert isinstance(h, Size) and hint(h) == 11


def test_without_an_open_extent_nothing_changes(tmp_path: Path) -> None:
    """Nor where not even a rank is known: shape inference tells that."""
    text = TWO.format(a="", b="")
    assert found(tmp_path, text, Options()) == {}
    known = {"a-b": (3, 4, 5), "a_b": (3, 4, 5)}
    assert found(tmp_path, text, Options(input_shapes=known)) == known
    assert not has_sizes(known)


def test_values_that_decide_shapes_allow_no_open_extent(tmp_path: Path) -> None:
    """Each array of them is a compilation."""
    with pytest.raises(Unsupported, match="open input 'data' that may be empty, or beside"):
        found(tmp_path, CROP, Options(input_shapes={"data": (3, None, 8)}))


def test_an_extent_that_can_only_be_one_number_is_that_number() -> None:
    """Of two that are equal, the last one is the other."""
    c, h, w = (Size.symbol(name, number) for name, number in (("c", 3), ("h", 8), ("w", 8)))
    assumed = [Assumption(form_of(2 * c - 6), "=="), Assumption(form_of(h - w), "==")]
    shapes = with_equalities({"data": (c, h, w)}, assumed)
    assert shapes["data"][0] == 3 and shapes["data"][1:] == (h, h)
    assert with_equalities({"data": (c, 4)}, [Assumption(form_of(c - 2), "!=")])["data"][0] == c


@pytest.mark.parametrize(
    ("shape", "ranges", "wanted"),
    [
        ((None, None, None), (), (3, 224, 224)),
        ((3, None, 100), (), (3, 224, 100)),
        ((None, None), (), (224, 224)),
        ((3, None, None), (ANY, (256, 1024), (1, 64)), (3, 256, 64)),
    ],
)
def test_a_hint_nobody_gives_is_that_of_an_image(
    shape: tuple[int | None, ...],
    ranges: tuple[tuple[int, int | None], ...],
    wanted: tuple[int, ...],
) -> None:
    """Inside of the ranges."""
    assert default_hint(shape, ranges) == wanted


@pytest.mark.parametrize(
    ("extents", "names"),
    [
        (("batch", 3, "image height", None), "[x_batch] 3 [x_image_height] [x_w]"),
        (("?", 3, "side", "side"), "[x_n] 3 [x_h] [x_w]"),
        (("a", 2, None, 2, 2, "a"), "[x_0] 2 [x_2] 2 2 [x_5]"),
        (("p + 1", None), "[x_p_1] [x_1]"),
        (("w", 3, None, None), "[x_w] 3 [x_h] [x_w_]"),
        (("1", "高さ"), "[x_1] [x_1_]"),
    ],
    ids=str,
)
def test_axes_of_an_onnx_have_the_names_of_the_file(
    extents: tuple[str | int | None, ...], names: str, tmp_path: Path
) -> None:
    """If these tell them apart; else letters, if images have so many, or numbers."""
    network = model([helper.make_node("Relu", ["x"], ["y"])], {"x": extents}, ["y"])  # type: ignore[dict-item]
    module = read_model(written(tmp_path, network))
    shape = sized_shapes(module, Options.of())["x"]
    assert " ".join(map(str, shape or ())) == names


def test_no_two_extents_are_one_by_their_names(tmp_path: Path) -> None:
    """Of an input and its axis, the names together can be those of another input and its axis."""
    nodes = [helper.make_node("Relu", [name], [f"{name}_y"]) for name in ("past", "past_key")]
    inputs: dict[str, tuple[int | str, ...]] = {"past": ("key_len", 3), "past_key": ("len", 3)}
    network = model(nodes, inputs, ["past_y", "past_key_y"])
    compiled = compile(written(tmp_path, network))
    feeds = {"past": np.ones((2, 3), np.float32), "past_key": np.ones((5, 3), np.float32)}
    assert [len(one) for one in compiled.run(feeds).values()] == [2, 5]


def test_an_extent_that_has_to_equal_an_expression_is_that_expression() -> None:
    """The last one of those that can be told; a range that is asked of it is kept."""
    h, w = (Size.symbol(name, number) for name, number in (("h", 9), ("w", 5)))
    limited = Size.symbol("w", 5, most=64)
    for last, wanted in ((w, (h + 1) // 2), (limited, limited)):
        assumed = [Assumption(form_of((h + 1) // 2 - last), "==")]
        shapes = with_equalities({"a": (3, h), "b": (last, 2 * last)}, assumed)
        assert shapes == {"a": (3, h), "b": (wanted, 2 * wanted)}


def test_an_extent_with_a_range_can_be_an_expression_in_this_range() -> None:
    """As one with the same range is."""
    one, other = (Size.symbol(name, 5, 0, 64) for name in "ab")
    equal = [Assumption(form_of(one - other), "==")]
    assert with_equalities({"x": (one, other)}, equal)["x"] == (one, one)
    wider = Size.symbol("a", 5, 0, 65)
    equal = [Assumption(form_of(wider - other), "==")]
    assert with_equalities({"x": (wider, other)}, equal)["x"] == (other, other)


def test_equalities_are_followed_from_one_to_the_next() -> None:
    """Of three that are equal, all are the first; a number settles all."""
    a, b, c = (Size.symbol(name, 7) for name in "abc")
    equal = [Assumption(form_of(b - c), "=="), Assumption(form_of(a - b), "==")]
    assert with_equalities({"x": (a, b, c)}, equal)["x"] == (a, a, a)
    settled = [*equal, Assumption(form_of(3 * a - 21), "==")]
    assert with_equalities({"x": (a, b, c)}, settled)["x"] == (7, 7, 7)
