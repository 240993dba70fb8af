"""Calls in threads of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from threading import Event, get_ident

import pytest

from ncc.runtime.beside import Beside, shared


def test_a_call_goes_on_beside_its_caller() -> None:
    """It has begun when it is made, and its result is waited for."""
    go, begun = Event(), Event()

    def call() -> str:
        begun.set()
        assert go.wait(60)
        return "done"

    beside = Beside(call)
    assert begun.wait(60)
    go.set()
    assert beside.result() == beside.result() == "done"


def test_what_a_call_raises_comes_with_its_result() -> None:
    """Whatever it is."""

    def call() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Beside(call).result()


def test_a_thread_without_room_is_short_of_memory() -> None:
    """What Python raises would be taken for a mistake."""
    usual = threading.stack_size(1 << 46)
    try:
        with pytest.raises(MemoryError, match="can't start new thread, or no more are allowed"):
            Beside(time.time)
    finally:
        threading.stack_size(usual)


def test_two_share_their_work() -> None:
    """Each item is done once, by whoever has time: also when one is at its first for long."""
    others_done = Event()
    done: dict[int, int] = {}

    def work(some: Iterator[int]) -> list[int]:
        mine: list[int] = []
        for item in some:
            if item == 0:
                assert others_done.wait(60)
            done[item] = get_ident()
            mine.append(item)
            if len(done) == 9:
                others_done.set()
        return mine

    first, second = shared(work, range(10))
    assert sorted(first + second) == list(range(10))
    assert sorted(done) == list(range(10))
    assert done[0] not in [done[item] for item in range(1, 10)]


def test_who_fails_stops_the_other() -> None:
    """Who has asked for the work hears of it, whichever of the two it was."""
    begun: list[int] = []

    def work(some: Iterator[int]) -> None:
        for item in some:
            begun.append(item)
            if item == 7:
                raise KeyboardInterrupt
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        shared(work, range(100_000))
    assert 7 in begun and len(begun) < 50_000
