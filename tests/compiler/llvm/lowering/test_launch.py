"""The entry point in machine code: its buffers, its launches, and the kernels that it calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.target import AVX2, AVX512


class Code(Protocol):
    """What the fixture `compiled` gives."""

    def call(self, name: str, *arguments: object) -> None:
        """Call a function."""


Compile = Callable[..., Code]

ENTRY = """
func.func private @scale(%x: memref<8xf32>, %y: memref<8xf32, strided<[1], offset: 8>>,
                         %first: index, %last: index) {
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  scf.for %i = %first to %last step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = arith.mulf %v, %two : f32
    memref.store %w, %y[%i] : memref<8xf32, strided<[1], offset: 8>>
  }
  func.return
}
func.func @run(%buffers: !llvm.ptr, %tid: index, %threads: index, %before: index) {
  %x = rt.buffer %buffers[3] : memref<8xf32>
  %t = rt.buffer %buffers[1] offset 64 : memref<8xf32, strided<[1], offset: 8>>
  %u = rt.buffer %buffers[1] offset 96 : memref<8xf32>
  %y = rt.buffer %buffers[4] offset 4 : memref<8xf32, strided<[1], offset: 8>>
  %none = arith.constant 0 : index
  %begun = rt.launch 3 after 0, %none, %buffers, %tid, %threads, %before
    timestamp [0, 5] : ()
  %done = rt.launch 8 of @scale(%x, %t) after 3, %begun, %buffers, %tid, %threads, %before
    : (memref<8xf32>, memref<8xf32, strided<[1], offset: 8>>)
  rt.barrier %done until 11, %buffers, %threads, %before
  %all = rt.launch 8 of @scale(%u, %y) after 11, %done, %buffers, %tid, %threads, %before
    timestamp [0, 6] : (memref<8xf32>, memref<8xf32, strided<[1], offset: 8>>)
  rt.end %all until 20, %buffers, %tid, %threads, %before
  func.return
}
"""
RUNTIME = """
; The numbers that a barrier and the end of a run are given are left in the state.
define internal void @ncc_barrier(ptr %state, i64 %did, i64 %until, i64 %threads) {
  store i64 %did, ptr %state
  %at = getelementptr i64, ptr %state, i64 1
  store i64 %until, ptr %at
  ret void
}

define internal void @ncc_end(ptr %state, i64 %did, i64 %until, i64 %tid, i64 %threads) {
  %behind = getelementptr i64, ptr %state, i64 2
  call void @ncc_barrier(ptr %behind, i64 %did, i64 %until, i64 %threads)
  ret void
}

