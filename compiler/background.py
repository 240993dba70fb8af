"""Work in a second thread, for what does not hold the lock of the interpreter: LLVM, packing.

    with background() as thread:
        packed = thread.submit(pack, part)
        ...                                     this thread does something else
        packed.result()

Work in Python goes to processes (`driver/workers.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor


@contextmanager
def background() -> Iterator[Executor]:
    """A thread that ends with the block. An interruption drops work that has not begun."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    thread = ThreadPoolExecutor(1)
    interrupted = True
    try:
        yield thread
        interrupted = False
    finally:
        thread.shutdown(cancel_futures=interrupted)
