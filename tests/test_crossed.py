"""Which combinations a usual run has."""

from __future__ import annotations

import pytest

from tests.crossed import crossed, in_turn, some


@pytest.mark.parametrize(
    ("axes", "usual"),
    [
        ((range(3), "xy"), ["0-x", "1-y", "2-x"]),
        (("xy", range(3)), ["x-0", "x-2", "y-1"]),
        ((range(2), "xy", [int, float, str]), ["0-x-int", "0-x-str", "1-y-float"]),
    ],
)
def test_each_value_is_in_a_usual_one(axes: tuple[list[object], ...], usual: list[str]) -> None:
    """As many as the longest axis has; all others are there, and slow."""
    found = crossed(*axes)
    assert [case.id for case in found if not case.marks] == usual
    assert (
        len({case.values for case in found})
        == len(found)
        == len(axes[0]) * len(axes[1]) * (len(axes[2]) if len(axes) > 2 else 1)
    )


def test_a_usual_run_may_have_less() -> None:
    """The first of the diagonal."""
    found = crossed(range(3), "xy", usual=1)
    assert len(found) == 6 and [case.id for case in found if not case.marks] == ["0-x"]


def test_an_axis_without_values_has_no_combinations() -> None:
    """As targets that a machine has none of."""
    assert crossed(range(3), []) == []


def test_the_first_cases_are_usual() -> None:
    """The others are there, and slow."""
    usual, slow = some(range(2), usual=1)
    assert usual == 0 and slow.values == (1,) and [mark.name for mark in slow.marks] == ["slow"]


def test_one_of_so_many_is_usual() -> None:
    """The others are there, and slow."""
    found = in_turn("abcde", every=2)
    assert found[::2] == ["a", "c", "e"] and [case.values for case in found[1::2]] == [
        ("b",),
        ("d",),
    ]
    assert all(mark.name == "slow" for case in found[1::2] for mark in case.marks)
