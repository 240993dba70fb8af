"""LLVM text as machine code.

LLVM runs no optimization of its own, since the lowering has written what is wanted, except that it
inlines the functions that say `alwaysinline` (those of the math library). Even of what its code
generator does by itself, the reduction of strength in loops is left out: addresses move with their
loops already, and half of all the time would go into not finding better ones.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.target import Target

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

STAGE = "make machine code"

TRIPLE = "x86_64-unknown-linux-gnu"

USUAL = 2
"""How much of its effort LLVM's code generator makes, of 0 to 3."""


def emit_object(text: str, target: Target, effort: int = USUAL) -> bytes:
    """An ELF object for LLVM text.

    effort: LLVM's, 0 for code that takes no time to run, and a tenth to be made.

    Raises CompilerBug, with the text, where LLVM refuses it, and where the code came to need a
    function that the text does not name: compiled code has no library to find `memset` in.
    """
    machine = _machine(target, effort)
    image = bytes(machine.emit_object(_parse(text, target, machine)))
    declared = re.findall(r"^declare .*?@([\w.]+)\(", text, re.MULTILINE)
    missing = set(undefined_symbols(image)) - set(declared)
    if missing:
        names = ", ".join(sorted(missing))
        raise CompilerBug(f"compiled code calls {names}", pass_name=STAGE, dump=text)
    return image


def emit_assembly(text: str, target: Target) -> str:
    """The assembly for LLVM text. Raises CompilerBug, with the text, where LLVM refuses it."""
    machine = _machine(target, USUAL)
    return str(machine.emit_assembly(_parse(text, target, machine)))


@cache
def _set_up() -> None:
    """Load LLVM, which takes 0.1 s, and choose what holds for the whole process.

    Other users of llvmlite in it do without strength reduction, too.
    """
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    binding.set_option("ncc", "-disable-lsr")


@cache
def _machine(target: Target, effort: int) -> TargetMachine:
    """LLVM's code generator for a target."""
    _set_up()
    from llvmlite import binding

    return binding.Target.from_triple(TRIPLE).create_target_machine(
        cpu=target.cpu,
        features=target.instructions,
        opt=effort,
        reloc="pic",
        codemodel="small",
        jit=False,
    )


@cache
def _data_layout(target: Target) -> str:
    """How LLVM lays out values of a target."""
    return str(_machine(target, USUAL).target_data)


def _parse(text: str, target: Target, machine: TargetMachine) -> ModuleRef:
    """The text as LLVM's module, with the functions inlined that ask for it."""
    from llvmlite import binding

    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompilerBug(f"LLVM refuses the text: {error}", pass_name=STAGE, dump=text) from error
    module.triple = TRIPLE
    module.data_layout = _data_layout(target)
    if " alwaysinline" in text:
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(module, binding.create_pass_builder(machine, binding.PipelineTuningOptions()))
    return module


# ELF-64: where the header says its sections are, and what a section and a symbol are made of
# (System V ABI, chapter 4).
_SECTION_TABLE = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2


def undefined_symbols(image: bytes) -> Iterator[str]:
    """The names that an ELF object expects somebody else to define."""
    table, size, count, _ = _SECTION_TABLE.unpack_from(image)
    sections = [_SECTION.unpack_from(image, table + size * n) for n in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind == _SYMBOL_TABLE:
            names = sections[link][4]
            # The first symbol stands for none.
            for place in range(offset + _SYMBOL.size, offset + length, _SYMBOL.size):
                name, _, _, section, _, _ = _SYMBOL.unpack_from(image, place)
                if section == 0:
                    start = names + name
                    yield image[start : image.index(b"\0", start)].decode()
