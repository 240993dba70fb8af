"""Relocations, by the rules of each machine."""

from __future__ import annotations

import struct

import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.library.machine import AARCH64, MACHINES, X86_64, Machine
from ncc.runtime import cpu

HERE = 0x1_0000_1230


def stored(machine: Machine, kind: int, word: int, value: int) -> int:
    """A word of code after the relocation."""
    content = bytearray(struct.pack("<QQ", 0, word))
    machine.kinds[kind].store(content, 8, HERE, value)
    assert content[:8] == bytes(8)
    (made,) = struct.unpack_from("<Q", content, 8)
    return int(made)


def test_distances_of_x86_64() -> None:
    """32 bits hold a distance forth and back, and no longer one."""
    assert stored(X86_64, 2, 0, HERE + 5) == 5
    assert stored(X86_64, 4, 0, HERE - 5) == 0xFFFFFFFB
    assert stored(X86_64, 24, 0, HERE - 5) == 2**64 - 5
    with pytest.raises(CompilerBug, match="does not reach"):
        stored(X86_64, 2, 0, HERE + (1 << 31))


@pytest.mark.parametrize(
    ("kind", "word", "value", "expected"),
    [
        (275, 0x90000000, 0x1_0000_1FFF, 0x90000000),  # adrp x0: the same page
        (275, 0x90000000, 0x1_0000_2000, 0xB0000000),  # the next one
        (275, 0x90000001, 0x1_0000_0FFF, 0xF0FFFFE1),  # the one before
        (277, 0x91000000, 0xABC, 0x912AF000),  # add x0, x0, #0xabc
        (278, 0x39400000, 0xABC, 0x396AF000),  # ldrb
        (284, 0x79400000, 0xABC, 0x79557800),  # ldrh
        (285, 0xB9400000, 0xABC, 0xB94ABC00),  # ldr w
        (286, 0xF9400000, 0xAB8, 0xF9455C00),  # ldr x
        (299, 0x3DC00000, 0xAB0, 0x3DC2AC00),  # ldr q
        (283, 0x94000000, HERE + 8, 0x94000002),  # bl
        (282, 0x14000000, HERE - 4, 0x17FFFFFF),  # b
    ],
)
def test_instructions_of_aarch64(kind: int, word: int, value: int, expected: int) -> None:
    """A value goes into the bits that the instruction has for it, as assemblers write them."""
    assert stored(AARCH64, kind, word, value) == expected


@pytest.mark.parametrize(("kind", "value"), [(283, HERE + (1 << 27)), (275, HERE + (1 << 32))])
def test_what_instructions_of_aarch64_do_not_reach(kind: int, value: int) -> None:
    """Branches reach 128 MB, and pages 4 GB."""
    with pytest.raises(CompilerBug, match="does not reach"):
        stored(AARCH64, kind, 0, value)


def test_the_fewest_instructions_are_a_target() -> None:
    """Code that asks the processor is compiled for a target that the compiler has."""
    assert X86_64.baseline in cpu.TARGETS
    assert {machine.name for machine in MACHINES.values()} == {"x86-64", "aarch64"}
