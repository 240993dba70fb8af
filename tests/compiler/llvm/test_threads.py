"""The native half of threading: barrier, pool, and the floating-point mode around a run."""

from __future__ import annotations

import ctypes
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from llvmlite import binding

from ncc.compiler.llvm.threads import threads_text
from ncc.runtime import cpu
from ncc.runtime.errors import ArtifactError
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.threads import POOL_BYTES, POOL_THREADS, state_bytes

# The levels of x86-64 behind the three targets.
LEVELS = {"baseline": "x86-64", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}

# Every thread counts rounds in its own cell; after each barrier it checks that its neighbour has
# counted as far, and leaves the number of violations behind the cells.
COUNT = """
declare void @ncc_barrier(ptr, i64)
define void @run(ptr %buffers, i64 %tid, i64 %threads) {
entry:
  %state = load ptr, ptr %buffers
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %mine = getelementptr i64, ptr %cells, i64 %tid
  %up = add i64 %tid, 1
  %next = urem i64 %up, %threads
  %other = getelementptr i64, ptr %cells, i64 %next
  %bad = getelementptr i64, ptr %cells, i64 64
  br label %loop
loop:
  %round = phi i64 [0, %entry], [%after, %loop]
  %old = load i64, ptr %mine
  %new = add i64 %old, 1
  store i64 %new, ptr %mine
  call void @ncc_barrier(ptr %state, i64 %threads)
  %seen = load i64, ptr %other
  %wrong = icmp ne i64 %seen, %new
  %count = zext i1 %wrong to i64
  %all = atomicrmw add ptr %bad, i64 %count seq_cst
  call void @ncc_barrier(ptr %state, i64 %threads)
  %after = add i64 %round, 1
  %more = icmp ult i64 %after, 50
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

# cells[3 * launch + chunk] counts how often a chunk was done, of 200 launches without a barrier.
CHUNKS = """
declare i64 @ncc_take(ptr, i64, i64, i64, i64)
define void @run(ptr %buffers, i64 %tid, i64 %threads) {
entry:
  %state = load ptr, ptr %buffers
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  br label %launch
launch:
  %number = phi i64 [1, %entry], [%number.next, %exhausted]
  %cell = mul i64 %number, 3
  %cell.first = sub i64 %cell, 3
  br label %take
take:
  %taken = call i64 @ncc_take(ptr %state, i64 %number, i64 3, i64 %tid, i64 %threads)
  %first = and i64 %taken, 4294967295
  %last = lshr i64 %taken, 32
  %none = icmp eq i64 %first, %last
  br i1 %none, label %exhausted, label %chunk
chunk:
  %i = phi i64 [%first, %take], [%i.next, %chunk]
  %index = add i64 %cell.first, %i
  %at = getelementptr i64, ptr %cells, i64 %index
  %old = atomicrmw add ptr %at, i64 1 monotonic
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %last
  br i1 %i.more, label %chunk, label %take
exhausted:
  %number.next = add i64 %number, 1
  %go = icmp ule i64 %number.next, 200
  br i1 %go, label %launch, label %done
done:
  ret void
}
"""

# One launch of 16 chunks: cells[chunk] counts it, cells[16] all of them. Thread 0 does not end
# its first chunks before all others are done, and says so in cells[17]; it gives up in the end.
HELD_UP = """
declare i64 @ncc_take(ptr, i64, i64, i64, i64)
declare void @llvm.x86.sse2.pause()
define void @run(ptr %buffers, i64 %tid, i64 %threads) {
entry:
  %state = load ptr, ptr %buffers
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %all = getelementptr i64, ptr %cells, i64 16
  %told = getelementptr i64, ptr %cells, i64 17
  br label %take
take:
  %taken = call i64 @ncc_take(ptr %state, i64 1, i64 16, i64 %tid, i64 %threads)
  %first = and i64 %taken, 4294967295
  %last = lshr i64 %taken, 32
  %size = sub i64 %last, %first
  %none = icmp eq i64 %size, 0
  br i1 %none, label %done, label %who
who:
  %others = sub i64 16, %size
  %is.first = icmp eq i64 %tid, 0
  br i1 %is.first, label %wait, label %chunk
wait:
  %turn = phi i64 [0, %who], [%turn.next, %wait]
  call void @llvm.x86.sse2.pause()
  %count = load atomic i64, ptr %all acquire, align 8
  %finished = icmp eq i64 %count, %others
  %turn.next = add i64 %turn, 1
  %tired = icmp eq i64 %turn.next, 100000000
  %leave = or i1 %finished, %tired
  br i1 %leave, label %tell, label %wait
tell:
  %fine = zext i1 %finished to i64
  store i64 %fine, ptr %told
  br label %chunk
chunk:
  %i = phi i64 [%first, %who], [%first, %tell], [%i.next, %chunk]
  %at = getelementptr i64, ptr %cells, i64 %i
  %old = atomicrmw add ptr %at, i64 1 monotonic
  %before = atomicrmw add ptr %all, i64 1 release
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %last
  br i1 %more, label %chunk, label %take
done:
  ret void
}
"""

# cells[tid] (as float) becomes denormal / 1: 0 where denormals are flushed.
DENORMAL = """
define void @run(ptr %buffers, i64 %tid, i64 %threads) {
  %cells.at = getelementptr ptr, ptr %buffers, i64 1
  %cells = load ptr, ptr %cells.at
  %mine = getelementptr float, ptr %cells, i64 %tid
  %value = load volatile float, ptr %mine
  %result = fmul float %value, 0.5
  store float %result, ptr %mine
  ret void
}
"""


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
    """Barrier state, cells and the array of buffer pointers, for calling entries by hand."""

    def __init__(self, code: MachineCode) -> None:
        self.code = code
        self.state = Memory(state_bytes(8))
        self.cells = Memory(8192)
        self.pointers = (ctypes.c_void_p * 2)(self.state.address, self.cells.address)
        self.buffers = ctypes.addressof(self.pointers)

    def call(self, name: str, *arguments: int) -> None:
        kinds = [ctypes.c_void_p if n > 1 << 20 else ctypes.c_int64 for n in arguments]
        ctypes.CFUNCTYPE(None, *kinds)(self.code.address(name))(*arguments)

    def integers(self, count: int) -> list[int]:
        return list((ctypes.c_int64 * count).from_address(self.cells.address))

    @contextmanager
    def pool(self, threads: int) -> Iterator[int]:
        pool = Memory(POOL_BYTES)
        ctypes.c_int64.from_address(pool.address + POOL_THREADS).value = threads
        workers = [
            threading.Thread(target=self.call, args=("ncc_worker", pool.address, tid))
            for tid in range(1, threads)
        ]
        for worker in workers:
            worker.start()
        yield pool.address
        self.call("ncc_stop", pool.address)
        for worker in workers:
            worker.join(10)
            assert not worker.is_alive()


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    """Each target that this machine can run."""
    if not cpu.TARGETS[request.param] <= cpu.features():
        pytest.skip(f"this CPU does not run {request.param}")
    return LEVELS[request.param]


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_nobody_passes_a_barrier_before_all_have_come(level: str, threads: int) -> None:
    """Also with more threads than cores, where spinning alone would not end."""
    stage = Stage(build(level, threads_text(), COUNT))
    with stage.pool(threads) as pool:
        for _ in range(3):
            stage.call("ncc_launch", pool, stage.buffers)
    assert stage.integers(threads) == [150] * threads
    assert stage.integers(65)[64] == 0


def test_one_thread_needs_no_pool(level: str) -> None:
    """ncc_run_alone is a whole run, and its barriers do not wait."""
    stage = Stage(build(level, threads_text(), COUNT))
    stage.call("ncc_run_alone", stage.buffers)
    assert stage.integers(1) == [50]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_chunk_is_done_once(level: str, threads: int) -> None:
    """In 200 launches of 3 chunks, without a barrier between them, and in the runs that follow."""
    stage = Stage(build(level, threads_text(), CHUNKS))
    with stage.pool(threads) as pool:
        for run in range(1, 6):
            stage.call("ncc_launch", pool, stage.buffers)
            assert stage.integers(3 * 200) == [run] * 3 * 200
    stage.call("ncc_run_alone", stage.buffers)
    assert stage.integers(3 * 200) == [6] * 3 * 200


def test_others_do_the_share_of_a_thread_that_is_held_up(level: str) -> None:
    """Thread 0 stays with its first chunks until all others are done; nobody waits for it."""
    stage = Stage(build(level, threads_text(), HELD_UP))
    with stage.pool(2) as pool:
        stage.call("ncc_launch", pool, stage.buffers)
    assert stage.integers(17) == [1] * 16 + [16]
    assert stage.integers(18)[17] == 1


def test_the_state_is_cleared_before_a_run(level: str) -> None:
    """Whatever was left in it, a run starts from zero."""
    code = build(level, threads_text(), COUNT)
    stage = Stage(code)
    stage.state.bytes[: state_bytes(2)] = b"\x07" * state_bytes(2)
    with stage.pool(2) as pool:
        stage.call("ncc_launch", pool, stage.buffers)
    assert stage.integers(2) == [50, 50] and stage.integers(65)[64] == 0
    stage.state.bytes[: state_bytes(1)] = b"\x07" * state_bytes(1)
    stage.call("ncc_run_alone", stage.buffers)
    assert bytes(stage.state.bytes[: state_bytes(1)]) == bytes(state_bytes(1))


def test_denormals_are_zero_inside_a_run_and_only_there(level: str) -> None:
    """On all threads; afterwards the caller computes with denormals again."""
    stage = Stage(build(level, threads_text(), DENORMAL))
    cells = (ctypes.c_float * 4).from_address(stage.cells.address)
    with stage.pool(3) as pool:
        cells[:] = [1e-40] * 4
        stage.call("ncc_launch", pool, stage.buffers)
        assert list(cells)[:3] == [0.0, 0.0, 0.0]
    cells[0] = 1e-40
    stage.call("run", stage.buffers, 0, 1)
    assert cells[0] == pytest.approx(5e-41, rel=1e-3)
    cells[0] = 1e-40
    stage.call("ncc_run_alone", stage.buffers)
    assert cells[0] == 0.0


def test_idle_workers_sleep(level: str) -> None:
    """Between runs a pool takes no CPU time, and is there at once for the next."""
    stage = Stage(build(level, threads_text(), COUNT))
    with stage.pool(2) as pool:
        stage.call("ncc_launch", pool, stage.buffers)
        time.sleep(0.01)
        before = time.process_time()
        time.sleep(0.2)
        assert time.process_time() - before < 0.02
        stage.call("ncc_launch", pool, stage.buffers)
    assert stage.integers(2) == [100, 100]


def test_text_can_be_appended_to_the_model(level: str) -> None:
    """Without the declaration of run, both fit into one module."""
    model = COUNT.replace("declare void @ncc_barrier(ptr, i64)\n", "")
    stage = Stage(build(level, model + threads_text(declare_run=False)))
    stage.call("ncc_run_alone", stage.buffers)
    assert stage.integers(1) == [50]


def test_nothing_but_run_is_needed(level: str) -> None:
    """Alone, the text leaves a single symbol open: no C library."""
    with pytest.raises(ArtifactError, match="refers to run,"):
        build(level, threads_text())
    build(level, threads_text(), "define void @run(ptr %b, i64 %t, i64 %n) { ret void }")


def test_no_wake_is_lost_around_the_moment_of_falling_asleep() -> None:
    """Launches that come just before, at and after the end of the spin all finish."""
    stage = Stage(build("x86-64", threads_text(), COUNT))
    chance = random.Random(1)
    with stage.pool(2) as pool:
        for _ in range(3000):
            stage.call("ncc_launch", pool, stage.buffers)
            until = time.perf_counter() + chance.uniform(0, 600e-6)
            while time.perf_counter() < until:
                pass
    assert stage.integers(2) == [150_000, 150_000] and stage.integers(65)[64] == 0
