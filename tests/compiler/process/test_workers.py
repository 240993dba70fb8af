"""Work in forks of this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from queue import SimpleQueue

import pytest

from ncc.compiler.process import workers
from ncc.compiler.process.workers import WorkerEnded, Workers
from ncc.runtime import cpu
from tests.compiler.process.processes import PATIENCE, children, has_ended


def test_each_piece_is_done_once() -> None:
    """More pieces than workers, answers longer than a pipe holds; a worker knows what is here."""
    known = {n: bytes([n]) * 100_000 for n in range(20)}
    begun: list[int] = []

    def work(n: int) -> tuple[bytes, int, int]:
        begun.append(n)
        return known[n], os.getpid(), len(begun)

    with Workers(work, range(20)) as pool:
        results = dict(pool.results())
    assert {n: made for n, (made, _, _) in results.items()} == known
    assert os.getpid() not in {process for _, process, _ in results.values()}
    assert sum(count == 1 for _, _, count in results.values()) <= len(os.sched_getaffinity(0))
    assert not begun


def test_no_more_workers_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU quota counts as a core less."""
    monkeypatch.setattr(cpu, "cores", lambda: 1)
    before = children()
    with Workers(abs, range(3)) as pool:
        assert len(children()) == len(before) + 1
        assert len(dict(pool.results())) == 3


def test_pieces_that_raise_are_missing() -> None:
    """The others are there."""
    with Workers(lambda n: 6 // n, [3, 0, 2, 1]) as pool:
        assert dict(pool.results()) == {3: 2, 2: 3, 1: 6}


def test_the_end_of_a_worker_is_told_with_the_piece() -> None:
    """A signal ends it, or an answer that cannot be handed over."""

    def work(n: int) -> object:
        if n == 5:
            os.kill(os.getpid(), signal.SIGTRAP)
        return n

    with Workers(work, range(8)) as pool, pytest.raises(WorkerEnded) as caught:
        list(pool.results())
    assert (caught.value.piece, caught.value.code) == (5, -signal.SIGTRAP)
    with Workers(lambda n: lambda: n, [7]) as one, pytest.raises(WorkerEnded) as caught:
        list(one.results())
    assert (caught.value.piece, caught.value.code) == (7, 1)


def test_pieces_of_workers_that_are_killed_are_missing() -> None:
    """Nobody else's are."""

    def work(n: int) -> int:
        if n == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with Workers(work, [0, 1, 5]) as pool:
        assert dict(pool.results()) == {0: 0, 1: 1}


class Unreadable:
    """An answer that fails where it is read, as a large one does that memory has no room for."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return raise_memory_error, ("no room",)


def raise_memory_error(why: str) -> None:
    raise MemoryError(why)


def test_an_answer_that_cannot_be_read_is_not_waited_for() -> None:
    """Why it cannot is told when the workers have ended."""
    with pytest.raises(MemoryError, match="no room"), Workers(lambda n: Unreadable(), [1]) as pool:
        list(pool.results())


def test_readers_that_cannot_say_that_they_end_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where no memory is left for an answer, nor for that there are no more."""

    class Full(SimpleQueue[object]):
        def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
            raise MemoryError("no room")

    monkeypatch.setattr(workers, "SimpleQueue", Full)
    monkeypatch.setattr(workers, "LOOK_AGAIN", 0.01)
    with pytest.raises(MemoryError, match="no room"), Workers(abs, range(3)) as pool:
        list(pool.results())


def test_a_system_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is left behind."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = children()
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(MemoryError, match="can't start"):
        Workers(time.sleep, [PATIENCE])
    assert children() == before


def test_workers_end_with_the_block() -> None:
    """At work or not; nothing is left behind."""
    before = children()
    with Workers(time.sleep, [PATIENCE]):
        assert len(children()) == len(before) + 1
    assert children() == before
    with Workers(abs, [600]) as pool:
        list(pool.results())
        assert children() == before


ORPHANS = """
import os, time
from ncc.compiler.process.workers import Workers
with Workers(lambda n: bytes(1 << 20), range(1000)) as pool:
    print(*pool._ends, flush=True)
    time.sleep(600)
"""


def test_workers_end_with_their_process() -> None:
    """However that ends, and however much they still have to do."""
    process = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = process.stdout.readline().split()
    assert workers
    process.kill()
    process.communicate()
    assert all(map(has_ended, workers))


def test_a_system_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made, and nothing fails."""

    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    with Workers(abs, [1, 2]) as pool:
        assert dict(pool.results()) == {}
