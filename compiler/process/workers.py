"""A pool of worker processes, one a core: forks of this process, which know all that it knows.

Python uses one core at a time. What is long and falls into pieces is done by forks of the process
instead: each takes the next piece when it is done with one, so that all cores work until the end.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from ncc.compiler.process.forked import Turns, forked
from ncc.runtime import cpu
from ncc.runtime.beside import Beside

MOST = 4
"""Workers of a process: what each needs to begin is not worth more of them."""

LOOK_AGAIN = 1.0
"""Seconds after which it is asked whether those who read answers are still there."""

Result = TypeVar("Result")

Work: TypeAlias = Callable[[int], Result]
"""Makes what can be pickled of a piece, by its number."""


class WorkerEnded(Exception):
    """A worker came to its end, with a code, while it was at work on a piece."""

    def __init__(self, piece: int, code: int) -> None:
        super().__init__(piece, code)
        self.piece, self.code = piece, code


class Workers(Generic[Result]):
    """Workers that begin at once. They end with the block, or with this process.

    No other thread may be at work now: it does not go on in a fork, and what it holds locked
    stays locked there. pieces: in the order in which they are begun.
    """

    def __init__(self, work: Work[Result], pieces: Sequence[int]) -> None:
        self._pieces = pieces
        self._ends: dict[int, BinaryIO] = {}
        """Where the answers of a worker come out, by its process."""
        turns = Turns(pieces)
        # A system that allows no more processes has fewer workers, or none.
        with suppress(OSError):
            for _ in range(min(cpu.cores(), MOST, len(pieces))):
                process, end = forked(partial(_work, work, turns), self._ends.values())
                self._ends[process] = end
        self._answers = SimpleQueue[tuple[int, list[Result]] | None]()
        self._readers: list[Beside[None]] = []
        try:
            for end in self._ends.values():
                self._readers.append(Beside(partial(self._read, end)))
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Workers[Result]:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._ends:
            os.kill(process, signal.SIGKILL)
        self._codes()
        for reader in self._readers:
            reader.result()

    def results(self) -> Iterator[tuple[int, Result]]:
        """Pieces, and what was made of them, as they come.

        Pieces that raised an exception are missing: this process has to do them, and will find out.
        So are those of a worker that was killed from outside, as a system without memory does.

        Raises WorkerEnded for a piece at which a worker did not return, and what an answer raised
        where it was read.
        """
        answered = set[int]()
        for piece, made in self._come():
            answered.add(piece)
            yield from ((piece, one) for one in made)
        for reader in self._readers:
            reader.result()
        left = [n for n in self._pieces if n not in answered]
        ends = [code for code in self._codes() if code not in (0, -signal.SIGKILL)]
        if left and ends:
            raise WorkerEnded(left[0], ends[0])

    def _come(self) -> Iterator[tuple[int, list[Result]]]:
        """All answers. A reader says when there are no more, if memory has room for that."""
        reading = len(self._readers)
        while reading:
            try:
                answer = self._answers.get(timeout=LOOK_AGAIN)
            except Empty:
                if all(reader.is_done for reader in self._readers) and self._answers.empty():
                    return
            else:
                if answer is None:
                    reading -= 1
                else:
                    yield answer

    def _read(self, end: BinaryIO) -> None:
        """Take all that a worker answers: pieces, and of each one result or none."""
        try:
            with end, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    self._answers.put(pickle.load(end))
        finally:
            self._answers.put(None)

    def _codes(self) -> list[int]:
        """The codes with which the workers end."""
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in self._ends]
        self._ends.clear()
        return codes


def _work(work: Work[Result], pieces: Turns, answers: BinaryIO) -> None:
    """The worker's end: it answers to each piece, until there are no more."""
    for piece in pieces:
        made: list[Result] = []
        # What went wrong is found out by who does this piece again.
        with suppress(Exception):
            made.append(work(piece))
        pickle.dump((piece, made), answers)
        answers.flush()