; A fixed share for each thread, once: how far all launches have come is left in the state.
define internal i64 @ncc_take(ptr %state, i64 %begin, i64 %chunks, i64 %tid, i64 %threads) {
  %at = getelementptr i64, ptr %state, i64 7
  %come = load i64, ptr %at
  %end = add i64 %begin, %chunks
  store i64 %end, ptr %at
  %over = icmp eq i64 %come, %end
  %low = mul i64 %tid, %chunks
  %next = add i64 %tid, 1
  %high = mul i64 %next, %chunks
  %first = udiv i64 %low, %threads
  %last = udiv i64 %high, %threads
  %upper = shl i64 %last, 32
  %both = or i64 %upper, %first
  %taken = select i1 %over, i64 0, i64 %both
  ret i64 %taken
}
"""


def test_entry_point(compiled: Compile) -> None:
    """Buffers, their offsets in bytes, and launches: chunks until none are left, bare pointers."""
    code = compiled(ENTRY, RUNTIME)
    x, arena, y = (
        np.arange(1, 9, dtype=np.float32),
        np.zeros(64, np.float32),
        np.zeros(17, np.float32),
    )
    state = np.zeros(16, np.int64)
    addresses = [buffer.ctypes.data for buffer in (state, arena, state, x, y)]
    buffers = np.array(addresses, np.uint64)
    for thread in range(3):
        code.call("run", buffers, thread, 3, 100)
        share = 8 * (thread + 1) // 3 - 8 * thread // 3
        assert state[:4].tolist() == [1 + share, 111, 1 + 2 * share, 120]
        assert state[7] == 119
        assert 0 < state[5] <= state[6], "timestamps"
    np.testing.assert_array_equal(arena[24:32], 2 * x)
    np.testing.assert_array_equal(y[9:17], 4 * x)
    assert not y[:9].any()


TOLD = """
func.func private @write(%x: memref<8xindex>, %times: index, %more: index,
                         %first: index, %last: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %first to %last step %c1 {
    %product = arith.muli %i, %times : index
    %sum = arith.addi %product, %more : index
    memref.store %sum, %x[%i] : memref<8xindex>
  }
  func.return
}
func.func @run(%buffers: !llvm.ptr, %tid: index, %threads: index, %before: index) {
  %x = rt.buffer %buffers[1] : memref<8xindex>
  %none = arith.constant 0 : index
  %ten = arith.constant 10 : index
  %two = arith.constant 2 : index
  %done = rt.launch 8 of @write(%x, %ten, %two) after 0, %none, %buffers, %tid, %threads, %before
    : (memref<8xindex>, index, index)
  rt.end %done until 8, %buffers, %tid, %threads, %before
  func.return
}
"""


def test_chunks_together(compiled: Compile) -> None:
    """Three of eight count as one: the last has two, and all threads count to three."""
    text = TOLD.replace("launch 8 of", "launch 8 by 3 of").replace("until 8", "until 3")
    code = compiled(text, RUNTIME)
    state, x = np.zeros(16, np.int64), np.zeros(9, np.int64)
    buffers = np.array([state.ctypes.data, x.ctypes.data], np.uint64)
    for thread, wanted in enumerate((6, 8)):
        state[7] = 0
        code.call("run", buffers, thread, 2, 0)
        assert state[2:4].tolist() == [thread + 1, 3]
        assert np.count_nonzero(x) == (3 if thread == 0 else wanted)
    assert x.tolist() == [2, 12, 22, 32, 42, 52, 62, 72, 0]


COUNTS = (
    TOLD.partition("func.func @run")[0]
    + """
