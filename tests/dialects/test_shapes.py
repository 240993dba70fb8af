"""Shapes in messages."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX

from ncc.dialects.shapes import DYNAMIC, OpenShape, shown, with_short_extents
from ncc.dialects.size import Size, assuming


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((3, 224, 1), "3x224x1"),
        ((DYNAMIC, 6), "?x6"),
        ((DYNAMIC_INDEX, 6), "?x6"),
        ((None, 6), "?x6"),
        ((3, Size.symbol("h", 9) - 20), "3x?"),
        ((), "a scalar"),
    ],
)
def test_extents_that_are_not_known_are_question_marks(shape: OpenShape, text: str) -> None:
    """However they are written; and nothing is assumed of a size."""
    with assuming() as taken:
        assert shown(shape) == text
    assert not list(taken)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("it needs 3x[data_h]x[data_w // 2]", "it needs 3x[data_h]x[data_w // 2]"),
        ("3x[(max(0, data_h) + 1) // 2]x[w + 1]", "3x[of data_h]x[w + 1]"),
        ("has [max(0, w, hint=1) * 64 - h] elements", "has [of h, w] elements"),
        ("the axes [0, 1, 2, 3, 4, 5, 6, 7, 8]", "the axes [0, 1, 2, 3, 4, 5, 6, 7, 8]"),
        ("the names ['alpha', 'beta', 'gamma']", "the names ['alpha', 'beta', 'gamma']"),
    ],
)
def test_long_expressions_become_names(text: str, short: str) -> None:
    """Short ones stay as they are, and so does every other list."""
    assert with_short_extents(text) == short
