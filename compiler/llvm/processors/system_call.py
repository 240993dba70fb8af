"""System calls of Linux as machine code, for processors other than x86-64.

LLVM assembles text only for the processor that it runs on. So the call is machine code, which LLVM
puts in front of a function whose body is never reached. The numbers of calls are those that all
newer processors share (asm-generic/unistd.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

_FUTEX = """
; The system call of the first argument, with the others: $instructions
define internal i64 @ncc.system_call(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d)
    nounwind noinline prologue [$count x i32] [$code] {
  unreachable
}

define internal void @ncc.futex_wait(ptr %word, i32 %seen) nounwind noinline {
  ; futex(word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, no timeout)
  %at = ptrtoint ptr %word to i64
  %value = zext i32 %seen to i64
  %r = call i64 @ncc.system_call(i64 98, i64 %at, i64 128, i64 %value, i64 0)
  ret void
}

define internal void @ncc.futex_wake(ptr %word) nounwind noinline {
  ; futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, everybody)
  %at = ptrtoint ptr %word to i64
  %r = call i64 @ncc.system_call(i64 98, i64 %at, i64 129, i64 2147483647, i64 0)
  ret void
}
"""


def futex_text(instructions: str, code: Sequence[int]) -> str:
    """`ncc.futex_wait` and `ncc.futex_wake`, by a function of these instructions."""
    words = ", ".join(f"i32 {word - (word >> 31 << 32)}" for word in code)
    return Template(_FUTEX).substitute(instructions=instructions, count=len(code), code=words)