func.func @run(%buffers: !llvm.ptr, %tid: index, %threads: index, %before: index) {
  %x = rt.buffer %buffers[1] : memref<8xindex>
  %counts = rt.buffer %buffers[2] : memref<3xindex>
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %ten = arith.constant 10 : index
  %units = memref.load %counts[%none] : memref<3xindex>
  %by = memref.load %counts[%one] : memref<3xindex>
  %chunks = memref.load %counts[%two] : memref<3xindex>
  %done = rt.launch 0 told(%units, %by, %chunks) of @write(%x, %ten, %two) after 0, %none,
    %buffers, %tid, %threads, %before : (memref<8xindex>, index, index)
  %behind = arith.addi %before, %units : index
  rt.end %done until 0, %buffers, %tid, %threads, %behind
  func.return
}
"""
)


@pytest.mark.parametrize("told", ["%units", "%units, %by, %chunks"])
def test_chunks_that_the_run_tells(compiled: Compile, told: str) -> None:
    """Some, none, or several at once."""
    code = compiled(COUNTS.replace("%units, %by, %chunks", told), RUNTIME)
    state, x, counts = (np.zeros(count, np.int64) for count in (16, 9, 3))
    buffers = np.array([buffer.ctypes.data for buffer in (state, x, counts)], np.uint64)
    together = told != "%units"
    for units, by, chunks in ((3, 3, 8), (1, 2, 2), (0, 1, 0)):
        counts[:] = (units, by, chunks) if together else (chunks, 1, chunks)
        x[:], state[:] = 0, 0
        code.call("run", buffers, 0, 1, 100)
        assert x.tolist() == [10 * k + 2 if k < chunks else 0 for k in range(9)]
        assert state[2:4].tolist() == [counts[0], 100 + counts[0]]


def test_kernels_are_told_numbers(compiled: Compile) -> None:
    """Those behind their memory come in order, in front of the chunks."""
    state, x = np.zeros(16, np.int64), np.zeros(8, np.int64)
    buffers = np.array([state.ctypes.data, x.ctypes.data], np.uint64)
    compiled(TOLD, RUNTIME).call("run", buffers, 0, 1, 0)
    assert x.tolist() == [2, 12, 22, 32, 42, 52, 62, 72]


LOOP = """
func.func private @scale(%x: memref<8xf32>, %y: memref<8xf32>, %first: index, %last: index) {
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  scf.for %i = %first to %last step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = arith.mulf %v, %two : f32
    memref.store %w, %y[%i] : memref<8xf32>
  }
  func.return
}
func.func private @loop(%buffers: !llvm.ptr, %thread: index, %first: index, %last: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %size = arith.constant 32 : index
  scf.for %iteration = %first to %last step %one {
    %mine = arith.muli %thread, %size : index
    %here = arith.muli %iteration, %size : index
    %x = rt.buffer %buffers[2] further %here : memref<8xf32>
    %t = rt.buffer %buffers[1] offset 64 further %mine : memref<8xf32>
    %y = rt.buffer %buffers[3] offset 4 further %here : memref<8xf32>
    func.call @scale(%x, %t, %zero, %eight)
      : (memref<8xf32>, memref<8xf32>, index, index) -> ()
    func.call @scale(%t, %y, %zero, %eight)
      : (memref<8xf32>, memref<8xf32>, index, index) -> ()
  }
  func.return
}
func.func @run(%buffers: !llvm.ptr, %tid: index, %threads: index, %before: index) {
  %none = arith.constant 0 : index
  %done = rt.launch 5 of @loop(%buffers, %tid) after 0, %none, %buffers, %tid, %threads, %before
    : (!llvm.ptr, index)
  rt.end %done until 5, %buffers, %tid, %threads, %before
  func.return
}
"""


def test_a_private_loop(compiled: Compile) -> None:
    """Kernels find the memory of an iteration, and of the thread, by the buffers of the run."""
    code = compiled(LOOP, RUNTIME)
    x = np.arange(40, dtype=np.float32)
    state, arena, y = np.zeros(16, np.int64), np.zeros(48, np.float32), np.zeros(42, np.float32)
    buffers = np.array([a.ctypes.data for a in (state, arena, x, y)], np.uint64)
    for thread in range(2):
        state[7] = 0
        code.call("run", buffers, thread, 2, 0)
    np.testing.assert_array_equal(y[1:41], 4 * x)
    np.testing.assert_array_equal(arena[16:32], np.concatenate([2 * x[8:16], 2 * x[32:]]))
    assert not arena[:16].any() and not arena[32:].any() and y[0] == y[41] == 0


def test_promises_about_arguments_stay(parse: Callable[[str], ModuleOp]) -> None:
    """`noalias` is said of the arguments whose attributes say so, and of no other."""
    promised = ENTRY.replace("%x: memref<8xf32>", "%x: memref<8xf32> {llvm.noalias}", 1)
    assert "@scale(ptr noalias %0, ptr %1" in emit_llvm(lower(parse(promised), AVX2), AVX2)
    assert "noalias" not in emit_llvm(lower(parse(ENTRY), AVX2), AVX2)


def test_kernels_of_other_modules_are_declared(parse: Callable[[str], ModuleOp]) -> None:
    """A function without a body is called, not defined."""
    text = emit_llvm(
        lower(
            parse("""
    func.func private @other(memref<8xf32>, index)
    func.func @k(%x: memref<8xf32>, %i: index) {
      func.call @other(%x, %i) : (memref<8xf32>, index) -> ()
      func.return
    }"""),
            AVX2,
        ),
        AVX2,
    )
    assert "declare void @other(ptr, i64)" in text
    assert "call void @other(ptr %0, i64 %1)" in text


def test_the_given_module_stays(parse: Callable[[str], ModuleOp]) -> None:
    """Lowering makes a new module that verifies, and leaves the old one as it is."""
    module = parse(ENTRY)
    before = str(module)
    lower(module, AVX512).verify()
    assert str(module) == before
