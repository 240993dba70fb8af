"""Objects and a small model for the runtime's tests, compiled from LLVM text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain
from typing import TypeAlias

import numpy as np
import pytest

from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import BASELINE
from ncc.runtime.arena import Lifetimes
from ncc.runtime.artifact import Artifact, Binding
from ncc.runtime.program import OPERATIONS, Condition, Extent, Program
from ncc.runtime.sizes import NOWHERE, Sizes
from tests.launch_text import LAUNCH

Assemble: TypeAlias = Callable[..., bytes]

SUBTRACT, MULTIPLY = map(list(OPERATIONS).index, "-*")

Workers: TypeAlias = Callable[[], list[threading.Thread]]

# buffers: state, arena, weights, x (12 floats), y (12 floats), rows (dynamic, at most 12 x 1).
# 12 chunks write x + weights[0] into the arena; behind a barrier, 12 chunks write y = twice the
# arena, in reverse, and one lists the positive values of x as rows.
REVERSE = (
    LAUNCH
    + """
define internal ptr @buffer(ptr %buffers, i64 %number) {
  %at = getelementptr ptr, ptr %buffers, i64 %number
  %buffer = load ptr, ptr %at
  ret ptr %buffer
}

define internal void @add(ptr %buffers, i64 %i, i64 %tid) {
  %arena = call ptr @buffer(ptr %buffers, i64 1)
  %weights = call ptr @buffer(ptr %buffers, i64 2)
  %x = call ptr @buffer(ptr %buffers, i64 4)
  %shift = load float, ptr %weights
  %x.i = getelementptr float, ptr %x, i64 %i
  %a.i = getelementptr float, ptr %arena, i64 %i
  %value = load float, ptr %x.i
  %sum = fadd float %value, %shift
  store float %sum, ptr %a.i
  ret void
}

define internal void @turn(ptr %buffers, i64 %j, i64 %tid) {
  %arena = call ptr @buffer(ptr %buffers, i64 1)
  %y = call ptr @buffer(ptr %buffers, i64 5)
  %from = sub i64 11, %j
  %a.j = getelementptr float, ptr %arena, i64 %from
  %y.j = getelementptr float, ptr %y, i64 %j
  %term = load float, ptr %a.j
  %twice = fadd float %term, %term
  store float %twice, ptr %y.j
  ret void
}

define internal void @list(ptr %buffers, i64 %i, i64 %tid) {
entry:
  %x = call ptr @buffer(ptr %buffers, i64 4)
  %rows = call ptr @buffer(ptr %buffers, i64 6)
  br label %scan
scan:
  %k = phi i64 [0, %entry], [%k.next, %scan.end]
  %count = phi i64 [0, %entry], [%count.next, %scan.end]
  %x.k = getelementptr float, ptr %x, i64 %k
  %seen = load float, ptr %x.k
  %found = fcmp ogt float %seen, 0.0
  br i1 %found, label %take, label %scan.end
take:
  %place = add i64 %count, 16
  %row = getelementptr float, ptr %rows, i64 %place
  store float %seen, ptr %row
  br label %scan.end
scan.end:
  %one = zext i1 %found to i64
  %count.next = add i64 %count, %one
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, 12
  br i1 %k.more, label %scan, label %head
head:
  store i64 %count.next, ptr %rows
  ret void
}

define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
  %state = load ptr, ptr %buffers
  %b = add i64 %before, 12
  %c = add i64 %before, 24
  %d = add i64 %before, 25
  %did.a = call i64 @launch(ptr @add, i64 %before, i64 12, ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_barrier(ptr %state, i64 %did.a, i64 %b, i64 %threads)
  %did.b = call i64 @launch(ptr @turn, i64 %b, i64 12, ptr %buffers, i64 %tid, i64 %threads)
  %did.c = call i64 @launch(ptr @list, i64 %c, i64 1, ptr %buffers, i64 %tid, i64 %threads)
  %did = add i64 %did.b, %did.c
  call void @ncc_end(ptr %state, i64 %did, i64 %d, i64 %tid, i64 %threads)
  ret void
}
"""
)


# buffers: state, arena, weights, numbers, x (h * w floats), y (as many). Numbers: a word of the
# code, where the second part of the arena begins, h * w. Chunk by chunk, twice x is written there,
# and from there to y, in reverse.
TURNED = (
    LAUNCH
    + """
define internal ptr @buffer(ptr %buffers, i64 %number) {
  %at = getelementptr ptr, ptr %buffers, i64 %number
  %buffer = load ptr, ptr %at
  ret ptr %buffer
}

define internal i64 @number(ptr %buffers, i64 %word) {
  %numbers = call ptr @buffer(ptr %buffers, i64 3)
  %at = getelementptr i64, ptr %numbers, i64 %word
  %number = load i64, ptr %at
  ret i64 %number
}

