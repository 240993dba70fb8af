"""Objects and a small model for the runtime's tests, compiled from LLVM text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from ncc.compiler.llvm.threads import threads_text
from ncc.runtime.artifact import Artifact, Binding

Assemble: TypeAlias = Callable[..., bytes]

# buffers: state, arena, weights, x (12 floats), y (12 floats), rows (dynamic, at most 12 x 1).
# Each thread writes its share of x + weights[0] into the arena; behind a barrier, each writes
# its share of y = twice the arena, in reverse; thread 0 lists the positive values of x as rows.
REVERSE = """
declare void @ncc_barrier(ptr, i64)

define void @run(ptr %buffers, i64 %tid, i64 %threads) {
entry:
  %arena.at = getelementptr ptr, ptr %buffers, i64 1
  %weights.at = getelementptr ptr, ptr %buffers, i64 2
  %x.at = getelementptr ptr, ptr %buffers, i64 3
  %y.at = getelementptr ptr, ptr %buffers, i64 4
  %rows.at = getelementptr ptr, ptr %buffers, i64 5
  %state = load ptr, ptr %buffers
  %arena = load ptr, ptr %arena.at
  %weights = load ptr, ptr %weights.at
  %x = load ptr, ptr %x.at
  %y = load ptr, ptr %y.at
  %rows = load ptr, ptr %rows.at
  %shift = load float, ptr %weights
  %next = add i64 %tid, 1
  %low = mul i64 %tid, 12
  %high = mul i64 %next, 12
  %first = udiv i64 %low, %threads
  %last = udiv i64 %high, %threads
  br label %add
add:
  %i = phi i64 [%first, %entry], [%i.next, %add]
  %x.i = getelementptr float, ptr %x, i64 %i
  %a.i = getelementptr float, ptr %arena, i64 %i
  %value = load float, ptr %x.i
  %sum = fadd float %value, %shift
  store float %sum, ptr %a.i
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %last
  br i1 %i.more, label %add, label %meet
meet:
  call void @ncc_barrier(ptr %state, i64 %threads)
  br label %turn
turn:
  %j = phi i64 [%first, %meet], [%j.next, %turn]
  %from = sub i64 11, %j
  %a.j = getelementptr float, ptr %arena, i64 %from
  %y.j = getelementptr float, ptr %y, i64 %j
  %term = load float, ptr %a.j
  %twice = fadd float %term, %term
  store float %twice, ptr %y.j
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, %last
  br i1 %j.more, label %turn, label %list
list:
  %chief = icmp eq i64 %tid, 0
  br i1 %chief, label %scan, label %done
scan:
  %k = phi i64 [0, %list], [%k.next, %scan.end]
  %count = phi i64 [0, %list], [%count.next, %scan.end]
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
  br label %done
done:
  ret void
}
"""


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
    return assemble(threads_text())


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
