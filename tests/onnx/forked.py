"""Runs tasks in processes of their own: one that crashes ends no other."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def forked(
    tasks: Sequence[tuple[str, Callable[[], T]]], workers: int, seconds: float
) -> Iterator[tuple[str, T | str]]:
    """The names and results of tasks as they are done; a text says how one ended without any."""
    running: dict[int, tuple[str, int, float]] = {}
    waiting = list(tasks)[::-1]
    while waiting or running:
        while waiting and len(running) < workers:
            name, task = waiting.pop()
            pid, reader = _begun(task)
            running[pid] = name, reader, time.monotonic()
        time.sleep(0.01)
        for pid, (name, reader, began) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and time.monotonic() - began < seconds:
                continue
            if not ended:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
            del running[pid]
            with os.fdopen(reader, "rb") as pipe:
                data = pipe.read()
            crash = f"crashed with {status}" if ended else f"took {seconds} seconds"
            yield name, pickle.loads(data) if data else crash


def _begun(task: Callable[[], T]) -> tuple[int, int]:
    """A process, and the end of a pipe that its result comes from."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            data = pickle.dumps(task())
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(data)
        finally:
            os._exit(0)
    os.close(writer)
    return pid, reader
