"""The native half of threading: barrier, pool, and the floating-point mode around a run."""

from __future__ import annotations

import ctypes
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from llvmlite import binding

from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import BASELINE
from ncc.runtime import cpu
from ncc.runtime.artifact import FIRST_BUFFER, NUMBERS_BUFFER
from ncc.runtime.errors import ArtifactError
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.threads import MESSAGE, POOL_THREADS, POOL_VERSION, pool_bytes, state_bytes
from tests.launch_text import LAUNCH

TEXT = threads_text(BASELINE)

# The levels of x86-64 behind the three targets.
LEVELS = {"baseline": "x86-64", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}

PATIENCE = 600
"""Seconds that nothing here takes, however busy the machine is."""

# 50 launches of 5 chunks on two rows of 5 cells, with a barrier behind each: a chunk makes its cell
# of one row one more than its neighbour's of the other. Whoever passes a barrier too early hands a
# number on that is too small. Now and then a thread is held up, within a chunk and between two.
COUNT = (
    LAUNCH
    + """
declare i64 @llvm.readcyclecounter()
declare void @llvm.x86.sse2.pause()

define internal void @hold_up() {
entry:
  %now = call i64 @llvm.readcyclecounter()
  %mixed = mul i64 %now, -7046029254386353131
  %chance = lshr i64 %mixed, 54
  %often = mul i64 %chance, 8
  %is.now = icmp ult i64 %chance, 3
  br i1 %is.now, label %stay, label %leave
stay:
  %turn = phi i64 [0, %entry], [%turn.next, %stay]
  call void @llvm.x86.sse2.pause()
  %turn.next = add i64 %turn, 1
  %more = icmp ult i64 %turn.next, 200
  br i1 %more, label %stay, label %leave
leave:
  ret void
}

define internal void @step(ptr %from, ptr %to, i64 %i) {
  call void @hold_up()
  %up = add i64 %i, 1
  %next = urem i64 %up, 5
  %source = getelementptr i64, ptr %from, i64 %next
  %target = getelementptr i64, ptr %to, i64 %i
  %old = load i64, ptr %source
  %new = add i64 %old, 1
  call void @hold_up()
  store i64 %new, ptr %target
  ret void
}

define internal void @forth(ptr %buffers, i64 %i, i64 %tid) {
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %others = getelementptr i64, ptr %cells, i64 5
  call void @step(ptr %cells, ptr %others, i64 %i)
  ret void
}

define internal void @back(ptr %buffers, i64 %i, i64 %tid) {
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %others = getelementptr i64, ptr %cells, i64 5
  call void @step(ptr %others, ptr %cells, i64 %i)
  ret void
}

define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
entry:
  %state = load ptr, ptr %buffers
  br label %round
round:
  %number = phi i64 [0, %entry], [%number.next, %round]
  %begin = phi i64 [%before, %entry], [%after, %round]
  %middle = add i64 %begin, 5
  %after = add i64 %begin, 10
  %a = call i64 @launch(ptr @forth, i64 %begin, i64 5, ptr %buffers, i64 %tid, i64 %threads)
  call void @hold_up()
  call void @ncc_barrier(ptr %state, i64 %a, i64 %middle, i64 %threads)
  call void @hold_up()
  %b = call i64 @launch(ptr @back, i64 %middle, i64 5, ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_barrier(ptr %state, i64 %b, i64 %after, i64 %threads)
  %number.next = add i64 %number, 1
  %more = icmp ult i64 %number.next, 25
  br i1 %more, label %round, label %done
done:
  call void @ncc_end(ptr %state, i64 0, i64 %after, i64 %tid, i64 %threads)
  ret void
}
"""
)

