"""The threads of one run: the caller's, and workers that wait inside compiled code in between.

The workers are Python threads of which each makes a single call, `ncc_worker`, that returns when
the team is dissolved. The call does not hold the interpreter's lock, and an idle worker sleeps in
the kernel. The native half is in ncc.compiler.llvm.threads.

After a fork the child has none of the workers. A team knows that (`lost`), and its owner makes a
new one; a child that is forked from within a run cannot finish that run.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Callable

from ncc.runtime.errors import NccError
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory

# Where the maker of a pool writes how many threads, buffers and numbers there are (int64). All else
# in it, and in the state of runs, is zero at first and belongs to the compiled code: the version of
# the message of a launch, the message itself, and a copy of it for each worker.
POOL_THREADS, POOL_BUFFERS, POOL_NUMBERS, POOL_VERSION, MESSAGE = 16, 24, 32, 64, 128

_RUN_ALONE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_LAUNCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def state_bytes(threads: int) -> int:
    """The size of the state of runs: counters, and a cache line for the share of each thread."""
    return 64 + 64 * threads


def pool_bytes(threads: int, buffers: int, numbers: int) -> int:
    """The size of a pool for runs with so many buffers, and numbers that depend on shapes."""
    return MESSAGE + threads * (-(-8 * (1 + buffers + numbers) // 64) * 64)


_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class Team:
    """Runs `code` on a fixed number of threads, one run at a time.

    run(array): one run; `array` is the address of an array of so many pointers to buffers. numbers:
    how many the run tells that depend on shapes.
    A run does not wait for workers that come late, which then look at its state: `kept` is what
    owns the states of all runs.
    A team of one starts no thread. Workers end with `dissolve`, when the team is forgotten, or
    when the interpreter exits, whichever comes first; code and `kept` stay until they have.
    """

    def __init__(
        self, code: MachineCode, threads: int, kept: object, buffers: int, numbers: int = 0
    ) -> None:
        self.threads = threads
        self.run: Callable[[int], None]
        self._code, self._kept = code, kept
        self._born = _forks
        self._finish: weakref.finalize[..., Team] | None = None
        if threads == 1:
            self.run = _RUN_ALONE(code.address("ncc_run_alone"))
            return
        pool = Memory(pool_bytes(threads, buffers, numbers))
        counts = (ctypes.c_int64 * 3).from_address(pool.address + POOL_THREADS)
        counts[:] = [threads, buffers, numbers]
        workers = [
            threading.Thread(
                target=_work, args=(code, pool, kept, tid), name=f"ncc-{tid}", daemon=True
            )
            for tid in range(1, threads)
        ]
        self._finish = weakref.finalize(self, _dissolve, code, pool, workers)
        try:
            for worker in workers:
                worker.start()
        except RuntimeError as error:
            self.dissolve()
            raise NccError(f"cannot run on {threads} threads: {error}") from error
        # A run may begin when the team has been dissolved, at the end of the interpreter.
        self._pool = pool
        self.run = functools.partial(_LAUNCH(code.address("ncc_launch")), pool.address)

    @property
    def lost(self) -> bool:
        """Whether the workers are gone: the team is dissolved, or this is the child of a fork."""
        if self._finish is None:
            return False
        return self._born != _forks or not self._finish.alive

    def dissolve(self) -> None:
        """End the workers and wait for them. The team cannot run any more."""
        if self._finish is not None:
            self._finish()


def _work(code: MachineCode, pool: Memory, kept: object, tid: int) -> None:
    """The main function of a worker. It refers to all that it uses, so that nothing is unmapped."""
    _WORKER(code.address("ncc_worker"))(pool.address, tid)


def _dissolve(code: MachineCode, pool: Memory, workers: list[threading.Thread]) -> None:
    _STOP(code.address("ncc_stop"))(pool.address)
    for worker in workers:
        # Not started, when the system had no more threads to give; itself, when the garbage
        # collector happened to run on a worker that is just leaving.
        if worker.ident is not None and worker is not threading.current_thread():
            worker.join()
