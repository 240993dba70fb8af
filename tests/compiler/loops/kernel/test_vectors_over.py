"""The vectors that hold some elements."""

from __future__ import annotations

import pytest

from ncc.compiler.loops.kernel.vectors_over import vectors_over
from ncc.dialects.size import Size, assuming


@pytest.mark.parametrize(
    ("places", "unit", "starts"),
    [
        (range(4), 1, {0}),
        (range(7), 1, {0, 3}),
        ({0, 1, 2, 3, 4, 5, 6}, 1, {0, 3}),
        ({*range(4), *range(64, 68)}, 1, {0, 64}),
        ({0, 1, 2, 64, 65, 66}, 1, {0, 63}),
        (range(0, 32, 4), 4, {0, 16}),
        ({*range(0, 16, 4), *range(1, 17, 4)}, 4, {0, 1}),
        (range(3), 1, set()),
    ],
)
def test_every_place_is_in_a_vector(places: set[int], unit: int, starts: set[int]) -> None:
    """None reaches beyond the last place; too few places have none."""
    found = vectors_over(set(places), 4, unit)
    assert set(found.values()) == starts
    assert not found or found.keys() == set(places)
    for place, start in found.items():
        assert (place - start) % unit == 0 and 0 <= place - start < 4 * unit
        assert start + 3 * unit <= max(places)


def test_rows_whose_distance_the_run_tells_share_no_vector() -> None:
    """Nothing is taken for granted about the distance."""
    row = Size.symbol("w", 20)
    with assuming() as assumed:
        found = vectors_over({n * row + k for n in range(3) for k in range(5)}, 4)
    assert not assumed
    assert {found[n * row + k] - n * row for n in range(3) for k in range(4)} == {0}
    assert [found[n * row + 4] - n * row for n in range(3)] == [1, 1, 1]
