"""A fork of this process for some work: it knows all that this one knows, and ends behind it."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_NUMBER = struct.Struct("<I")

_PR_SET_PDEATHSIG = 1
"""The option of prctl by which a process gets a signal when its parent ends."""

_libc = ctypes.CDLL(None)


class Turns:
    """A queue of numbers for this process and its forks: each number is taken by one of them."""

    def __init__(self, numbers: Iterable[int]) -> None:
        # Who reads of one open file moves the place of all; that of a file in memory is not moved
        # in one step with the reading, so that two could read at one place without a lock.
        self._order = open(os.memfd_create("turns"), "w+b", buffering=0)
        self._order.write(b"".join(map(_NUMBER.pack, numbers)))
        self._order.seek(0)

    def __iter__(self) -> Iterator[int]:
        while number := self._take():
            yield from _NUMBER.unpack(number)

    def _take(self) -> bytes:
        """The next number, or nothing. The lock is the process's, and gone when that ends."""
        fcntl.lockf(self._order, fcntl.LOCK_EX)
        try:
            return self._order.read(_NUMBER.size)
        finally:
            fcntl.lockf(self._order, fcntl.LOCK_UN)


def end_with(parent: int) -> None:
    """Have this process end, with code 1 or by a signal, when the thread that made it does."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Who began the parent may have left it blocked.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)  # the system would have told it, but the parent had ended already


def forked(
    work: Callable[[BinaryIO], None], others: Iterable[BinaryIO] = ()
) -> tuple[int, BinaryIO]:
    """The number of a forked process, and the pipe that its work writes to. It ends with code 0, or
    1 where the work failed; and when this thread does.

    No other thread may be at work now: it does not go on in a fork, and what it holds locked
    stays locked there. others: ends of pipes that are none of the fork's business.

    Raises OSError where the system allows no more processes.
    """
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # So who began this process may have left it: nobody would know how a fork ends, nor when.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    parent = os.getpid()
    out, into = os.pipe()
    try:
        with warnings.catch_warnings():
            # Python 3.12 warns of any threads. Those that numpy has wait for work.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
    except OSError:
        os.close(out)
        os.close(into)
        raise
    if process:
        os.close(into)
        return process, open(out, "rb")
    code = 1
    try:
        # An interruption from the terminal is the business of the parent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Nobody but the parent takes answers: a fork ends when the parent has ended.
        os.close(out)
        end_with(parent)
        for end in others:
            end.close()
        with open(into, "wb") as answers:
            work(answers)
        code = 0
    finally:
        # Nothing is cleared up, nor written, that is also the other's.
        os._exit(code)


def shared(work: Callable[[Iterator[T]], R], items: Sequence[T]) -> list[R]:
    """What `ncc.runtime.beside.shared` does, by a fork in place of a thread, which would wait for
    this one between any two steps that Python takes.

    No other thread may be at work now, and results can be pickled. Raises OSError where the system
    allows no more processes, or the fork fails; the work is not done then.
    """
    import pickle

    turns = Turns(range(len(items)))

    def mine() -> R:
        return work(items[number] for number in turns)

    process, answers = forked(lambda answers: pickle.dump(mine(), answers))
    try:
        with answers:
            return [mine(), pickle.load(answers)]
    except EOFError:
        raise ChildProcessError("a fork of this process has failed") from None
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
