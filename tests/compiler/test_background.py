"""A second thread: it works while this one does, and ends with its block."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event, current_thread

import pytest

from ncc.compiler.background import background


def test_it_works_beside_this_thread() -> None:
    """In the order of what it is given."""
    begun, done = Event(), list[str]()

    def first() -> None:
        assert begun.wait(60)
        done.append(current_thread().name)

    with background() as thread:
        thread.submit(first)
        second = thread.submit(lambda: done.append("second"))
        begun.set()
        second.result()
    assert done[1] == "second" and done[0] != current_thread().name


def test_a_block_waits_for_its_work() -> None:
    """So its results are there afterwards."""
    with background() as thread:
        futures = [thread.submit(pow, 2, n) for n in range(3)]
    assert [future.result() for future in futures] == [1, 2, 4]


def test_an_interruption_drops_what_has_not_begun() -> None:
    """The first piece of work ends only when the second one is dropped."""
    begun, dropped = Event(), Event()
    futures: list[Future[bool]] = []

    def work() -> bool:
        begun.set()
        return dropped.wait(60)

    with pytest.raises(KeyboardInterrupt), background() as thread:
        futures += [thread.submit(work) for _ in range(2)]
        futures[1].add_done_callback(lambda _: dropped.set())
        assert begun.wait(60)
        raise KeyboardInterrupt
    assert futures[0].result() and futures[1].cancelled()
