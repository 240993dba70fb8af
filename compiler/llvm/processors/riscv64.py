"""riscv64, on Linux: how its threads wait. LLVM chooses all other instructions by itself."""

from __future__ import annotations

from ncc.compiler.llvm.processors.processor import Processor
from ncc.compiler.llvm.processors.system_call import futex_text

_FUTEX = futex_text(
    "mv a7, a0; mv a0, a1; mv a1, a2; mv a2, a3; mv a3, a4; ecall; ret",
    (0x00050893, 0x00058513, 0x00060593, 0x00068613, 0x00070693, 0x00000073, 0x00008067),
)

_SPIN = """
declare i64 @llvm.readsteadycounter()
declare void @llvm.riscv.pause()

define internal void @ncc.pause() nounwind alwaysinline {
  call void @llvm.riscv.pause()
  ret void
}

; The time: programs may not read the counter of cycles.
define internal i64 @ncc.ticks() nounwind alwaysinline {
  %now = call i64 @llvm.readsteadycounter()
  ret i64 %now
}

; No program can ask for the frequency, of 1 to 50 MHz: this is for 10 MHz.
define internal i64 @ncc.patience(i64 %ticks) nounwind alwaysinline {
  %scaled = udiv i64 %ticks, 200
  ret i64 %scaled
}
"""

_FLUSH = """
; There is no mode in which denormal numbers are zeros.
define internal void @ncc.flush(ptr %saved) nounwind alwaysinline {
  ret void
}

define internal void @ncc.restore(ptr %saved) nounwind alwaysinline {
  ret void
}
"""

RISCV64 = Processor(family="riscv", threads=_FUTEX + _SPIN + _FLUSH)
