"""A table of all layer types: how the recordings of each fared.

    pytest --layer-table docs/layers.md

runs every recording through the reference and through compiled code, and writes what came out. A
recording passed, is marked with the reason why nothing is compared, or failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

PASSED = ""
"""What a judgement says of a recording whose values came out."""

Judged = Mapping[str, str]
"""By the id of a recording, `PASSED` or why not."""

COLUMNS = ("reference", "-O0", "-O2")

_HEAD = """# Layers

Made by `pytest --layer-table docs/layers.md`. Each recording of ncnn's own tests (../shared/cases)
is computed by the numpy reference, and by code compiled at -O0 and -O2 from files that the writer
made of it. Numbers are recordings that gave ncnn's values within ncnn's own tolerance; those that
were not compared are counted by reason.

"""


@dataclass
class LayerTable:
    """What was judged: layer type to column to recordings."""

    judged: dict[str, dict[str, Judged]] = field(default_factory=dict)

    def add(self, type: str, column: str, judged: Judged) -> None:
        """Note how the recordings of a layer type fared one way."""
        self.judged.setdefault(type, {})[column] = judged

    def text(self) -> str:
        """The table in markdown, sums last."""
        lines = [f"| layer | recorded | {' | '.join(COLUMNS)} | not compared |"]
        lines.append("|---" * (len(COLUMNS) + 3) + "|")
        sums = Counter[str]()
        for type, columns in sorted(self.judged.items()):
            counts = {key: _passed(judged) for key, judged in columns.items()}
            counts["recorded"] = max(map(len, columns.values()))
            sums.update(counts)
            lines.append(_row(type, counts, _reasons(columns)))
        lines.append(_row(f"{len(self.judged)} types", sums, ""))
        return _HEAD + "\n".join(lines) + "\n"


def _passed(judged: Judged) -> int:
    return sum(reason == PASSED for reason in judged.values())


def _row(name: str, counts: Mapping[str, int], reasons: str) -> str:
    numbers = [str(counts.get(key, "")) for key in ("recorded", *COLUMNS)]
    return f"| {' | '.join([name, *numbers, reasons])} |"


def _reasons(columns: Mapping[str, Judged]) -> str:
    """Each reason with the number of recordings it holds for, in any column."""
    found = {(id, why) for judged in columns.values() for id, why in judged.items() if why}
    counted = Counter(why for _, why in found)
    return "; ".join(f"{count}: {why}" for why, count in sorted(counted.items()))


TABLE = pytest.StashKey[LayerTable]()
