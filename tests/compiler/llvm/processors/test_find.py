"""Every target has its table of instructions, and threads of every processor become an object."""

from __future__ import annotations

import struct

import pytest

from ncc.compiler.llvm.object_code import emit_assembly, emit_object
from ncc.compiler.llvm.processors.find import PROCESSORS, processor_of
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import NEON, RVV, TARGETS, Target
from ncc.runtime.elf import undefined_symbols
from ncc.runtime.relocations import MACHINES

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@targets
def test_a_target_has_the_instructions_that_it_promises(target: Target) -> None:
    """A dot product of bytes for its vectors; none for a target without."""
    processor = processor_of(target)
    names = processor.dot_signed_bytes if target.dot_signed else processor.dot_bytes
    assert not target.dot or target.lanes in names


@targets
def test_threads_are_code_of_the_processor(target: Target) -> None:
    """It needs nothing but the network, on any host."""
    image = emit_object(threads_text(target), target)
    _, machine = struct.unpack_from("<HH", image, 16)
    assert MACHINES[machine] == target.architecture
    assert undefined_symbols(image) == {"run"}


def test_intrinsics_are_of_the_family() -> None:
    """Tables name no instruction of another processor."""
    for processor in PROCESSORS.values():
        tables = processor.extremum, processor.paired_products, processor.dot_bytes
        names = [name for table in tables for name in table.values()]
        names += processor.dot_signed_bytes.values()
        assert all(name.startswith(f"llvm.{processor.family}.") for name in names)


@pytest.mark.parametrize(
    ("target", "call", "leave"),
    [(NEON, 0xD4000001, 0xD65F03C0), (RVV, 0x00000073, 0x00008067)],  # svc #0, ecall; ret
)
def test_a_system_call_is_a_function(target: Target, call: int, leave: int) -> None:
    """Its machine code, which ends with the call and a return, is in front of the function."""
    text = emit_assembly(threads_text(target), target)
    code = text.partition("ncc.system_call:")[2].partition("ncc.futex_wait:")[0]
    assert code.index(f"\t{call}\n") < code.index(f"\t{leave}\n")


def test_the_counter_of_riscv64_is_the_time() -> None:
    """The counter of cycles would trap in programs."""
    text = emit_assembly(threads_text(RVV), RVV)
    assert "rdtime" in text and "rdcycle" not in text


def test_the_counter_of_arm_is_that_of_the_system() -> None:
    """The counter of cycles would trap in programs."""
    text = emit_assembly(threads_text(NEON), NEON)
    assert "CNTVCT_EL0" in text and "CNTFRQ_EL0" in text and "PMCCNTR" not in text
