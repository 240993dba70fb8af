"""A pool of worker processes, one for each core: forks of this process, with all its data.

The standard library's pool of processes hands out the work in long pieces: each worker takes the
next piece when it has finished one. The workers are processes because threads would wait for the
interpreter's lock. While the workers make code, this process packs the weights.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import active_children, get_context
from typing import Any, Generic, TypeVar

from ncc.compiler.driver.end_with_parent import end_with
from ncc.runtime import cpu

MOST = 4
"""The most workers of a process: the start of more of them costs more than they save."""

Result = TypeVar("Result")


class WorkerEnded(Exception):
    """A worker ended while it worked on a piece."""

    def __init__(self, piece: int) -> None:
        super().__init__(piece)
        self.piece = piece


class Workers(Generic[Result]):
    """Workers that begin at once, and end with the block or with this process.

    No other thread may be at work now: it does not go on in a fork, and what it holds locked stays
    locked there. work: makes what can be pickled of a piece, by its number. pieces: in the order in
    which they are begun.
    """

    def __init__(self, work: Callable[[int], Result], pieces: Sequence[int]) -> None:
        self._work, self._pieces = work, pieces
        self.count = len(pieces)
        self._pool: ProcessPoolExecutor | None = None
        self._futures: dict[Future[Result], int] = {}
        self._others = {child.pid for child in active_children()}
        """Processes that are none of these workers."""

    def __enter__(self) -> Workers[Result]:
        if self._pieces:
            try:
                self._begin(min(cpu.cores(), MOST, len(self._pieces)), self._pieces)
            except OSError:  # the system allows no more processes
                self._futures.clear()
                self.__exit__()
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers, even in the middle of a piece."""
        if self._pool is not None:
            for child in active_children():
                if child.pid not in self._others:
                    child.kill()
            # Its thread ends, too: the next workers are forks of a process without it.
            self._pool.shutdown(cancel_futures=True)

    def results(self) -> Iterator[tuple[int, Result]]:
        """Each piece with what was made of it, as soon as that is there; nothing where the system
        has no workers.

        Where a worker ends, nobody can tell at which piece it was: those that are left are done one
        by one. Raises what `work` raises, and WorkerEnded for a piece that ends its worker alone.
        """
        begun = set(self._futures.values())
        left = [piece for piece in self._pieces if begun and piece not in begun]
        for future in as_completed(self._futures):
            piece = self._futures[future]
            try:
                result = future.result()
            except BrokenProcessPool:
                left.append(piece)
            else:
                yield piece, result
        for piece in left:
            yield piece, self._alone(piece)

    def _alone(self, piece: int) -> Result:
        assert self._pool is not None
        self._pool.shutdown()  # its thread has ended when this one forks
        try:
            return self._begin(1, [piece])[0].result()
        except BrokenProcessPool as error:
            raise WorkerEnded(piece) from error

    def _begin(self, workers: int, pieces: Sequence[int]) -> list[Future[Result]]:
        self._pool = ProcessPoolExecutor(
            workers,
            get_context("fork"),
            initializer=_begin_work,
            initargs=(self._work, os.getpid()),
        )
        self._futures = {}
        with suppress(BrokenProcessPool):  # a worker has ended meanwhile: `results` does the rest
            for piece in pieces:
                self._futures[self._pool.submit(_do, piece)] = piece
        return list(self._futures)


_at_work: Callable[[int], Any]
"""In a worker: the function that makes a piece."""


def _begin_work(work: Callable[[int], Any], parent: int) -> None:
    global _at_work
    _at_work = work
    # The parent handles an interruption from the terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)


def _do(piece: int) -> Any:
    return _at_work(piece)
