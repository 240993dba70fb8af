"""LLVM text as machine code.

LLVM runs no optimization passes, because the lowering writes optimized code. The only exception: it
inlines the functions that say `alwaysinline` (those of the math library). Its code generator
goes without strength reduction of loops: addresses move with their loops already, and half of all
the time would go into not finding better ones.
"""

from __future__ import annotations

import re
from functools import cache
from threading import RLock

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.library import LlvmLibrary, Machine, Refused
from ncc.compiler.target import Target
from ncc.runtime.machine_code import undefined_symbols

STAGE = "make machine code"

TRIPLE = "x86_64-unknown-linux-gnu"

USUAL = 2
"""How much of its effort LLVM's code generator makes, of 0 to 3."""

_one_at_a_time = RLock()


def emit_object(text: str, target: Target, effort: int = USUAL) -> bytes:
    """An ELF object for LLVM text.

    effort: LLVM's, 0 for code that takes no time to run, and a tenth to be made.

    Raises CompilerBug, with the text, where LLVM refuses it, and where the code came to need a
    function that the text does not name: compiled code has no library to find `memset` in.
    """
    image = _emitted(text, target, effort)
    if needed := undefined_symbols(image):
        declared = re.findall(r"^declare .*?@([\w.]+)\(", text, re.MULTILINE)
        if missing := needed.difference(declared):
            names = ", ".join(sorted(missing))
            raise CompilerBug(f"compiled code calls {names}", pass_name=STAGE, dump=text)
    return image


def emit_assembly(text: str, target: Target) -> str:
    """The assembly for LLVM text. Raises CompilerBug, with the text, where LLVM refuses it."""
    return _emitted(text, target, USUAL, as_object=False).decode()


def load(target: Target) -> None:
    """Load LLVM for a target now, not when it is first needed."""
    with _one_at_a_time:
        _machine(target, USUAL)


def unmap_code() -> None:
    """Give back the memory of LLVM's code, if it was loaded: it is mapped again when it is called.

    The process of a user goes on for long, and may never compile again.
    """
    if _llvm.cache_info().currsize:
        _llvm().unmap_code()


def _emitted(text: str, target: Target, effort: int, as_object: bool = True) -> bytes:
    """Machine code, with the functions inlined that ask for it."""
    with _one_at_a_time:
        llvm, machine = _llvm(), _machine(target, effort)
        try:
            with llvm.module(text, TRIPLE, _data_layout(target)) as module:
                if " alwaysinline" in text:
                    llvm.inline(module, machine)
                return llvm.code(module, machine, as_object)
        except Refused as refused:
            message = f"LLVM refuses the text: {refused}"
            raise CompilerBug(message, pass_name=STAGE, dump=text) from refused


@cache
def _llvm() -> LlvmLibrary:
    """LLVM, with what is chosen for the whole process.

    Other users of llvmlite in it do without strength reduction, too.
    """
    return LlvmLibrary("-disable-lsr")


@cache
def _machine(target: Target, effort: int) -> Machine:
    """LLVM's code generator for a target."""
    return _llvm().machine(TRIPLE, target.cpu, target.instructions, effort)


@cache
def _data_layout(target: Target) -> str:
    """How LLVM lays out values of a target."""
    return _llvm().data_layout(_machine(target, USUAL))
