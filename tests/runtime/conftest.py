"""Objects for the runtime's tests, compiled from LLVM text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Assemble = Callable[..., bytes]


@pytest.fixture(scope="session")
def assemble() -> Assemble:
    """assemble(text, cpu="x86-64", code_model="small", reloc="pic"): LLVM text as an ELF object."""
    from llvmlite import binding  # type: ignore[import-untyped]

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()

    def compile_text(
        text: str, cpu: str = "x86-64", code_model: str = "small", reloc: str = "pic"
    ) -> bytes:
        module = binding.parse_assembly(text)
        module.verify()
        target = binding.Target.from_triple("x86_64-unknown-linux-gnu")
        machine = target.create_target_machine(
            cpu=cpu, opt=2, reloc=reloc, codemodel=code_model, jit=False
        )
        return bytes(machine.emit_object(module))

    return compile_text
