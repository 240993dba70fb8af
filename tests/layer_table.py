"""A table of all layer types: how the recordings of each fared.

    pytest --layer-table=docs/layers.md             runs every recording, and writes the table anew
    pytest --layer-table=docs/layers.md -k Gemm     brings one row up to date

A recording passed, is marked with the reason why nothing is compared, or failed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest

PASSED = ""
"""What a judgement says of a recording whose values came out."""

Judged = Mapping[str, str]
"""By the id of a recording, `PASSED` or why not."""

COLUMNS = ("reference", "-O0", "-O2")

MARKS = "marks"
"""In place of a column: why something else than its values is expected of a recording."""

_HEAD = f"""# Layers

Made by `pytest --layer-table=docs/layers.md`. Each recording of ncnn's own tests (../shared/cases)
is computed by the numpy reference, and by code compiled at -O0 and -O2 from files that the writer
made of it. Numbers are recordings that gave ncnn's values within ncnn's own tolerance; those that
were not compared, and those of which the release makes something else, are counted by reason.

| layer | recorded | {" | ".join(COLUMNS)} | not compared | as the release |
|---|---|---|---|---|---|---|
"""

_ROW = re.compile(r"\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (.*?) ?\| (.*?) ?\|")


@dataclass
class LayerTable:
    """What was judged: layer type to column to recordings."""

    judged: dict[str, dict[str, Judged]] = field(default_factory=dict)

    def add(self, type: str, column: str, judged: Judged) -> None:
        """Note how the recordings of a layer type fared one way."""
        self.judged.setdefault(type, {})[column] = judged

    def text(self, before: str = "") -> str:
        """The table in markdown, sums last; what was not judged is as it was `before`.

        So is a type of which other CPUs can judge more recordings: ROIPooling, whose bins follow
        from how a CPU estimates reciprocals.
        """
        rows = {row[1]: row.group() for row in _ROW.finditer(before)}
        recorded = {row[1]: int(row[2]) for row in _ROW.finditer(before)}
        for type, columns in self.judged.items():
            if columns.keys() >= {*COLUMNS, MARKS} and _recorded(columns) >= recorded.get(type, 0):
                rows[type] = _row(type, columns)
        counts = [_ROW.fullmatch(row) for row in rows.values()]
        sums = [sum(int(row[k]) for row in counts if row is not None) for k in range(2, 6)]
        lines = [rows[type] for type in sorted(rows)]
        lines.append(f"| {len(rows)} types | {' | '.join(map(str, sums))} | | |")
        return _HEAD + "\n".join(lines) + "\n"


def _row(type: str, columns: Mapping[str, Judged]) -> str:
    """One line: how many were recorded, how many passed each way, and what the others say."""
    passed = [sum(why == PASSED for why in columns[key].values()) for key in COLUMNS]
    left = {(id, why) for key in COLUMNS for id, why in columns[key].items()}
    told = [_counted(why for _, why in left), _counted(columns[MARKS].values())]
    return f"| {' | '.join(map(str, [type, _recorded(columns), *passed, *told]))} |"


def _recorded(columns: Mapping[str, Judged]) -> int:
    return max(map(len, columns.values()))


def _counted(reasons: Iterable[str]) -> str:
    """How often each reason is given; what passed has none."""
    counts = Counter(why for why in reasons if why != PASSED)
    return "; ".join(f"{count}: {why}" for why, count in sorted(counts.items()))


TABLE = pytest.StashKey[LayerTable]()
