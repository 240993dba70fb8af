"""aarch64, on Linux and Android: its named instructions, and how its threads wait."""

from __future__ import annotations

from ncc.compiler.llvm.processors.processor import Processor
from ncc.compiler.llvm.processors.system_call import futex_text

_FUTEX = futex_text(
    "mov x8, x0; mov x0, x1; mov x1, x2; mov x2, x3; mov x3, x4; svc #0; ret",
    (0xAA0003E8, 0xAA0103E0, 0xAA0203E1, 0xAA0303E2, 0xAA0403E3, 0xD4000001, 0xD65F03C0),
)

_SPIN = """
declare i64 @llvm.readcyclecounter()
declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.read_register.i64(metadata)

define internal void @ncc.pause() nounwind alwaysinline {
  call void @llvm.aarch64.hint(i32 1) ; yield
  ret void
}

; CNTVCT_EL0, the counter of the system
define internal i64 @ncc.ticks() nounwind alwaysinline {
  %now = call i64 @llvm.readcyclecounter()
  ret i64 %now
}

; The ticks of this counter, of 1 MHz to 1 GHz, in which another one of 2 GHz has so many.
define internal i64 @ncc.patience(i64 %ticks) nounwind alwaysinline {
  %frequency = call i64 @llvm.read_register.i64(metadata !0)
  %product = mul i64 %ticks, %frequency
  %scaled = udiv i64 %product, 2000000000
  ret i64 %scaled
}

!0 = !{!"CNTFRQ_EL0"}
"""

_FLUSH = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

; The upper half of FPCR is reserved.
define internal void @ncc.flush(ptr %saved) nounwind alwaysinline {
  %mode = call i64 @llvm.aarch64.get.fpcr()
  %half = trunc i64 %mode to i32
  store i32 %half, ptr %saved, align 4
  %flushing = or i64 %mode, 16777216 ; FZ is bit 24: denormal operands and results are zeros
  call void @llvm.aarch64.set.fpcr(i64 %flushing)
  ret void
}

define internal void @ncc.restore(ptr %saved) nounwind alwaysinline {
  %half = load i32, ptr %saved, align 4
  %mode = zext i32 %half to i64
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}
"""

AARCH64 = Processor(
    family="aarch64",
    threads=_FUTEX + _SPIN + _FLUSH,
    keeps_nan=True,
    dot_signed_bytes={4: "llvm.aarch64.neon.sdot.v4i32.v16i8"},
    matrix_bytes="llvm.aarch64.neon.smmla.v4i32.v16i8",
    nearest={0: "llvm.aarch64.neon.fcvtas.i32.f32", 4: "llvm.aarch64.neon.fcvtas.v4i32.v4f32"},
    short_vectors=False,
)
