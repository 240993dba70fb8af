"""The numbers of a machine in shared objects.

`ncc.runtime.relocations` has its relocations. One of them is a distance, which a shared object
knows, or an address, which only the loader knows. Code reaches what it does not see through a table
of addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ncc.runtime.relocations import MACHINES as NAMES
from ncc.runtime.relocations import RELOCATIONS, Relocation


@dataclass(frozen=True)
class Machine:
    """A kind of processors, as linkers and loaders see it."""

    name: str
    baseline: str
    """The target with the fewest instructions, for code that finds out whether others are there."""
    page: int
    """The largest pages that its systems have: rights change at multiples of it."""
    address: int
    """The type of a relocation that is an address of 64 bits, for the loader as well."""
    relative: int
    """The loader's: an address in the shared object."""
    short: frozenset[int] = frozenset()
    """The types that are addresses of 32 bits, which no shared object has."""

    @cached_property
    def relocations(self) -> Mapping[int, Relocation]:
        """The types of relocations that a shared object can have, by their numbers."""
        known = RELOCATIONS[self.name]
        return {kind: known[kind] for kind in known.keys() - self.short}


X86_64 = Machine("x86_64", "baseline", 0x1000, address=1, relative=8, short=frozenset({10, 11}))
AARCH64 = Machine("aarch64", "neon", 0x10000, address=257, relative=1027)
"""Some of its systems have pages of 64 KB."""
RISCV64 = Machine("riscv64", "rvv", 0x1000, address=2, relative=3)

MACHINES: Mapping[int, Machine] = {
    number: machine
    for number, name in NAMES.items()
    for machine in (X86_64, AARCH64, RISCV64)
    if machine.name == name
}
"""By their numbers in ELF."""
