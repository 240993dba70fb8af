"""Waiting and waking by the futex of Linux, where the system call is machine code."""

from __future__ import annotations

from collections.abc import Sequence

_TEXT = """
define internal i64 @ncc.system_call(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d)
    nounwind noinline prologue [COUNT x i32] [CODE] {
  unreachable ; the machine code in front returns
}

define internal void @ncc.futex_wait(ptr %word, i32 %seen) nounwind noinline {
  ; futex(word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, no timeout)
  %at = ptrtoint ptr %word to i64
  %value = zext i32 %seen to i64
  %r = call i64 @ncc.system_call(i64 NUMBER, i64 %at, i64 128, i64 %value, i64 0)
  ret void
}

define internal void @ncc.futex_wake(ptr %word) nounwind noinline {
  ; futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, everybody)
  %at = ptrtoint ptr %word to i64
  %r = call i64 @ncc.system_call(i64 NUMBER, i64 %at, i64 129, i64 2147483647, i64 0)
  ret void
}
"""


def futex_text(number: int, system_call: Sequence[int]) -> str:
    """The LLVM text of `ncc.futex_wait` and `ncc.futex_wake`.

    number: that of the system call. system_call: the machine code of a function that makes the
    system call of its first argument with the other four, and returns.
    """
    code = ", ".join(f"i32 {word}" for word in system_call)
    text = _TEXT.replace("COUNT", str(len(system_call))).replace("CODE", code)
    return text.replace("NUMBER", str(number))
