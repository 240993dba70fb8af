"""The table of layers says of each type what was judged last."""

from __future__ import annotations

from tests.layer_table import COLUMNS, MARKS, PASSED, LayerTable


def table(**types: dict[str, str]) -> LayerTable:
    """One of recordings that fared alike in all columns."""
    made = LayerTable()
    for type, judged in types.items():
        for column in COLUMNS:
            made.add(type, column, judged)
        made.add(type, MARKS, dict.fromkeys(judged, ""))
    return made


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")][2:]


def test_a_row_counts_what_passed_and_says_why_not() -> None:
    """Sums stand in the last line."""
    text = table(Clip={"a": PASSED, "b": "no values"}, AbsVal={"c": PASSED}).text()
    assert rows(text) == [
        "| AbsVal | 1 | 1 | 1 | 1 |  |  |",
        "| Clip | 2 | 1 | 1 | 1 | 1: no values |  |",
        "| 2 types | 3 | 2 | 2 | 2 | | |",
    ]


def test_what_is_not_judged_stays() -> None:
    """Types that were not asked for, and those of which this CPU can judge less."""
    before = table(Clip={"a": PASSED, "b": PASSED}, AbsVal={"c": PASSED}).text()
    assert table(Clip={"a": PASSED}).text(before) == before
    assert table(AbsVal={"c": "no values"}).text(before) != before
