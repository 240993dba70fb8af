"""Processes that end when the process that made them does, however that comes about."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
"""The option of prctl by which a process gets a signal when its parent ends."""


def end_with(parent: int) -> None:
    """Have this process end, with code 1 or by a signal, when the thread that made it does."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The parent may have inherited a mask that blocks it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)  # the system would have told it, but the parent had ended already
