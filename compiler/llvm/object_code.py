"""LLVM text as machine code.

LLVM runs no optimization passes, because the lowering writes optimized code. There is one
exception: it inlines functions with the attribute `alwaysinline` (those of the math library). The
code generator does no strength reduction of loops: addresses already move with their loops, and the
pass would take half of the time and find no better ones.
"""

from __future__ import annotations

import re
from functools import cache
from threading import RLock

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.llvm.library import HOST, LlvmLibrary, Machine, Refused
from ncc.compiler.llvm.processors.find import processor_of
from ncc.compiler.target import Target
from ncc.runtime.elf import undefined_symbols

STAGE = "make machine code"

USUAL = 2
"""The effort of LLVM's code generator, from 0 to 3."""

_DECLARED = re.compile(r"^(?:declare .*?)?@([\w.]+)(?:\(| = external )", re.MULTILINE)
"""Functions and data of other objects, in the text."""

FAMILIES = frozenset(
    "aarch64 amdgcn arm bpf cuda dx hexagon loongarch mips nvvm ppc r600 riscv s390 spv ve wasm x86"
    " xcore".split()
)
"""Families of processors in the names of LLVM's intrinsics."""

_OF_A_FAMILY = re.compile(r"@llvm\.(\w+)\.")
_ASSEMBLY = re.compile(r"\basm\b.*\"")

_one_at_a_time = RLock()


def emit_object(text: str, target: Target, effort: int = USUAL) -> bytes:
    """An ELF object for LLVM text.

    effort: LLVM's; 0 is for code that takes no time to run, and compiles ten times as fast.

    Raises CompilerBug, with the text, if LLVM refuses it, or if the code needs a function that the
    text does not name: compiled code has no library with `memset`.
    """
    image = _emitted(text, target, effort)
    if needed := undefined_symbols(image):
        declared = _DECLARED.findall(text)
        if missing := needed.difference(declared):
            names = ", ".join(sorted(missing))
            raise CompilerBug(f"compiled code calls {names}", pass_name=STAGE, dump=text)
    return image


def emit_assembly(text: str, target: Target) -> str:
    """The assembly for LLVM text. Raises CompilerBug, with the text, if LLVM refuses it."""
    return _emitted(text, target, USUAL, as_object=False).decode()


def load(target: Target) -> None:
    """Load LLVM for a target now, not when it is first needed."""
    with _one_at_a_time:
        _machine(target, USUAL)


def unmap_code() -> None:
    """Drop LLVM's code from memory, if it was loaded; the system maps it again when it is called.

    The process of a user may run for long, and never compile again.
    """
    if _llvm.cache_info().currsize:
        _llvm().unmap_code()


def _emitted(text: str, target: Target, effort: int, as_object: bool = True) -> bytes:
    """Machine code, after inlining."""
    _refuse_foreign(text, target)
    with _one_at_a_time:
        llvm, machine = _llvm(), _machine(target, effort)
        try:
            with llvm.module(text, target.triple, _data_layout(target)) as module:
                if " alwaysinline" in text:
                    llvm.inline(module, machine)
                return llvm.code(module, machine, as_object)
        except Refused as refused:
            message = f"LLVM refuses the text: {refused}"
            raise CompilerBug(message, pass_name=STAGE, dump=text) from refused


def _refuse_foreign(text: str, target: Target) -> None:
    """Raise for a text with intrinsics or assembly that LLVM cannot take for the target.

    LLVM has no error for them: it would end the process.
    """
    own = processor_of(target).family
    foreign = set(_OF_A_FAMILY.findall(text)) - {own}
    if found := FAMILIES.intersection(foreign):
        message = f"intrinsics of {', '.join(sorted(found))} for the target {target.name}"
        raise CompilerBug(message, pass_name=STAGE, dump=text)
    if target.architecture != HOST and _ASSEMBLY.search(text):
        raise Unsupported(
            f"compiling for {target.name} on {HOST}",
            nearest=f"a machine with {target.architecture}",
        )


@cache
def _llvm() -> LlvmLibrary:
    """LLVM, with the options of the whole process.

    Other users of llvmlite in this process get no strength reduction, either.
    """
    return LlvmLibrary("-disable-lsr")


@cache
def _machine(target: Target, effort: int) -> Machine:
    """LLVM's code generator for a target."""
    return _llvm().machine(target.triple, target.cpu, target.instructions, effort)


@cache
def _data_layout(target: Target) -> str:
    """How LLVM lays out values of a target."""
    return _llvm().data_layout(_machine(target, USUAL))