# cells[3 * launch + chunk] counts how often a chunk was done, of 200 launches without a barrier.
CHUNKS = (
    LAUNCH
    + """
define internal void @count(ptr %buffers, i64 %i, i64 %tid) {
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %at = getelementptr i64, ptr %cells, i64 %i
  %old = atomicrmw add ptr %at, i64 1 monotonic
  ret void
}
define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
entry:
  %state = load ptr, ptr %buffers
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %shifted = alloca [2 x ptr]
  %shifted.at = getelementptr ptr, ptr %shifted, i64 1
  store ptr %state, ptr %shifted
  br label %round
round:
  %done = phi i64 [0, %entry], [%done.now, %round]
  %did = phi i64 [0, %entry], [%did.now, %round]
  %here = getelementptr i64, ptr %cells, i64 %done
  store ptr %here, ptr %shifted.at
  %begin = add i64 %before, %done
  %n = call i64 @launch(ptr @count, i64 %begin, i64 3, ptr %shifted, i64 %tid, i64 %threads)
  %did.now = add i64 %did, %n
  %done.now = add i64 %done, 3
  %more = icmp ult i64 %done.now, 600
  br i1 %more, label %round, label %end
end:
  %until = add i64 %before, 600
  call void @ncc_end(ptr %state, i64 %did.now, i64 %until, i64 %tid, i64 %threads)
  ret void
}
"""
)

# One launch of 16 chunks: cells[chunk] counts it, cells[16] all of them. Thread 0 says in cells[18]
# that it has begun its first chunk, which it does not end before all but its own first ones are
# done, 4 of its share of 8 and the others', and says so in cells[17]; it gives up in the end.
HELD_UP = (
    LAUNCH
    + """
declare void @llvm.x86.sse2.pause()
define internal void @count(ptr %buffers, i64 %i, i64 %tid) {
entry:
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %all = getelementptr i64, ptr %cells, i64 16
  %told = getelementptr i64, ptr %cells, i64 17
  %is.caller = icmp eq i64 %tid, 0
  %is.early = icmp eq i64 %i, 0
  %is.first = and i1 %is.caller, %is.early
  br i1 %is.first, label %begin, label %chunk
begin:
  %begun = getelementptr i64, ptr %cells, i64 18
  store atomic i64 1, ptr %begun release, align 8
  br label %wait
wait:
  %turn = phi i64 [0, %begin], [%turn.next, %wait]
  call void @llvm.x86.sse2.pause()
  %count = load atomic i64, ptr %all acquire, align 8
  %finished = icmp eq i64 %count, 12
  %turn.next = add i64 %turn, 1
  %tired = icmp eq i64 %turn.next, 10000000000
  %leave = or i1 %finished, %tired
  br i1 %leave, label %tell, label %wait
tell:
  %fine = zext i1 %finished to i64
  store i64 %fine, ptr %told
  br label %chunk
chunk:
  %at = getelementptr i64, ptr %cells, i64 %i
  %old = atomicrmw add ptr %at, i64 1 monotonic
  %before = atomicrmw add ptr %all, i64 1 release
  ret void
}
define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
  %state = load ptr, ptr %buffers
  %until = add i64 %before, 16
  %did = call i64 @launch(ptr @count, i64 %before, i64 16, ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_end(ptr %state, i64 %did, i64 %until, i64 %tid, i64 %threads)
  ret void
}
"""
)

# cells[chunk] (as float) is halved: 0 where denormals are flushed. Each of a run's chunks, one a
# thread, is not over before all are begun: cells[8] counts them.
DENORMAL = (
    LAUNCH
    + """
declare void @llvm.x86.sse2.pause()
define internal void @halve(ptr %buffers, i64 %i, i64 %tid) {
entry:
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %mine = getelementptr float, ptr %cells, i64 %i
  %value = load volatile float, ptr %mine
  %result = fmul float %value, 0.5
  store float %result, ptr %mine
  %count = getelementptr i64, ptr %cells, i64 8
  %before = atomicrmw add ptr %count, i64 1 seq_cst
  %wanted.at = getelementptr i64, ptr %cells, i64 9
  %wanted = load i64, ptr %wanted.at
  br label %wait
wait:
  call void @llvm.x86.sse2.pause()
  %now = load atomic i64, ptr %count seq_cst, align 8
  %all = icmp uge i64 %now, %wanted
  br i1 %all, label %done, label %wait
done:
  ret void
}
define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
  %state = load ptr, ptr %buffers
  %until = add i64 %before, %threads
  %did = call i64 @launch(ptr @halve, i64 %before, i64 %threads,
                          ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_end(ptr %state, i64 %did, i64 %until, i64 %tid, i64 %threads)
  ret void
}
"""
)


