"""Machine code of a network's kernels: from the cache, or made by LLVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.background import background
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.driver.cache import Cache
from ncc.compiler.driver.keys import kernel_key
from ncc.compiler.driver.threads_object import threads_key
from ncc.compiler.driver.workers import WorkerEnded, Workers
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import STAGE, USUAL, emit_object, unmap_code
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.progress import counted
from ncc.compiler.stopwatch import Stopwatch
from ncc.compiler.target import Target
from ncc.dialects.size import assuming

if TYPE_CHECKING:
    from concurrent.futures import Future


class _Part(NamedTuple):
    """One object to make: its key in the cache, its text for LLVM, and the effort."""

    key: str
    text: Callable[[Stopwatch], str]
    effort: int = USUAL


class Objects:
    """Object code for one target: one object a kernel, between those of the threads and of the
    entry point. What the cache has is not made.
    """

    def __init__(
        self, loops: NetworkLoops, target: Target, cache: Cache | None, stopwatch: Stopwatch
    ) -> None:
        self.target, self.cache, self.stopwatch = target, cache, stopwatch
        with stopwatch.timing("look into the cache"):
            self._parts = [
                _Part(threads_key(target), lambda _: threads_text(target)),
                *(self._part(unit.key(), unit.module) for unit in loops.units),
                self._part(loops.entry_key(), loops.entry_module, effort=0),
            ]
            self.keys = tuple(part.key for part in self._parts)
            found = {key: cache.get(key) for key in self.keys} if cache else {}
        self._objects = {key: image for key, image in found.items() if image is not None}
        self._workers: Workers[tuple[bytes, Stopwatch]] | None = None

    @contextmanager
    def made_by_workers(self) -> Iterator[None]:
        """While a block does something else, workers make the objects."""
        # The entry point takes longest and comes first; the threads take least and come last.
        missing = self._missing()
        with Workers(self._made_by_worker, missing[-1:] + missing[:-1]) as self._workers:
            yield

    def all(self) -> tuple[bytes, ...]:
        """The objects, which the cache keeps from now on."""
        if self._workers is not None:
            with self.stopwatch.timing("wait for workers, and keep kernels"):
                self._take_from(self._workers)
        made = self._made_here()
        with self.stopwatch.timing("keep kernels"):
            for n, image in made.items():
                self._take(self._parts[n].key, image)
            if self.cache is not None:
                self.cache.trim()
        return tuple(self._objects[key] for key in self.keys)

    def _part(self, text: str, module: Callable[[], ModuleOp], effort: int = USUAL) -> _Part:
        """One by its module, all of which a text says."""
        return _Part(kernel_key(text, self.target), partial(self._lowered, module), effort)

    def _missing(self) -> list[int]:
        return [n for n, part in enumerate(self._parts) if part.key not in self._objects]

    def _take(self, key: str, image: bytes) -> None:
        self._objects[key] = image
        if self.cache is not None:
            self.cache.put(key, image)

    def _take_from(self, workers: Workers[tuple[bytes, Stopwatch]]) -> None:
        """All that workers can make, while they make the next."""
        try:
            for n, (image, stopwatch) in counted("machine code", workers.results(), workers.count):
                self._take(self._parts[n].key, image)
                self.stopwatch.add(stopwatch)
        except WorkerEnded as end:
            text = self._parts[end.piece].text(self.stopwatch)
            message = "the process that makes this code has ended"
            raise CompilerBug(message, pass_name=STAGE, dump=text) from end

    def _made_by_worker(self, n: int) -> tuple[bytes, Stopwatch]:
        stopwatch = Stopwatch()
        part = self._parts[n]
        return self._emitted(part.text(stopwatch), part.effort, stopwatch), stopwatch

    def _made_here(self) -> dict[int, bytes]:
        """LLVM works in another thread, while this one writes the next kernel."""
        missing = self._missing()
        if not missing:
            return {}
        made: dict[int, Future[bytes]] = {}
        with background() as llvm:
            for n in counted("machine code", missing, len(missing)):
                part = self._parts[n]
                text = part.text(self.stopwatch)
                made[n] = llvm.submit(self._emitted, text, part.effort, self.stopwatch)
            with self.stopwatch.timing("wait for LLVM"):
                images = {n: one.result() for n, one in made.items()}
        unmap_code()
        return images

    def _lowered(self, module: Callable[[], ModuleOp], stopwatch: Stopwatch) -> str:
        with assuming() as assumed:
            with stopwatch.timing("write loops"):
                written = module()
            with stopwatch.timing("lower to LLVM"):
                text = emit_llvm(lower(written, self.target), self.target)
        if assumed:  # nobody would hear of it: the plan, and what it assumes, is made
            what = ", ".join(map(str, assumed))
            raise CompilerBug(f"code takes for granted that {what}", pass_name=STAGE, dump=text)
        return text

    def _emitted(self, text: str, effort: int, stopwatch: Stopwatch) -> bytes:
        with stopwatch.timing("LLVM"):
            return emit_object(text, self.target, effort)
