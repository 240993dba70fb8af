"""What a version may leave open, and its hints, by the shapes of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver.open_binding import OpenBinding
from ncc.compiler.driver.open_candidates import candidates, larger_hints
from ncc.dialects.shapes import OpenShape, Shape


def input(shape: OpenShape | None, **facts: Any) -> OpenBinding:
    return OpenBinding.of("x", shape, **facts)


@pytest.mark.parametrize(
    ("binding", "called", "hints"),
    [
        (input((3, None, None)), (3, 1, 20), (3, 65, 84)),
        (input((3, None, None)), (3, 63, 64), (3, 127, 64)),
        (input((3, 32, None)), (3, 32, 5), (3, 32, 69)),
        (input((3, None, None), ranges=((3, 3), (1, 40), (8, None))), (3, 9, 9), (3, 40, 73)),
        (input((None, None, None)), (4, 9, 9), (4, 73, 73)),
        (input(None), (3, 9, 9), (3, 73, 73)),
        (input((None, 80)), (7, 80), (71, 80)),
        (input((None, 80), has_batch=True), (1, 80), (1, 80)),
        (input((None, None, 3), dtype="uint8"), (9, 9, 3), (73, 73, 3)),
    ],
)
def test_small_sides_have_larger_hints(binding: OpenBinding, called: Shape, hints: Shape) -> None:
    """Within their ranges; channels, samples and what is known stay."""
    shapes = {"x": called}
    opened = next(candidates([binding], shapes))
    assert larger_hints([binding], shapes, opened) == {"x": hints}


def test_an_extent_of_one_beside_other_inputs_stays() -> None:
    """It may be broadcast. Other extents that are equal, or not, are so with larger hints, too."""
    names = ("a", "b", "c")
    bindings = [OpenBinding.of(name, (None, None, None)) for name in names]
    shapes = {"a": (3, 8, 9), "b": (3, 1, 9), "c": (3, 8, 10)}
    opened = next(candidates(bindings, shapes))
    assert larger_hints(bindings, shapes, opened) == {
        "a": (3, 72, 73),
        "b": (3, 1, 73),
        "c": (3, 72, 74),
    }


def test_code_for_larger_images_may_not_be_for_small_ones(tmp_path: Path) -> None:
    """Then costs are compared for the shape of the call."""
    path = tmp_path / "net.param"
    path.write_text(
        "7767517\n2 2\nInput data 0 1 data\n"
        'Interp up 1 1 data out 0=1 9="+(0w,sign(-(0w,20))),0h"\n'
    )
    model = ncc.compile(path)
    for width, wider in ((9, 8), (30, 31), (5, 4)):
        assert model(np.ones((3, 8, width), np.float32)).shape == (3, 8, wider)
    assert "for all shapes: 2" in repr(model)
