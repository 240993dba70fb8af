"""Extents have the ranges that equations leave them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.driver.compile import compile
from ncc.compiler.ncnn.narrowed_ranges import with_ranges
from ncc.dialects.size import Assumption, Size, form_of
from ncc.dialects.size_text import text_of_size

H, W = (Size.symbol(name, 32) for name in "hw")
LIMITED = Size.symbol("h", 32, 30, 60)


def text(shape: Sequence[int | None]) -> str:
    """A shape with hints and ranges."""
    return " x ".join("?" if n is None else text_of_size(n) for n in shape)


@pytest.mark.parametrize(
    ("equations", "wanted"),
    [
        ([H // 8 - 4], "h@32:32:39 x w@32"),
        ([8 - 2 * (H // 8)], "h@32:32:39 x w@32"),
        ([H // 8 - 4, H // 5 - 6], "h@32:32:34 x w@32"),
        ([(H // 8) * (W // 16) - 8], "h@32:32:39 x w@32:32:47"),
        ([H - W], "h@32 x w@32"),
        ([H - 8 * (H // 8)], "h@32 x w@32"),
        ([(H // 8) * ((H + 1) // 8) - 4 * (W // 8)], "h@32 x w@32"),
    ],
)
def test_equations_leave_extents_ranges(equations: list[int], wanted: str) -> None:
    """None where extents make up for each other, or have to be multiples."""
    assumed = [Assumption(form_of(one), "==") for one in equations]
    assert text(with_ranges({"a": (H, W)}, assumed)["a"]) == wanted


def test_ranges_that_are_asked_for_become_narrower() -> None:
    """And never wider."""
    shapes = {"a": (LIMITED, None, 7)}
    equation = Assumption(form_of(LIMITED // 8 - 4), "==")
    assert text(with_ranges(shapes, [equation])["a"]) == "h@32:32:39 x ? x 7"
    assert with_ranges(shapes, [Assumption(form_of(LIMITED // 8 - 9), "!=")]) == shapes
    looser = Assumption(form_of((LIMITED + 3) // 32 - 1), "==")
    assert text(with_ranges(shapes, [looser])["a"]) == "h@32:30:60 x ? x 7"


def test_a_range_without_end_is_not_walked() -> None:
    """The walk ends where the equation does: (h // 8) is 4 for 32 to 39."""
    height = Size.symbol("h", 32, 1, 2**62)
    narrow = with_ranges({"a": (height,)}, [Assumption(form_of(height // 8 - 4), "==")])
    assert text(narrow["a"]) == "h@32:32:39"


POOLED = """7767517
5 5
Input data 0 1 data
Convolution a 1 1 data a 0=16 1=3 3=2 4=1 6=432 9=1
Pooling b 1 1 a b 0=1 1=7 2=1 5=1
InnerProduct c 1 1 b c 0=10 1=1 2=160
Softmax prob 1 1 c prob
"""
"""Images of 13 or 14 pixels become one pixel."""


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_one_compilation_runs_all_images_that_a_window_makes_one_pixel_of(
    tmp_path: Path, level: int
) -> None:
    """As code for each of them does, bit by bit without rewrites."""
    path = tmp_path / "net.param"
    path.write_text(POOLED)
    options = {"random_weights": 1, "opt_level": level}
    asked = (3, None, None)
    model = compile(path, input_shapes={"data": asked}, **options)  # type: ignore[arg-type]
    generator = np.random.default_rng(1)
    for height, width in ((14, 14), (13, 14), (14, 13), (13, 13)):
        image = generator.standard_normal((3, height, width), np.float32)
        shapes = {"data": image.shape}
        alone = compile(path, input_shapes=shapes, **options)  # type: ignore[arg-type]
        np.testing.assert_allclose(model(image), alone(image), rtol=1e-4 * level, atol=0)
    assert "versions for all shapes: 1>" in repr(model)
