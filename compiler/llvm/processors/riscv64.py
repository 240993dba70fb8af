"""riscv64 with the vector extension, on Linux: how its threads wait."""

from __future__ import annotations

from ncc.compiler.llvm.processors.futex import futex_text
from ncc.compiler.llvm.processors.processor import Processor

_SYSTEM_CALL = (
    0x000508B3,  # add a7, a0, zero
    0x00058533,  # add a0, a1, zero
    0x000605B3,  # add a1, a2, zero
    0x00068633,  # add a2, a3, zero
    0x000706B3,  # add a3, a4, zero
    0x00000073,  # ecall
    0x00008067,  # ret
)

# No program can ask how fast its counter counts, so that a thread that waits sleeps at once.
# Denormal numbers take no longer than others, and there is no mode that flushes them.
_SPIN = """
define internal void @ncc.pause() nounwind alwaysinline {
  ret void
}

define internal i64 @ncc.ticks() nounwind alwaysinline {
  ret i64 0
}

define internal i64 @ncc.patience(i64 %ticks) nounwind alwaysinline {
  ret i64 0
}

define internal void @ncc.flush(ptr %saved) nounwind alwaysinline {
  ret void
}

define internal void @ncc.restore(ptr %saved) nounwind alwaysinline {
  ret void
}
"""

RISCV64 = Processor(family="riscv", threads=futex_text(98, _SYSTEM_CALL) + _SPIN)
