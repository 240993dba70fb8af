"""What long work tells of its progress, to whoever listens.

    for burst in counted("measuring", bursts, rounds): ...
    tell("pack weights")

A command that shows progress listens (`commands/arguments.py`). If nobody does, nothing happens:
the compiler prints nothing by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Listener: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how many parts of it are done, and how many there are."""

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)

# A fork has no thread that shows anything, and locks that such a thread held stay locked there.
os.register_at_fork(after_in_child=lambda: _LISTENER.set(None))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call the listener for all that this thread does in a `with` block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(what: str, done: int = 0, total: int | None = None) -> None:
    """Say what is being done. total: None if nobody knows how many parts there are."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what, done, total)


def counted(what: str, parts: Iterable[T], total: int | None = None) -> Iterator[T]:
    """The parts of some work, one after the other; says how many are done."""
    done = 0
    for part in parts:
        tell(what, done, total)
        yield part
        done += 1
    tell(what, done, total)
