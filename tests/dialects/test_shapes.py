"""Shapes in messages."""

from __future__ import annotations

from ncc.dialects.shapes import with_open_extents


def test_expressions_of_a_message_are_question_marks() -> None:
    """However long they are; other text stays."""
    text = "a window of 7 needs 3x[(h@224 + 1) // 2 - 3]x[w@224], line 4"
    assert with_open_extents(text) == "a window of 7 needs 3x?x?, line 4"
