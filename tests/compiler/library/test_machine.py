"""What each machine's loaders and linkers want."""

from __future__ import annotations

from ncc.compiler.library.machine import AARCH64, MACHINES, RISCV64, X86_64
from ncc.runtime import cpu


def test_the_fewest_instructions_are_a_target() -> None:
    """Code that asks the processor is compiled for a target that the compiler has."""
    for number, machine in MACHINES.items():
        assert cpu.architecture_of(machine.baseline) == machine.name
        narrowest = [t for t in cpu.TARGETS if cpu.architecture_of(t) == machine.name][-1]
        assert narrowest == machine.baseline and number in (62, 183, 243)


def test_addresses_of_32_bits_are_not_for_shared_objects() -> None:
    """All other relocations are, and the address of 64 bits is one of them."""
    assert 10 not in X86_64.relocations and 11 not in X86_64.relocations
    for machine, name in (
        (X86_64, "R_X86_64_64"),
        (AARCH64, "R_AARCH64_ABS64"),
        (RISCV64, "R_RISCV_64"),
    ):
        assert machine.relocations[machine.address].name == name
        absolute = [one.name for one in machine.relocations.values() if one.name.endswith("ABS32")]
        assert not absolute
