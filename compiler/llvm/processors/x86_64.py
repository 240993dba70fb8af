"""x86-64, on Linux: its named instructions, and how its threads wait.

The system calls are inline assembly, which LLVM takes for the processor that it runs on.
"""

from __future__ import annotations

from ncc.compiler.llvm.processors.processor import Processor

_FUTEX = """
define internal void @ncc.futex_wait(ptr %word, i32 %seen) nounwind noinline {
  ; futex(word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, no timeout)
  %r = call i64 asm sideeffect "syscall",
    "={rax},{rax},{rdi},{rsi},{rdx},{r10},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"
    (i64 202, ptr %word, i64 128, i32 %seen, i64 0)
  ret void
}

define internal void @ncc.futex_wake(ptr %word) nounwind noinline {
  ; futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, everybody)
  %r = call i64 asm sideeffect "syscall",
    "={rax},{rax},{rdi},{rsi},{rdx},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"
    (i64 202, ptr %word, i64 129, i64 2147483647)
  ret void
}
"""

_SPIN = """
declare i64 @llvm.readcyclecounter()
declare void @llvm.x86.sse2.pause()

define internal void @ncc.pause() nounwind alwaysinline {
  call void @llvm.x86.sse2.pause()
  ret void
}

define internal i64 @ncc.ticks() nounwind alwaysinline {
  %now = call i64 @llvm.readcyclecounter()
  ret i64 %now
}

; The time-stamp counter has one frequency, that of the core without turbo: 2 to 4 GHz.
define internal i64 @ncc.patience(i64 %ticks) nounwind alwaysinline {
  ret i64 %ticks
}
"""

_FLUSH = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal void @ncc.flush(ptr %saved) nounwind alwaysinline {
  %inside = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %mode = load i32, ptr %saved, align 4
  %flushing = or i32 %mode, 32832 ; FTZ is bit 15, DAZ is bit 6
  store i32 %flushing, ptr %inside, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %inside)
  ret void
}

define internal void @ncc.restore(ptr %saved) nounwind alwaysinline {
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}
"""

X86_64 = Processor(
    family="x86",
    threads=_FUTEX + _SPIN + _FLUSH,
    extremum={
        4: "llvm.x86.sse.{}.ps",
        8: "llvm.x86.avx.{}.ps.256",
        16: "llvm.x86.avx512.{}.ps.512",
    },
    paired_products={
        4: "llvm.x86.sse2.pmadd.wd",
        8: "llvm.x86.avx2.pmadd.wd",
        16: "llvm.x86.avx512.pmaddw.d.512",
    },
    dot_bytes={count: f"llvm.x86.avx512.vpdpbusd.{32 * count}" for count in (4, 8, 16)},
)
