"""Machine code of a network, made here or by workers."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.driver import objects
from ncc.compiler.driver.cache import Cache
from ncc.compiler.driver.objects import Objects
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.stopwatch import Stopwatch

TARGET = Options.of(target="avx2").target

NETWORK = """7767517
4 4
Input data 0 1 data 0=20 1=18 2=3
Convolution conv 1 1 data c 0=8 1=3 5=1 6=216
Pooling mean 1 1 c m 0=1 4=1
Softmax prob 1 1 m prob 0=0
"""


@pytest.fixture
def loops(tmp_path: Path) -> NetworkLoops:
    """Three kernels and more."""
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    compilation = Compilation(path, None, Options.of(target="avx2", random_weights=1))
    return compilation.loops(*compilation.planned)


def by_workers(loops: NetworkLoops, cache: Cache | None = None) -> tuple[bytes, ...]:
    made = Objects(loops, TARGET, cache, Stopwatch())
    with made.made_by_workers():
        return made.all()


def test_copies_make_the_same(loops: NetworkLoops, tmp_path: Path) -> None:
    """Bit by bit, with some from a cache or none, which has all of them then."""
    here = Objects(loops, TARGET, None, Stopwatch())
    wanted = here.all()
    assert by_workers(loops) == wanted
    cache = Cache(tmp_path)
    cache.put(here.keys[1], wanted[1])
    assert by_workers(loops, cache) == wanted
    assert tuple(map(cache.get, here.keys)) == wanted


def test_what_copies_do_is_timed(loops: NetworkLoops) -> None:
    """The stages of all of them, added up."""
    stopwatch = Stopwatch()
    made = Objects(loops, TARGET, None, stopwatch)
    with made.made_by_workers():
        made.all()
    assert min(stopwatch.seconds[what] for what in ("write loops", "lower to LLVM", "LLVM")) > 0


def test_what_a_copy_raises_is_raised(loops: NetworkLoops, monkeypatch: pytest.MonkeyPatch) -> None:
    """By this process, with all that it carries."""

    def refuse(text: str, *_: object) -> bytes:
        raise CompilerBug("no", dump=text)

    monkeypatch.setattr(objects, "emit_object", refuse)
    with pytest.raises(CompilerBug, match="no") as caught:
        by_workers(loops)
    assert "define " in str(caught.value.dump)


def test_the_end_of_a_copy_is_a_bug_with_the_text(
    loops: NetworkLoops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM does not refuse all that it cannot do: some is its end, and that of its process."""

    def end(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTRAP)

    monkeypatch.setattr(objects, "emit_object", end)
    with pytest.raises(CompilerBug, match="the process that makes this code has ended") as caught:
        by_workers(loops)
    assert "define " in str(caught.value.dump)


def test_parts_of_copies_that_are_killed_are_made_again(
    loops: NetworkLoops, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where memory is short, the system ends those that have much of it."""
    killed, wanted = tmp_path / "killed", Objects(loops, TARGET, None, Stopwatch()).all()

    def emitted(text: str, *given: Any) -> bytes:
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return emit_object(text, *given)

    monkeypatch.setattr(objects, "emit_object", emitted)
    assert by_workers(loops) == wanted


def test_an_interrupt_drops_what_waits_for_llvm(
    loops: NetworkLoops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels that are written and not begun are not made any more: Ctrl-C ends a command."""
    texts, emitted, dropped = list[str](), list[str](), Event()
    cancel = Future.cancel

    def interrupted(*given: Any) -> str:
        texts.append(emit_llvm(*given))
        if len(texts) == 3:
            raise KeyboardInterrupt
        return texts[-1]

    def emit_when_dropped(text: str, *_: object) -> bytes:
        emitted.append(text)
        dropped.wait(60)
        return b""

    def noted(future: Future[bytes]) -> bool:
        dropped.set()
        return cancel(future)

    monkeypatch.setattr(objects, "emit_llvm", interrupted)
    monkeypatch.setattr(objects, "emit_object", emit_when_dropped)
    monkeypatch.setattr(Future, "cancel", noted)
    with pytest.raises(KeyboardInterrupt):
        Objects(loops, TARGET, None, Stopwatch()).all()
    assert len(emitted) <= 1
