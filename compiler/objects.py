"""Machine code of a network's kernels: from the cache, or made by LLVM."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cache import Cache, key_of
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import USUAL, EmitObject, emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.network import Loops
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.target import Target

IN_LLVM = "LLVM, beside"
"""What a stopwatch calls the one stage that runs beside others."""


@dataclass(frozen=True)
class _Part:
    """What becomes one object: LLVM's text, a key that is equal for equal texts, LLVM's effort."""

    key: str
    text: Callable[[], str]
    effort: int = USUAL


class Objects:
    """Object code for one target, looked up in a cache where there is one.

    emit: makes it; by default in this process.
    """

    def __init__(
        self,
        target: Target,
        cache: Cache | None,
        stopwatch: Stopwatch,
        emit: EmitObject | None = None,
    ) -> None:
        self.target, self.cache, self.timing = target, cache, stopwatch.timing
        self._emit = emit or emit_object

    def of(self, loops: Loops) -> tuple[tuple[str, ...], tuple[bytes, ...]]:
        """Keys in the cache, and machine code.

        One object a kernel, between those of the threads and of the entry point.

        LLVM works in another thread, or process, while this one writes the next kernel. The text of
        the threads is there at once; the entry point takes long to be written and LLVM next to no
        time, so it is written while LLVM does the last kernels.
        """
        parts = [
            _Part(threads_text(), threads_text),
            *(_Part(unit.key(), partial(self._text, unit.module)) for unit in loops.units),
            _Part(loops.entry_key(), partial(self._text, loops.entry_module), effort=0),
        ]
        with self.timing("look into the cache"):
            keys = tuple(key_of(part.key, self.target) for part in parts)
        with ThreadPoolExecutor(1) as llvm:
            made = [self._object(llvm, key, part) for key, part in zip(keys, parts, strict=True)]
            with self.timing("wait for LLVM"):
                objects = tuple(one if isinstance(one, bytes) else one.result() for one in made)
        if self.cache is not None:
            # Not by LLVM's thread, which would wait for the interpreter's lock at every file.
            with self.timing("keep kernels"):
                for key, one, image in zip(keys, made, objects, strict=True):
                    if not isinstance(one, bytes):
                        self.cache.put(key, image)
                self.cache.trim()
        return keys, objects

    def _text(self, module: Callable[[], ModuleOp]) -> str:
        with self.timing("write loops"):
            written = module()
        with self.timing("lower to LLVM"):
            return emit_llvm(lower(written, self.target), self.target)

    def _object(self, llvm: Executor, key: str, part: _Part) -> bytes | Future[bytes]:
        """The object of a part, whose text is only asked for where the cache has no object."""
        with self.timing("look into the cache"):
            found = self.cache.get(key) if self.cache is not None else None
        return llvm.submit(self._emitted, part.text(), part.effort) if found is None else found

    def _emitted(self, text: str, effort: int) -> bytes:
        with self.timing(IN_LLVM):
            return self._emit(text, self.target, effort)
