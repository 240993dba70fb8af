"""Expressions of sizes to try, and extents to try them at."""

from __future__ import annotations

from hypothesis import strategies as st

from ncc.dialects.size import Size, largest, smallest

H, W = Size.symbol("h", 224), Size.symbol("w", 256)

EXTENTS = {"h": H, "w": W, "largest": largest, "smallest": smallest}
"""The names in the text of an expression."""


def expressions() -> st.SearchStrategy[str]:
    """Python's text of an expression of h and w."""
    leaves = st.sampled_from(["h", "w"]) | st.integers(-9, 9).map(str)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        both = st.tuples(inner, inner)
        return st.one_of(
            both.map(lambda two: f"({two[0]} + {two[1]})"),
            both.map(lambda two: f"({two[0]} - {two[1]})"),
            both.map(lambda two: f"({two[0]} * {two[1]})"),
            st.tuples(inner, st.sampled_from([2, 3, 4, 8, 16, -2])).map(
                lambda two: f"({two[0]} // {two[1]})"
            ),
            both.map(lambda two: f"({two[0]} // largest(1, {two[1]}))"),
            both.map(lambda two: f"largest({two[0]}, {two[1]})"),
            both.map(lambda two: f"smallest({two[0]}, {two[1]})"),
        )

    return st.recursive(leaves, larger, max_leaves=6)


def values(most: int = 5000) -> st.SearchStrategy[dict[str, int]]:
    """Extents of the inputs."""
    extent = st.integers(1, 70) | st.integers(1, most)
    return st.fixed_dictionaries({"h": extent, "w": extent})
