"""Where the time of a compilation goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from ncc.compiler.progress import tell


class Stopwatch:
    """Measured times by name, in the order of first use.

    What two threads, or processes, do at once counts for both.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, what: str) -> Iterator[None]:
        """Add the time of this block, and tell that it begins."""
        tell(what)
        start = perf_counter()
        self.seconds.setdefault(what, 0.0)
        try:
            yield
        finally:
            self.seconds[what] += perf_counter() - start

    def add(self, other: Stopwatch) -> None:
        """Add the times of another one."""
        for what, seconds in other.seconds.items():
            self.seconds[what] = self.seconds.get(what, 0.0) + seconds
