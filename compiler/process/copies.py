"""Work in copies of this process, one a core, which know all that it knows.

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
from queue import SimpleQueue
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from ncc.compiler.process.forked import Turns, forked
from ncc.runtime import cpu
from ncc.runtime.beside import Beside

MOST = 4
"""Copies of a process: what each needs to begin is not worth more of them."""

Result = TypeVar("Result")

Work: TypeAlias = Callable[[int], Result]
"""Makes what can be pickled of a piece, by its number."""


class CopyEnded(Exception):
    """A copy came to its end, with a code, while it was at work on a piece."""

    def __init__(self, piece: int, code: int) -> None:
        super().__init__(piece, code)
        self.piece, self.code = piece, code


class Copies(Generic[Result]):
    """Copies at work from now on. They end with the block, or with this process.

    No other thread may be at work now: it does not go on in a copy, and what it holds locked
    stays locked there. pieces: in the order in which they are begun.
    """

    def __init__(self, work: Work[Result], pieces: Sequence[int]) -> None:
        self._pieces = pieces
        self._ends: dict[int, BinaryIO] = {}
        """Where the answers of a copy come out, by its process."""
        turns = Turns(pieces)
        # A system that allows no more processes has fewer copies, or none.
        with suppress(OSError):
            for _ in range(min(cpu.cores(), MOST, len(pieces))):
                process, end = forked(partial(_work, work, turns), self._ends.values())
                self._ends[process] = end
        self._answers = SimpleQueue[tuple[int, list[Result]] | None]()
        self._readers = [Beside(partial(self._read, end)) for end in self._ends.values()]

    def __enter__(self) -> Copies[Result]:
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
        So are those of a copy that was killed from outside, as a system without memory does.

        Raises CopyEnded for a piece at which a copy did not return.
        """
        answered = set[int]()
        at_work = len(self._ends)
        while at_work:
            answer = self._answers.get()
            if answer is None:
                at_work -= 1
                continue
            piece, made = answer
            answered.add(piece)
            yield from ((piece, one) for one in made)
        left = [n for n in self._pieces if n not in answered]
        ends = [code for code in self._codes() if code not in (0, -signal.SIGKILL)]
        if left and ends:
            raise CopyEnded(left[0], ends[0])

    def _read(self, end: BinaryIO) -> None:
        """Take all that a copy answers: pieces, and of each one result or none.

        However that ends, who waits for answers is told.
        """
        try:
            with end, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    self._answers.put(pickle.load(end))
        finally:
            self._answers.put(None)

    def _codes(self) -> list[int]:
        """The codes with which the copies end."""
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in self._ends]
        self._ends.clear()
        return codes


def _work(work: Work[Result], pieces: Turns, answers: BinaryIO) -> None:
    """The copy's end: it answers to each piece, until there are no more."""
    for piece in pieces:
        made: list[Result] = []
        # What went wrong is found out by who does this piece again.
        with suppress(Exception):
            made.append(work(piece))
        pickle.dump((piece, made), answers)
        answers.flush()
