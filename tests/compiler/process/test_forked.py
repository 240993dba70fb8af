"""Work in a copy of the process: what comes out, and what becomes of a copy."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from ncc.compiler.process import forked
from tests.compiler.process.processes import PATIENCE, children, has_ended


@pytest.fixture
def meet() -> Iterator[Callable[[], None]]:
    """meet(): this process and its fork wait for each other, the first time that each calls it."""
    own, met = os.getpid(), list[int]()
    ends = socket.socketpair()

    def wait() -> None:
        if os.getpid() not in met:
            met.append(os.getpid())
            end = ends[os.getpid() == own]
            end.settimeout(PATIENCE)
            end.send(b".")
            assert end.recv(1)

    with ends[0], ends[1]:
        yield wait


@pytest.mark.parametrize("fails", [False, True])
def test_a_copy_hands_out_what_its_work_writes(
    fails: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """It ends behind that, with a code, and says nothing else."""
    known = os.urandom(100_000)

    def work(answers: BinaryIO) -> None:
        answers.write(known)
        if fails:
            raise KeyError(signal.getsignal(signal.SIGINT))

    process, answers = forked.forked(work)
    with answers:
        assert answers.read() == known
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == fails
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("blocked", [[], [signal.SIGTERM]], ids=["", "blocked"])
def test_a_copy_ends_with_who_was_copied(blocked: list[int]) -> None:
    """However that ends, and whatever signals it had been left to block."""

    def outer(answers: BinaryIO) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        inner, _ = forked.forked(lambda _: time.sleep(PATIENCE), [answers])
        answers.write(f"{inner}\n".encode())
        answers.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    process, answers = forked.forked(outer)
    with answers:
        inner = answers.readline().decode().strip()
        os.waitpid(process, 0)
    assert has_ended(inner)


def test_each_turn_is_taken_once() -> None:
    """By this process or by a copy."""
    turns = forked.Turns([5, 3, 70000])
    taken = iter(turns)
    assert next(taken) == 5

    def work(answers: BinaryIO) -> None:
        answers.write(str(next(iter(turns))).encode())

    process, answers = forked.forked(work)
    with answers:
        assert answers.read() == b"3"
    os.waitpid(process, 0)
    assert list(taken) == [70000]


def test_two_processes_share_their_work(meet: Callable[[], None]) -> None:
    """Each item is done once, by whoever has time; no copy is left."""
    before = children()

    def work(some: Iterator[str]) -> tuple[int, list[str]]:
        done: list[str] = []
        for item in some:
            meet()
            done.append(item)
        return os.getpid(), done

    (first, mine), (second, theirs) = forked.shared(work, [f"item {n}" for n in range(10)])
    assert os.getpid() == first != second
    assert mine and theirs
    assert sorted(mine + theirs) == [f"item {n}" for n in range(10)]
    assert children() == before


IGNORING = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""

IGNORED = """
from ncc.compiler.process.workers import Workers
with Workers(abs, [1, 2]) as pool:
    print(sorted(pool.results()))
"""


def test_the_end_of_a_fork_is_heard_of_where_nobody_listened() -> None:
    """As in a process that who began it had told to ignore its children."""
    done = subprocess.run(
        [sys.executable, "-c", IGNORING, sys.executable, "-c", IGNORED],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[(1, 1), (2, 2)]\n", "")


def test_turns_are_taken_at_the_same_time(meet: Callable[[], None]) -> None:
    """Each by one process, though both ask for the next one as often as they can."""
    items = range(20_000)

    def work(some: Iterator[int]) -> list[int]:
        meet()
        return list(some)

    mine, theirs = forked.shared(work, items)
    assert sorted(mine + theirs) == list(items)


@pytest.mark.parametrize("here", [False, True])
def test_who_fails_is_heard_of(here: bool, meet: Callable[[], None]) -> None:
    """Whichever of the two it is; no copy is left."""
    before, own = children(), os.getpid()

    def work(some: Iterator[int]) -> int:
        for _ in some:
            meet()
            if (os.getpid() == own) == here:
                raise MemoryError
        return 0

    with pytest.raises(MemoryError if here else ChildProcessError):
        forked.shared(work, range(20))
    assert children() == before
