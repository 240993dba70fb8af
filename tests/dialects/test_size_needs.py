"""Fewer assumptions hold for the same extents."""

from __future__ import annotations

from hypothesis import given

from ncc.dialects.size import Size, assuming, is_equal, largest, smallest
from ncc.dialects.size_needs import needed
from tests.dialects.sizes import EXTENTS, H, W, expressions, values


def test_windows_come_to_an_extent() -> None:
    """The largest window counts, and what it implies is left out."""
    with assuming() as assumed:
        assert (H + 7) // 8 >= 4
        assert (H + 15) // 16 >= 2
        assert not is_equal((H + 15) // 16, 1)
        assert ((H + 15) // 16) * ((W + 15) // 16) >= 2
        assert W >= 1
    assert [str(one) for one in needed(assumed)] == ["h >= 25"]


def test_others_are_kept() -> None:
    """In order."""
    with assuming() as assumed:
        assert W > H
        assert is_equal(2 * ((H + 1) // 2), H)
    assert needed(assumed) == list(assumed)


def test_an_equation_counts_once() -> None:
    """Whichever side is which."""
    with assuming() as assumed:
        assert is_equal(2 * ((H + 1) // 2), H) and is_equal(H, 2 * ((H + 1) // 2))
        assert not is_equal(H, W) and not is_equal(W, H)
    assert needed(assumed) == [*assumed][::2]


def test_the_most_of_an_extent() -> None:
    """The smallest number counts, also of an extent that is itself if it is cut to a number."""
    cut = smallest(104, (H + 3) // 4)
    with assuming() as assumed:
        assert (H + 31) // 32 <= 1 << 23
        assert is_equal(cut, (H + 3) // 4)
        assert not W < 8
    assert [str(one) for one in needed(assumed)] == ["w >= 8", "h <= 416"]
    with assuming() as assumed:
        assert largest(300 - H, 0) >= 0  # which has no end
    assert needed(assumed) == []


def test_nothing_is_needed_for_nothing() -> None:
    """Nor is what the range of an extent implies."""
    h = Size.symbol("h", 224, least=8)
    with assuming() as assumed:
        assert h * h > 80
    assert [str(one) for one in needed(assumed)] == ["h >= 9"]
    assert needed([]) == []


@given(expressions(), values())
def test_the_same_extents_meet_them(expression: str, at: dict[str, int]) -> None:
    """Whatever was assumed."""
    with assuming() as assumed:
        size = eval(expression, dict(EXTENTS))
        answers = [size > 7, size <= 3, is_equal(size, 5), size * 2 > 20]
    assert answers[:2] != [True, True]
    both = [
        all(one.holds(one.form.value(at)) for one in some) for some in (assumed, needed(assumed))
    ]
    assert both[0] == both[1]
