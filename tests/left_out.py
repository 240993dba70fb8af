"""What a run of the tests leaves out, and why: the last words of its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

FOLDER = "there is no ../shared/"
"""How the reason begins of a test that needs that folder, and runs once for each thing in it."""


def lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """A line a reason, the most frequent first."""
    counted = Counter(map(_reason, reports))
    for reason, count in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        also = "; else each runs for everything there" if reason.startswith(FOLDER) else ""
        yield f"{count:6,} skipped: {reason}{also}"


def _reason(report: pytest.TestReport) -> str:
    """As the test gives it: pytest has it behind the place, and a word of its own."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return reason.removeprefix("Skipped: ").partition("\n")[0]
