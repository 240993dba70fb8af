"""Work in forks of this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from ncc.compiler.driver import workers
from ncc.compiler.driver.workers import WorkerEnded, Workers
from ncc.runtime import cpu
from tests.compiler.driver.processes import PATIENCE, children, has_ended


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


def test_what_a_piece_raises_is_raised() -> None:
    """By the process that has the workers."""
    with pytest.raises(ZeroDivisionError), Workers(lambda n: 6 // n, [3, 0, 2, 1]) as pool:
        list(pool.results())


def test_the_end_of_a_worker_is_told_with_the_piece() -> None:
    """Its neighbours are done all the same, each by a new worker."""
    done = set()

    def work(n: int) -> object:
        if n == 7:
            os.kill(os.getpid(), signal.SIGTRAP)
        return n

    with Workers(work, range(8)) as pool, pytest.raises(WorkerEnded) as caught:
        for piece, _ in pool.results():
            done.add(piece)
    assert caught.value.piece == 7 and done == set(range(7))


def test_a_piece_whose_worker_was_killed_is_done_again(tmp_path: Path) -> None:
    """Where memory is short, the system ends processes that have much of it."""
    killed = tmp_path / "killed"

    def work(n: int) -> int:
        if n == 5 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with Workers(work, [0, 1, 5]) as pool:
        assert dict(pool.results()) == {0: 0, 1: 1, 5: 5}


def test_a_worker_may_end_before_all_pieces_are_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool takes no more pieces then: they are done like those that it had taken."""
    killed = tmp_path / "killed"

    def work(n: int) -> int:
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    class Slow(ProcessPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn, *args, **kwargs)
            wait([future])
            return future

    monkeypatch.setattr(workers, "ProcessPoolExecutor", Slow)
    with Workers(work, range(5)) as pool:
        assert dict(pool.results()) == {n: n for n in range(5)}


def test_an_answer_that_cannot_be_handed_over_is_an_error() -> None:
    """It is no answer of nothing."""
    with pytest.raises(Exception, match="pickle|local"), Workers(lambda n: lambda: n, [7]) as pool:
        list(pool.results())


def test_workers_end_with_the_block() -> None:
    """At work or not; nothing is left behind."""
    before = children()
    with Workers(time.sleep, [PATIENCE]):
        assert len(children()) == len(before) + 1
    assert all(map(has_ended, children() - before))
    with Workers(abs, [600]) as pool:
        list(pool.results())
    assert all(map(has_ended, children() - before))


def test_no_thread_is_left_that_the_next_workers_would_inherit() -> None:
    """Neither when all is done, nor when some is not."""
    before = threading.active_count()
    with Workers(abs, range(5)) as pool:
        list(pool.results())
    with Workers(time.sleep, [PATIENCE] * 3):
        pass
    assert threading.active_count() == before


def test_other_processes_go_on() -> None:
    """Those that a program has begun by the same library."""
    other = get_context("fork").Process(target=time.sleep, args=(PATIENCE,))
    other.start()
    with Workers(abs, [1]) as pool:
        list(pool.results())
    assert other.is_alive()
    other.kill()
    other.join()


ORPHANS = """
import os, time
from multiprocessing import active_children
from ncc.compiler.driver.workers import Workers
with Workers(lambda n: bytes(1 << 20), range(1000)) as pool:
    print(*(p.pid for p in active_children()), flush=True)
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
