"""Python's settings during a compilation: no garbage collection, and fast switches of threads."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_SECONDS = 0.0002
"""How long one thread of a compilation keeps the interpreter's lock from the other."""


class PythonSettings:
    """Python's settings while anything is compiled, by one thread or by several.

    The IR has many objects and no garbage worth looking for: without collection a quarter of the
    time is saved. LLVM's thread needs the interpreter's lock for a moment between two calls, and
    waits a whole switch interval for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compiling = 0
        self._before = (True, 0.0)

    @contextmanager
    def tuned(self) -> Iterator[None]:
        """Apply the settings in a `with` block; blocks of other threads may overlap."""
        with self._lock:
            if not self._compiling:
                self._before = gc.isenabled(), sys.getswitchinterval()
                gc.disable()
                sys.setswitchinterval(SWITCH_SECONDS)
            self._compiling += 1
        try:
            yield
        finally:
            with self._lock:
                self._compiling -= 1
                if not self._compiling:
                    enabled, interval = self._before
                    sys.setswitchinterval(interval)
                    if enabled:
                        gc.enable()


PYTHON = PythonSettings()
"""The settings of this process."""
