"""Work in copies of this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ncc.compiler.process.copies import Copies, CopyEnded
from ncc.runtime import cpu


def test_each_piece_is_done_once() -> None:
    """More pieces than copies, answers longer than what a pipe holds; a copy knows what is here."""
    known = {n: bytes([n]) * 100_000 for n in range(20)}
    begun: list[int] = []

    def work(n: int) -> tuple[bytes, int, int]:
        begun.append(n)
        return known[n], os.getpid(), len(begun)

    with Copies(work, range(20)) as copies:
        results = dict(copies.results())
    assert {n: made for n, (made, _, _) in results.items()} == known
    assert os.getpid() not in {process for _, process, _ in results.values()}
    assert sum(count == 1 for _, _, count in results.values()) <= len(os.sched_getaffinity(0))
    assert not begun


def test_no_more_copies_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU quota counts as a core less."""
    monkeypatch.setattr(cpu, "cores", lambda: 1)
    before = children()
    with Copies(abs, range(3)) as copies:
        assert len(children()) == len(before) + 1
        assert len(dict(copies.results())) == 3


def test_pieces_that_raise_are_missing() -> None:
    """The others are there."""
    with Copies(lambda n: 6 // n, [3, 0, 2, 1]) as copies:
        assert dict(copies.results()) == {3: 2, 2: 3, 1: 6}


def test_the_end_of_a_copy_is_told_with_the_piece() -> None:
    """A signal ends it, or an answer that cannot be handed over."""

    def work(n: int) -> object:
        if n == 5:
            os.kill(os.getpid(), signal.SIGTRAP)
        return n

    with Copies(work, range(8)) as copies, pytest.raises(CopyEnded) as caught:
        list(copies.results())
    assert (caught.value.piece, caught.value.code) == (5, -signal.SIGTRAP)
    with Copies(lambda n: lambda: n, [7]) as one, pytest.raises(CopyEnded) as caught:
        list(one.results())
    assert (caught.value.piece, caught.value.code) == (7, 1)


def test_pieces_of_copies_that_are_killed_are_missing() -> None:
    """Nobody else's are."""

    def work(n: int) -> int:
        if n == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with Copies(work, [0, 1, 5]) as copies:
        assert dict(copies.results()) == {0: 0, 1: 1}


class Unreadable:
    """An answer that fails where it is read, as a large one does that memory has no room for."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return raise_memory_error, ("no room",)


def raise_memory_error(why: str) -> None:
    raise MemoryError(why)


def test_an_answer_that_cannot_be_read_is_not_waited_for() -> None:
    """Why it cannot is told when the copies have ended."""
    with pytest.raises(MemoryError, match="no room"), Copies(lambda n: Unreadable(), [1]) as copies:
        list(copies.results())


def test_copies_end_with_the_block() -> None:
    """At work or not; nothing is left behind."""
    before = children()
    with Copies(time.sleep, [600]):
        assert len(children()) == len(before) + 1
    assert children() == before
    with Copies(abs, [600]) as copies:
        list(copies.results())
        assert children() == before


ORPHANS = """
import os, time
from ncc.compiler.process.copies import Copies
with Copies(lambda n: bytes(1 << 20), range(1000)) as copies:
    print(*copies._ends, flush=True)
    time.sleep(600)
"""


def test_copies_end_with_their_process() -> None:
    """However that ends, and however much they still have to do."""
    process = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    copies = process.stdout.readline().split()
    assert copies
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while any(map(is_at_work, copies)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_at_work, copies))


def test_a_system_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made, and nothing fails."""

    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    with Copies(abs, [1, 2]) as copies:
        assert dict(copies.results()) == {}


def children() -> list[str]:
    """The processes that this one has started."""
    path = Path("/proc/self/task", str(threading.get_native_id()), "children")
    return path.read_text().split()


def is_at_work(process: str) -> bool:
    """Whether a process is there and not just waited for."""
    try:
        status = Path("/proc", process, "stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
