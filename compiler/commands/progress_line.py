"""Shows progress as a line at the bottom of a terminal.

    ⠙ verifying net.param: comparing layers ━━━━━━━╺━━━━━━━━━ 12/40 0:00:03

The line comes when the work has taken a second, and goes when the work is done. It is written to
stderr. The environment can have reasons against it: see `is_wanted`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ncc.compiler.progress import listening

DELAY = 1.0
"""The seconds after which the line is shown."""


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether stderr is a terminal that can show a line again and again.

    A dumb terminal cannot, and a log of CI keeps everything, though it may look like a terminal.
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal and environment.get("TERM") != "dumb" and not environment.get("CI")


@contextmanager
def progress_line(what: str) -> Iterator[None]:
    """Show what is told in a `with` block."""
    line = _Line(what)
    timer = Timer(DELAY, line.show)
    timer.daemon = True
    timer.start()
    try:
        with listening(line.tell):
            yield
    finally:
        timer.cancel()
        timer.join()
        line.hide()


class _Line:
    """The line, which may not be there yet. rich itself obeys NO_COLOR."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self.task = self.progress.add_task(what, total=None)

    def show(self) -> None:
        self.progress.start()

    def hide(self) -> None:
        self.progress.stop()

    def tell(self, what: str, done: int, total: int | None) -> None:
        """Called for everything that is told."""
        description = f"{self.what}: {what}"
        self.progress.update(self.task, description=description, completed=done, total=total)