def build(level: str, *texts: str) -> MachineCode:
    """Each text as an object of its own, loaded together."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()
    target = binding.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(
        cpu=level, opt=2, reloc="pic", codemodel="small", jit=False
    )
    return MachineCode([machine.emit_object(binding.parse_assembly(text)) for text in texts])


class Stage:
    """State, cells and the array of buffer pointers, for calling entries by hand."""

    def __init__(self, code: MachineCode) -> None:
        self.code = code
        self.state = Memory(state_bytes(16))
        self.cells = Memory(8192)
        self.pools: list[Memory] = []
        self.pointers = (ctypes.c_void_p * FIRST_BUFFER)(self.state.address, self.cells.address)
        self.buffers = ctypes.addressof(self.pointers)

    def call(self, name: str, *arguments: int) -> None:
        kinds = [ctypes.c_void_p if n > 1 << 20 else ctypes.c_int64 for n in arguments]
        ctypes.CFUNCTYPE(None, *kinds)(self.code.address(name))(*arguments)

    def integers(self, count: int) -> list[int]:
        return list((ctypes.c_int64 * count).from_address(self.cells.address))

    def begin(self, name: str, *arguments: int) -> threading.Thread:
        """A call in a thread of its own."""
        thread = threading.Thread(target=self.call, args=(name, *arguments), daemon=True)
        thread.start()
        return thread

    @contextmanager
    def pool(self, threads: int, workers: int | None = None, numbers: int = 0) -> Iterator[int]:
        """A pool for so many threads, of which the workers come, or some of them."""
        pool = Memory(pool_bytes(threads, FIRST_BUFFER, numbers))
        self.pools.append(pool)
        counts = (ctypes.c_int64 * 3).from_address(pool.address + POOL_THREADS)
        counts[:] = [threads, FIRST_BUFFER, numbers]
        present = [
            self.begin("ncc_worker", pool.address, tid)
            for tid in range(1, threads if workers is None else workers + 1)
        ]
        try:
            yield pool.address
        finally:
            self.call("ncc_stop", pool.address)
            ended(*present)


def ended(*threads: threading.Thread) -> None:
    """Wait for threads to end, however busy the machine is."""
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    """Each target that this machine can run."""
    if not cpu.TARGETS[request.param] <= cpu.features():
        pytest.skip(f"this CPU does not run {request.param}")
    return LEVELS[request.param]


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_nobody_passes_a_barrier_before_all_is_done(level: str, threads: int) -> None:
    """Also with more threads than cores, where spinning alone would not end."""
    stage = Stage(build(level, TEXT, COUNT))
    with stage.pool(threads) as pool:
        for run in range(1, 6):
            stage.call("ncc_launch", pool, stage.buffers)
            assert stage.integers(5) == [50 * run] * 5


def asleep(pool: int) -> None:
    """Wait until the only worker of a pool has nothing to do."""
    sleepers = ctypes.c_int32.from_address(pool + 8)
    deadline = time.monotonic() + PATIENCE
    while sleepers.value != 1:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def messages(pool: int, words: int) -> tuple[list[int], list[int]]:
    """The message of the last launch, and the copy of thread 1."""
    line = -(-words // 8) * 8
    told = list((ctypes.c_int64 * (2 * line)).from_address(pool + MESSAGE))
    return told[:words], told[line:][:words]


def test_a_worker_has_a_copy_of_all_that_a_launch_tells(level: str) -> None:
    """When it begins, the addresses of the buffers, and the numbers."""
    stage = Stage(build(level, TEXT, COUNT))
    numbers = (ctypes.c_int64 * 11)(*range(5, 16))
    stage.pointers[NUMBERS_BUFFER] = ctypes.addressof(numbers)
    with stage.pool(2, workers=0, numbers=11) as pool:
        for run in range(3):
            numbers[0] = run
            stage.call("ncc_launch", pool, stage.buffers)
        numbers[:] = [-1] * 11
        worker = stage.begin("ncc_worker", pool, 1)
        asleep(pool)
        message, copy = messages(pool, 1 + FIRST_BUFFER + 11)
    ended(worker)
    assert message[0] == copy[0] == 2 * 250
    assert message[1:3] == copy[1:3] == list(stage.pointers[:2])
    assert message[1 + FIRST_BUFFER :] == copy[1 + FIRST_BUFFER :] == [2, *range(6, 16)]
    assert copy[1 + NUMBERS_BUFFER] == pool + MESSAGE + 8 * (16 + 1 + FIRST_BUFFER)


def test_a_worker_takes_no_message_that_is_being_written(level: str) -> None:
    """It waits for the launch that this message is for."""
    stage = Stage(build(level, TEXT, COUNT))
    with stage.pool(2, workers=0) as pool:
        stage.call("ncc_launch", pool, stage.buffers)
        version = ctypes.c_int64.from_address(pool + POOL_VERSION)
        assert version.value == 2
        version.value = 3
        worker = stage.begin("ncc_worker", pool, 1)
        asleep(pool)
        assert messages(pool, 1 + FIRST_BUFFER)[1] == [0] * (1 + FIRST_BUFFER)
        version.value = 2
        stage.call("ncc_launch", pool, stage.buffers)
    ended(worker)
    assert stage.integers(5) == [100] * 5


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3, 16])
def test_nobody_ever_passes_a_barrier_too_early(threads: int) -> None:
    """In half a million barriers."""
    stage = Stage(build("x86-64", TEXT, COUNT))
    with stage.pool(threads) as pool:
        for run in range(1, 5001 if threads < 16 else 501):
            stage.call("ncc_launch", pool, stage.buffers)
            assert stage.integers(5) == [50 * run] * 5


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_a_run_does_not_wait_for_workers_that_never_come(level: str, threads: int) -> None:
    """None of them, or one of them: the others do all that there is."""
    for workers in (0, 1):
        stage = Stage(build(level, TEXT, COUNT))
        with stage.pool(threads, workers) as pool:
            for run in range(1, 4):
                stage.call("ncc_launch", pool, stage.buffers)
                assert stage.integers(5) == [50 * run] * 5


@pytest.mark.parametrize("threads", [2, 3])
def test_a_worker_that_comes_after_a_run_changes_nothing(level: str, threads: int) -> None:
    """It walks through this run, or an earlier one, finds all taken, and leaves no trace."""
    stage = Stage(build(level, TEXT, COUNT))
    with stage.pool(threads, workers=0) as pool:
        for _ in range(3):
            stage.call("ncc_launch", pool, stage.buffers)
    state = bytes(stage.state.bytes)
    for before in (0, 250, 500):
        for tid in range(1, threads):
            stage.call("run", stage.buffers, tid, threads, before)
    assert stage.integers(10) == [150] * 5 + [149] * 5
    assert bytes(stage.state.bytes) == state


def test_a_worker_may_be_late_for_all_runs_but_the_last(level: str) -> None:
    """It takes part in none of them, and is stopped like any other."""
    stage = Stage(build(level, TEXT, COUNT))
    with stage.pool(2, workers=0) as pool:
        for _ in range(3):
            stage.call("ncc_launch", pool, stage.buffers)
        worker = stage.begin("ncc_worker", pool, 1)
        for run in range(4, 20):
            stage.call("ncc_launch", pool, stage.buffers)
            assert stage.integers(5) == [50 * run] * 5
    ended(worker)


def test_one_pool_runs_on_several_states_in_turn() -> None:
    """A worker that is late for one of them may work on the next, or find it done."""
    code = build("x86-64", TEXT, COUNT)
    stages = [Stage(code) for _ in range(3)]
    with stages[0].pool(3) as pool:
        for run in range(1, 101):
            for stage in stages:
                stage.call("ncc_launch", pool, stage.buffers)
                assert stage.integers(5) == [50 * run] * 5


@pytest.mark.parametrize("done", [(1 << 31) - 130, (1 << 32) - 130, (1 << 40) - 130])
def test_chunks_are_counted_beyond_32_bits(level: str, done: int) -> None:
    """After years of runs, with threads that sleep at barriers."""
    stage = Stage(build(level, TEXT, COUNT))
    ctypes.c_int64.from_address(stage.state.address).value = done
    with stage.pool(5) as pool:
        for run in range(1, 6):
            stage.call("ncc_launch", pool, stage.buffers)
            assert stage.integers(5) == [50 * run] * 5
    assert ctypes.c_int64.from_address(stage.state.address).value == done + 5 * 250


def test_one_thread_needs_no_pool(level: str) -> None:
    """ncc_run_alone is a whole run, and its barriers do not wait."""
    stage = Stage(build(level, TEXT, COUNT))
    stage.call("ncc_run_alone", stage.buffers)
    assert stage.integers(5) == [50] * 5


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_every_chunk_is_done_once(level: str, threads: int) -> None:
    """In 200 launches of 3 chunks, without a barrier between them, and in the runs that follow."""
    stage = Stage(build(level, TEXT, CHUNKS))
    with stage.pool(threads) as pool:
        for run in range(1, 6):
            stage.call("ncc_launch", pool, stage.buffers)
            assert stage.integers(3 * 200) == [run] * 3 * 200
    stage.call("ncc_run_alone", stage.buffers)
    assert stage.integers(3 * 200) == [6] * 3 * 200


def test_others_do_the_share_of_a_thread_that_is_held_up(level: str) -> None:
    """Thread 0 stays with its first chunks until all others are done; nobody waits for it."""
    stage = Stage(build(level, TEXT, HELD_UP))
    with stage.pool(2, workers=0) as pool:
        caller = stage.begin("ncc_launch", pool, stage.buffers)
        while caller.is_alive() and not stage.integers(19)[18]:
            time.sleep(0.001)
        worker = stage.begin("ncc_worker", pool, 1)
        ended(caller)
    ended(worker)
    assert stage.integers(17) == [1] * 16 + [16]
    assert stage.integers(18)[17] == 1


def test_denormals_are_zero_inside_a_run_and_only_there(level: str) -> None:
    """On all threads; afterwards the caller computes with denormals again."""
    stage = Stage(build(level, TEXT, DENORMAL))
    cells = (ctypes.c_float * 4).from_address(stage.cells.address)
    begun = (ctypes.c_int64 * 2).from_address(stage.cells.address + 64)
    with stage.pool(3) as pool:
        begun[:] = [0, 3]
        cells[:] = [1e-40] * 4
        stage.call("ncc_launch", pool, stage.buffers)
        assert list(cells)[:3] == [0.0, 0.0, 0.0]
    begun[:] = [0, 1]
    cells[0] = 1e-40
    stage.call("ncc_run_alone", stage.buffers)
    assert cells[0] == 0.0
    cells[0] = 1e-40
    stage.call("run", stage.buffers, 0, 1, 4)
    assert cells[0] == pytest.approx(5e-41, rel=1e-3)


def test_idle_workers_sleep(level: str) -> None:
    """Between runs a pool takes no CPU time, and is there at once for the next."""
    stage = Stage(build(level, TEXT, COUNT))
    with stage.pool(2, workers=0) as pool:
        worker = stage.begin("ncc_worker", pool, 1)
        state = Path("/proc/self/task", str(worker.native_id), "stat")
        sleepers = ctypes.c_int32.from_address(pool + 8)
        for _ in range(2):
            stage.call("ncc_launch", pool, stage.buffers)
            deadline = time.monotonic() + PATIENCE
            while not (sleepers.value == 1 and state.read_text().rpartition(")")[2][1] == "S"):
                assert time.monotonic() < deadline
                time.sleep(0.001)
    ended(worker)
    assert stage.integers(5) == [100] * 5


def test_text_can_be_appended_to_the_model(level: str) -> None:
    """Without the declaration of run, both fit into one module."""
    lines = [*COUNT.splitlines(), *threads_text(BASELINE, declare_run=False).splitlines()]
    declared = {line for line in lines if line.startswith("declare ") and "@llvm" in line}
    rest = [line for line in lines if not line.startswith("declare ")]
    stage = Stage(build(level, "\n".join([*sorted(declared), *rest])))
    stage.call("ncc_run_alone", stage.buffers)
    assert stage.integers(5) == [50] * 5


def test_nothing_but_run_is_needed(level: str) -> None:
    """Alone, the text leaves a single symbol open: no C library."""
    with pytest.raises(ArtifactError, match="refers to run,"):
        build(level, TEXT)
    build(
        level,
        TEXT,
        "define void @run(ptr %b, i64 %t, i64 %n, i64 %c) { ret void }",
    )


def test_no_wake_is_lost_around_the_moment_of_falling_asleep() -> None:
    """Launches that come just before, at and after the end of the spin all finish."""
    stage = Stage(build("x86-64", TEXT, COUNT))
    chance = random.Random(1)
    with stage.pool(2) as pool:
        for _ in range(1000):
            stage.call("ncc_launch", pool, stage.buffers)
            until = time.perf_counter() + chance.uniform(0, 600e-6)
            while time.perf_counter() < until:
                pass
    assert stage.integers(5) == [50_000] * 5
