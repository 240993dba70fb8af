"""A future: a call in a thread of its own, whose result is waited for. And work for two threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Beside(Generic[T]):
    """A call that begins at once. (An executor would take longer to import than most calls.)"""

    def __init__(self, call: Callable[[], T]) -> None:
        """Raises MemoryError where the system has no room for a thread, or allows no more."""
        self._call = call
        self._found: list[T] = []
        self._failed: BaseException | None = None
        self._thread = Thread(target=self._run)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise MemoryError(f"{error}, or no more are allowed") from error

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:
            self._failed = error

    @property
    def is_done(self) -> bool:
        """Whether the call has returned, or raised."""
        return not self._thread.is_alive()

    def result(self) -> T:
        """What the call returns, or what it raises; when it is done."""
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._found[0]


def shared(work: Callable[[Iterator[T]], R], items: Sequence[T]) -> list[R]:
    """Have two threads work: each is given an iterator over items, and has the next one when it
    asks for it. When either fails, there are no more for the other.
    """
    left: deque[T | None] = deque(items)
    left.extend((None, None))

    def one() -> R:
        try:
            return work(iter(left.popleft, None))
        except BaseException:
            left.appendleft(None)
            raise

    other = Beside(one)
    try:
        mine = one()
    finally:
        theirs = other.result()
    return [mine, theirs]