define internal ptr @part(ptr %buffers) {
  %arena = call ptr @buffer(ptr %buffers, i64 1)
  %offset = call i64 @number(ptr %buffers, i64 0)
  %part = getelementptr i8, ptr %arena, i64 %offset
  ret ptr %part
}

define internal void @double(ptr %buffers, i64 %i, i64 %tid) {
  %part = call ptr @part(ptr %buffers)
  %x = call ptr @buffer(ptr %buffers, i64 4)
  %x.i = getelementptr float, ptr %x, i64 %i
  %a.i = getelementptr float, ptr %part, i64 %i
  %value = load float, ptr %x.i
  %sum = fadd float %value, %value
  store float %sum, ptr %a.i
  ret void
}

define internal void @turn(ptr %buffers, i64 %j, i64 %tid) {
  %part = call ptr @part(ptr %buffers)
  %y = call ptr @buffer(ptr %buffers, i64 5)
  %count = call i64 @number(ptr %buffers, i64 1)
  %last = sub i64 %count, 1
  %from = sub i64 %last, %j
  %a.j = getelementptr float, ptr %part, i64 %from
  %y.j = getelementptr float, ptr %y, i64 %j
  %term = load float, ptr %a.j
  store float %term, ptr %y.j
  ret void
}

define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
  %state = load ptr, ptr %buffers
  %n = call i64 @number(ptr %buffers, i64 1)
  %b = add i64 %before, %n
  %c = add i64 %b, %n
  %did.a = call i64 @launch(ptr @double, i64 %before, i64 %n, ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_barrier(ptr %state, i64 %did.a, i64 %b, i64 %threads)
  %did.b = call i64 @launch(ptr @turn, i64 %b, i64 %n, ptr %buffers, i64 %tid, i64 %threads)
  call void @ncc_end(ptr %state, i64 %did.b, i64 %c, i64 %tid, i64 %threads)
  ret void
}
"""
)


@pytest.fixture(scope="session")
def assemble() -> Assemble:
    """assemble(text, code_model="small", reloc="pic"): LLVM text as an ELF object."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()

    def compile_text(text: str, code_model: str = "small", reloc: str = "pic") -> bytes:
        module = binding.parse_assembly(text)
        module.verify()
        target = binding.Target.from_triple("x86_64-unknown-linux-gnu")
        machine = target.create_target_machine(
            cpu="x86-64", opt=2, reloc=reloc, codemodel=code_model, jit=False
        )
        return bytes(machine.emit_object(module))

    return compile_text


@pytest.fixture(scope="session")
def threads_object(assemble: Assemble) -> bytes:
    """The object with barrier, pool and entries."""
    return assemble(threads_text(BASELINE))


@pytest.fixture(scope="session")
def reverse(assemble: Assemble, threads_object: bytes) -> Artifact:
    """y = 2 * (x + 0.5) in reverse order, and the positive values of x; up to 4 threads."""
    return Artifact(
        objects=(assemble(REVERSE), threads_object),
        weights=np.full(40, 0.5, np.float32),
        arena_bytes=48,
        inputs=(Binding("data", (3, 4)),),
        outputs=(Binding("y", (3, 4)), Binding("rows", (12, 1), dynamic=True)),
        features=frozenset({"sse2"}),
        info={"model": "reverse", "kernels": [{"name": "k0", "µs": 1.5}]},
        threads=4,
    )


@pytest.fixture(scope="session")
def turned(assemble: Assemble, threads_object: bytes) -> Artifact:
    """y = 2 * x in reverse order, for images of any height and of 2 to 64 columns; up to 4 threads.

    It takes for granted that there are at least 6 pixels.
    """
    extents = Extent(0, 0, "data_h"), Extent(0, 1, "data_w")
    # Nodes: 0 h, 1 w, 2 is 4, 3 is 6, 4 is 0, 5 is 100, 6 h * w, 7 4 * h * w, 8 h * w - 6
    code = (MULTIPLY, 0, 1), (MULTIPLY, 6, 2), (SUBTRACT, 6, 3)
    sizes = Sizes(
        Program(extents, (4, 6, 0, 100), tuple(chain(*code))),
        (Condition(8, ">="),),
        ((0, 1),),
        (5, 7),
        Lifetimes(((0, 1), (0, 1))),
        ((4, 1), (6, NOWHERE)),
    )
    return Artifact(
        objects=(assemble(TURNED), threads_object),
        weights=b"",
        arena_bytes=0,
        inputs=(Binding("data", (-1, -1), ranges=((1, None), (2, 64))),),
        outputs=(Binding("y", (-1, -1)),),
        features=frozenset({"sse2"}),
        threads=4,
        sizes=sizes,
    )


@pytest.fixture
def workers() -> Workers:
    """workers(): threads of teams that are alive, of those that this test began.

    Models of other tests may still be waiting for the garbage collector, with theirs.
    """

    def alive() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("ncc-")}

    before = alive()
    return lambda: [*(alive() - before)]
