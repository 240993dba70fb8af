"""Every target has its table of instructions, and threads of every processor become an object."""

from __future__ import annotations

import struct

import pytest

from ncc.compiler.llvm.object_code import emit_assembly, emit_object
from ncc.compiler.llvm.processors.find import PROCESSORS, processor_of
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import NEON, TARGETS, Target
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


def test_a_system_call_is_a_function() -> None:
    """Its machine code, which ends with `svc #0; ret`, is in front of the function."""
    text = emit_assembly(threads_text(NEON), NEON)
    code = text.partition("ncc.system_call:")[2].partition("ncc.futex_wait:")[0]
    assert code.index(str(0xD4000001)) < code.index(str(0xD65F03C0))


def test_the_counter_of_arm_is_that_of_the_system() -> None:
    """The counter of cycles would trap in programs."""
    text = emit_assembly(threads_text(NEON), NEON)
    assert "CNTVCT_EL0" in text and "CNTFRQ_EL0" in text and "PMCCNTR" not in text
