"""A team of threads: what it starts, what it ends, and what it survives."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

import pytest

from ncc.runtime import threads
from ncc.runtime.errors import NccError
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.threads import Team, state_bytes

MARK = """
define void @run(ptr %buffers, i64 %tid, i64 %threads) {
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %mine = getelementptr i64, ptr %cells, i64 %tid
  store i64 %threads, ptr %mine
  ret void
}
"""


@pytest.fixture
def code(assemble: object, threads_object: bytes) -> MachineCode:
    """Every thread stores the number of threads in its cell."""
    assert callable(assemble)
    return MachineCode([assemble(MARK), threads_object])


def marks(team: Team) -> list[int]:
    """The cells after one run."""
    state, cells = Memory(state_bytes(8)), Memory(4096)
    table = (ctypes.c_void_p * 2)(state.address, cells.address)
    team.run(ctypes.addressof(table))
    return list((ctypes.c_int64 * 8).from_address(cells.address))


def alive() -> int:
    """How many workers there are."""
    return sum(thread.name.startswith("ncc-") for thread in threading.enumerate())


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_thread_runs_once(code: MachineCode, count: int) -> None:
    """The caller is one of them."""
    team = Team(code, count)
    assert alive() == count - 1
    for _ in range(3):
        assert marks(team) == [count] * count + [0] * (8 - count)
    assert not team.lost
    team.dissolve()
    team.dissolve()
    assert alive() == 0 and team.lost == (count > 1)


def test_the_code_outlives_its_workers(code: MachineCode) -> None:
    """A worker holds the code it is in, so that it is unmapped after the last has left."""
    alone = MachineCode.__new__(MachineCode)
    alone.__dict__.update(code.__dict__)
    watch = weakref.ref(alone)
    team = Team(alone, 2)
    del alone
    gc.collect()
    assert watch() is not None
    team.dissolve()
    del team
    gc.collect()
    assert watch() is None


def test_a_fork_loses_workers_but_not_a_team_of_one(
    code: MachineCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team knows when it is a copy without threads."""
    team, single = Team(code, 2), Team(code, 1)
    assert not team.lost
    monkeypatch.setattr(threads, "_forks", threads._forks + 1)
    assert team.lost and not single.lost
    monkeypatch.undo()
    team.dissolve()


def test_threads_that_cannot_start_leave_none_behind(
    code: MachineCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ones that did start are ended."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "ncc-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(NccError, match="cannot run on 3 threads: can't start new thread"):
        Team(code, 3)
    assert alive() == 0
