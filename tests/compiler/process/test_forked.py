"""Work in a copy of the process: what comes out, and what becomes of a copy."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from ncc.compiler.process import forked


def children() -> set[str]:
    """Processes that this one has begun, and not seen end."""
    threads = Path("/proc/self/task").glob("*/children")
    return {child for thread in threads for child in thread.read_text().split()}


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


def test_a_copy_ends_with_who_was_copied() -> None:
    """However that ends."""

    def outer(answers: BinaryIO) -> None:
        inner, _ = forked.forked(lambda _: time.sleep(60), [answers])
        answers.write(f"{inner}\n".encode())
        answers.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    process, answers = forked.forked(outer)
    with answers:
        inner = Path("/proc", answers.readline().decode().strip(), "stat")
        os.waitpid(process, 0)
        deadline = time.monotonic() + 10
        while inner.exists() and inner.read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.001)


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


def test_two_processes_share_their_work() -> None:
    """Each item is done once, by whoever has time; no copy is left."""
    before = children()

    def work(some: Iterator[str]) -> tuple[int, list[str]]:
        done: list[str] = []
        for item in some:
            time.sleep(0.01)
            done.append(item)
        return os.getpid(), done

    (first, mine), (second, theirs) = forked.shared(work, [f"item {n}" for n in range(10)])
    assert os.getpid() == first != second
    assert mine and theirs
    assert sorted(mine + theirs) == [f"item {n}" for n in range(10)]
    assert children() == before


def test_turns_are_taken_at_the_same_time() -> None:
    """Each by one process, though both ask for the next one as often as they can."""
    items = range(20_000)

    def work(some: Iterator[int]) -> list[int]:
        time.sleep(0.1)  # until the other has begun, too
        return list(some)

    mine, theirs = forked.shared(work, items)
    assert sorted(mine + theirs) == list(items)


@pytest.mark.parametrize("here", [False, True])
def test_who_fails_is_heard_of(here: bool) -> None:
    """Whichever of the two it is; no copy is left."""
    before, own = children(), os.getpid()

    def work(some: Iterator[int]) -> int:
        for _ in some:
            if (os.getpid() == own) == here:
                raise MemoryError
            time.sleep(0.01)
        return 0

    with pytest.raises(MemoryError if here else ChildProcessError):
        forked.shared(work, range(20))
    assert children() == before
