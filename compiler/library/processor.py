"""LLVM text of the function that finds out whether a processor has what the code needs.

It is compiled for the fewest instructions, and is a member of its own in a static library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from string import Template

from ncc.compiler.library.api import with_symbols
from ncc.compiler.library.c_library import pointers_text
from ncc.compiler.library.machine import AARCH64, RISCV64, X86_64, Machine
from ncc.runtime import cpu, hardware_capabilities
from ncc.runtime.errors import ArtifactError

_CPUID = """
@needed = internal constant [$count x [4 x i32]] [$rows], align 16

; eax, ebx, ecx and edx; cpuid answers for a leaf that it does not have with another one.
define internal void @cpuid(i32 %leaf, i32 %subleaf, ptr %registers) nounwind {
  %found = call { i32, i32, i32, i32 } asm sideeffect "cpuid",
    "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %leaf, i32 %subleaf)
  store { i32, i32, i32, i32 } %found, ptr %registers, align 16
  ret void
}

define i32 @api.supported() nounwind {
entry:
  %registers = alloca [4 x i32], align 16
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %has ]
  %row = getelementptr [4 x i32], ptr @needed, i64 %n
  %leaf = load i32, ptr %row, align 4
  %group = and i32 %leaf, -2147483648
  call void @cpuid(i32 %group, i32 0, ptr %registers)
  %last = load i32, ptr %registers, align 4
  %absent = icmp ugt i32 %leaf, %last
  br i1 %absent, label %no, label %read
read:
  %subleaf.at = getelementptr i32, ptr %row, i64 1
  %register.at = getelementptr i32, ptr %row, i64 2
  %mask.at = getelementptr i32, ptr %row, i64 3
  %subleaf = load i32, ptr %subleaf.at, align 4
  %register = load i32, ptr %register.at, align 4
  %mask = load i32, ptr %mask.at, align 4
  call void @cpuid(i32 %leaf, i32 %subleaf, ptr %registers)
  %word.at = getelementptr i32, ptr %registers, i32 %register
  %word = load i32, ptr %word.at, align 4
  %found = and i32 %word, %mask
  %all = icmp eq i32 %found, %mask
  br i1 %all, label %has, label %no
has:
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, $count
  br i1 %more, label %look, label %saves
saves:
$saves
tiles:
$tiles
no:
  ret i32 0
}
"""

_XGETBV = """
  call void @cpuid(i32 1, i32 0, ptr %registers)
  %system.at = getelementptr i32, ptr %registers, i64 2
  %system = load i32, ptr %system.at, align 4
  %is.on = and i32 %system, $osxsave
  %none = icmp eq i32 %is.on, 0
  br i1 %none, label %no, label %state
state:
  %halves = call { i32, i32 } asm sideeffect "xgetbv",
    "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %half = extractvalue { i32, i32 } %halves, 0
  %saved = and i32 %half, $state
  %enough = icmp eq i32 %saved, $state
  br i1 %enough, label %tiles, label %no
"""

_ALLOW_TILES = """
  %refused = call i64 asm sideeffect "syscall",
    "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"
    (i64 $call, i64 $request, i64 $tiles)
  %allowed = icmp eq i64 %refused, 0
  %answer = zext i1 %allowed to i32
  ret i32 %answer
"""


def _x86_64(features: frozenset[str]) -> str:
    """The processor says what it has, and which registers the system saves. For matrix tiles, the
    system is asked for permission, which holds for the whole process.
    """
    _require_known(name for name in features if not cpu.words_of([name]))
    words, state = cpu.words_of(features), cpu.saved_state_of(features)
    rows = (", ".join(f"i32 {n - (n >> 31 << 32)}" for n in row) for row in words)
    call, request, tiles = cpu.TILES_REQUEST
    allow = Template(_ALLOW_TILES).substitute(call=call, request=request, tiles=tiles)
    xgetbv = Template(_XGETBV).substitute(osxsave=1 << cpu.OSXSAVE, state=state)
    return Template(_CPUID).substitute(
        count=len(words),
        rows=", ".join(f"[4 x i32] [{row}]" for row in rows),
        saves=xgetbv if state else "  br label %tiles",
        tiles=allow if "amx_tile" in features else "  ret i32 1",
    )


_OF_LINUX = {"getauxval": ("i64", "i64")}

_AUXILIARY = """
$c_library

define i32 @api.supported() nounwind {
  %getauxval = load ptr, ptr @c.getauxval, align 8
  %all.0 = icmp eq i64 0, 0
$rows
  %answer = zext i1 %all.$count to i32
  ret i32 %answer
}
"""

_WORD = """
  %word.$n = call i64 %getauxval(i64 $number)
  %found.$n = and i64 %word.$n, $mask
  %has.$n = icmp eq i64 %found.$n, $mask
  %all.$next = and i1 %all.$n, %has.$n
"""


def _by_system(machine: str, features: frozenset[str]) -> str:
    """Linux says what the processor has."""
    words_of = partial(hardware_capabilities.words_of, machine)
    _require_known(name for name in features if not words_of([name]))
    words = words_of(features).items()
    rows = (
        Template(_WORD).substitute(n=n, next=n + 1, number=number, mask=mask)
        for n, (number, mask) in enumerate(words)
    )
    return Template(_AUXILIARY).substitute(
        c_library=pointers_text(_OF_LINUX), rows="".join(rows), count=len(words)
    )


def _require_known(unknown: Iterable[str]) -> None:
    """Raise for features that no question to a processor is known for."""
    if names := ", ".join(sorted(unknown)):
        raise ArtifactError(
            f"the code needs {names}, which this ncc does not know: compile it again"
        )


C_LIBRARY: Mapping[str, Iterable[str]] = {
    X86_64.name: (),
    AARCH64.name: _OF_LINUX,
    RISCV64.name: _OF_LINUX,
}
"""The functions of the C library that are called."""

_TEXTS: Mapping[str, Callable[[frozenset[str]], str]] = {
    X86_64.name: _x86_64,
    AARCH64.name: partial(_by_system, AARCH64.name),
    RISCV64.name: partial(_by_system, RISCV64.name),
}


def processor_text(machine: Machine, features: frozenset[str], symbols: Mapping[str, str]) -> str:
    """The function, for features as /proc/cpuinfo names them. symbols: its name in objects.

    Raises ArtifactError for features that are not known.
    """
    return with_symbols(_TEXTS[machine.name](features), symbols)
