"""A team of threads: what it starts, what it ends, and what it survives."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import weakref

import pytest

from ncc.runtime.artifact import FIRST_BUFFER
from ncc.runtime.errors import NccError
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.threads import Team, state_bytes
from tests.launch_text import LAUNCH
from tests.runtime.conftest import Workers

MARK = (
    LAUNCH
    + """
define internal void @mark(ptr %buffers, i64 %i, i64 %tid) {
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %mine = getelementptr i64, ptr %cells, i64 %i
  %old = load i64, ptr %mine
  %new = add i64 %old, 1
  store i64 %new, ptr %mine
  ret void
}
define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
  %state = load ptr, ptr %buffers
  %until = add i64 %before, 8
  %did = call i64 @launch(ptr @mark, i64 %before, i64 8, ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_end(ptr %state, i64 %did, i64 %until, i64 %tid, i64 %threads)
  ret void
}
"""
)


@pytest.fixture
def code(assemble: object, threads_object: bytes) -> MachineCode:
    """A run counts up eight cells."""
    assert callable(assemble)
    return MachineCode([assemble(MARK), threads_object])


class Cells:
    """What runs work on: state, eight cells, and the array that names both."""

    def __init__(self) -> None:
        self.state, self.cells = Memory(state_bytes(8)), Memory(4096)
        self.table = (ctypes.c_void_p * FIRST_BUFFER)(self.state.address, self.cells.address)

    def after_run(self, team: Team) -> list[int]:
        """The cells after one run."""
        team.run(ctypes.addressof(self.table))
        return list((ctypes.c_int64 * 8).from_address(self.cells.address))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_team_does_runs(code: MachineCode, count: int, workers: Workers) -> None:
    """The caller is one of its threads."""
    cells = Cells()
    team = Team(code, count, cells, FIRST_BUFFER)
    assert len(workers()) == count - 1
    for run in range(1, 4):
        assert cells.after_run(team) == [run] * 8
    assert not team.lost
    team.dissolve()
    team.dissolve()
    assert not workers() and team.lost == (count > 1)


@pytest.mark.slow
def test_what_workers_use_outlives_them(code: MachineCode) -> None:
    """A worker holds code and memory, so that both are unmapped after the last has left."""
    alone = MachineCode.__new__(MachineCode)
    alone.__dict__.update(code.__dict__)
    cells = Cells()
    watches: list[weakref.ref[object]] = [weakref.ref(alone), weakref.ref(cells)]
    team = Team(alone, 2, cells, FIRST_BUFFER)
    del alone, cells
    gc.collect()
    assert all(watch() is not None for watch in watches)
    team.dissolve()
    del team
    gc.collect()
    assert all(watch() is None for watch in watches)


def test_a_run_does_not_wait_for_a_worker_that_never_comes(
    code: MachineCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller does all that nobody else takes."""
    monkeypatch.setattr(threading.Thread, "run", lambda worker: None)
    cells = Cells()
    team = Team(code, 3, cells, FIRST_BUFFER)
    assert [cells.after_run(team) for _ in range(2)] == [[1] * 8, [2] * 8]


def test_a_run_that_begins_when_the_team_has_been_dissolved(code: MachineCode) -> None:
    """As a daemon's does that goes on while the interpreter exits: the caller does all of it."""
    cells = Cells()
    team = Team(code, 3, cells, FIRST_BUFFER)
    assert cells.after_run(team) == [1] * 8
    team.dissolve()
    assert cells.after_run(team) == [2] * 8


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_loses_workers_but_not_a_team_of_one(code: MachineCode) -> None:
    """A team knows when it is a copy without threads."""
    team, single = Team(code, 2, None, FIRST_BUFFER), Team(code, 1, None, FIRST_BUFFER)
    child = os.fork()
    if child == 0:
        os._exit(0 if team.lost and not single.lost else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0 and not team.lost
    team.dissolve()


def test_threads_that_cannot_start_leave_none_behind(
    code: MachineCode, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ones that did start are ended."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "ncc-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(NccError, match="cannot run on 3 threads: can't start new thread"):
        Team(code, 3, None, FIRST_BUFFER)
    assert not workers()
