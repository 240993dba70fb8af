"""Bytes that are alive at each step."""

from __future__ import annotations

from ncc.compiler.linalg.memory.alive import alive_at


def test_lives_overlap() -> None:
    """A life holds its first step and its last one, be they the same."""
    assert alive_at([(1, 3, 5), (3, 3, 2), (0, 4, 1)], 5) == [1, 6, 6, 8, 1]


def test_nothing_lives() -> None:
    """A step at which nothing is alive has no bytes, and no steps have no bytes."""
    assert alive_at([], 2) == [0, 0]
    assert alive_at([], 0) == []
