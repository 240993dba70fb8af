"""Work in copies of this process."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from ncc.compiler.copies import Copies, CopyEnded


def test_each_piece_is_done_once() -> None:
    """More pieces than copies, answers longer than what a pipe holds; a copy knows what is here."""
    known = {n: bytes([n]) * 100_000 for n in range(20)}
    begun: list[int] = []

    def work(n: int) -> tuple[bytes, int, int]:
        begun.append(n)
        return known[n], os.getpid(), len(begun)

    with Copies(work, range(20)) as copies:
        results = copies.results()
    assert {n: made for n, (made, _, _) in results.items()} == known
    assert os.getpid() not in {process for _, process, _ in results.values()}
    assert sum(count == 1 for _, _, count in results.values()) <= len(os.sched_getaffinity(0))
    assert not begun


def test_pieces_that_raise_are_missing() -> None:
    """The others are there."""
    with Copies(lambda n: 6 // n, [3, 0, 2, 1]) as copies:
        assert copies.results() == {3: 2, 2: 3, 1: 6}


def test_the_end_of_a_copy_is_told_with_the_piece() -> None:
    """A signal ends it, or an answer that cannot be handed over."""

    def work(n: int) -> object:
        if n == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with Copies(work, range(8)) as copies, pytest.raises(CopyEnded) as caught:
        copies.results()
    assert (caught.value.piece, caught.value.code) == (5, -signal.SIGKILL)
    with Copies(lambda n: lambda: n, [7]) as one, pytest.raises(CopyEnded) as caught:
        one.results()
    assert (caught.value.piece, caught.value.code) == (7, 1)


def test_copies_end_with_the_block() -> None:
    """At work or not; nothing is left behind."""
    before = children()
    with Copies(time.sleep, [600]):
        assert len(children()) == len(before) + 1
    assert children() == before
    with Copies(abs, [600]) as copies:
        copies.results()
        assert children() == before


def test_a_system_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made, and nothing fails."""

    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    with Copies(abs, [1, 2]) as copies:
        assert copies.results() == {}


def children() -> list[str]:
    """The processes that this one has started."""
    path = Path("/proc/self/task", str(threading.get_native_id()), "children")
    return path.read_text().split()
