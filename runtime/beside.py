"""A call in a thread of its own, whose result is waited for where it is needed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Beside(Generic[T]):
    """A call that begins at once. (An executor would take longer to import than most calls.)"""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._found: list[T] = []
        self._failed: BaseException | None = None
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:
            self._failed = error

    def result(self) -> T:
        """What the call returns, or what it raises; when it is done."""
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._found[0]
