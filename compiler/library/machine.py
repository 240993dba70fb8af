"""What shared objects and relocations need to know of a machine.

A relocation of an object is either a distance, which a shared object knows, or an address, which
only the loader knows. Code reaches what it does not see through a table of addresses.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ncc.compiler.diagnostics import CompilerBug

Store: TypeAlias = Callable[[bytearray, int, int, int], None]
"""Store a value in the bytes of a section: at an offset, which has an address."""


class Kind(NamedTuple):
    """A type of relocations. through_table: it wants the symbol's slot in the table of addresses,
    not the symbol.
    """

    name: str
    store: Store
    through_table: bool = False


@dataclass(frozen=True)
class Machine:
    """The numbers of a machine in ELF."""

    name: str
    baseline: str
    """The target with the fewest instructions, for code that finds out whether others are there."""
    page: int
    """The largest pages that its systems have: rights change at multiples of it."""
    address: int
    """The type of a relocation of 64 bits that is an address."""
    relative: int
    """The loader's: an address in the shared object."""
    from_other: int
    """The loader's: the address of a symbol that another object has."""
    kinds: Mapping[int, Kind]


def _distance(store: struct.Struct) -> Store:
    """Store how far the value is from its place."""

    def stored(content: bytearray, offset: int, address: int, value: int) -> None:
        try:
            store.pack_into(content, offset, value - address)
        except struct.error:
            raise CompilerBug("a relocation does not reach its target") from None

    return stored


_NEAR = _distance(struct.Struct("<i"))
_FAR = _distance(struct.Struct("<q"))

X86_64 = Machine(
    name="x86-64",
    baseline="baseline",
    page=0x1000,
    address=1,
    relative=8,
    from_other=6,
    kinds={
        2: Kind("R_X86_64_PC32", _NEAR),
        4: Kind("R_X86_64_PLT32", _NEAR),
        9: Kind("R_X86_64_GOTPCREL", _NEAR, through_table=True),
        24: Kind("R_X86_64_PC64", _FAR),
        41: Kind("R_X86_64_GOTPCRELX", _NEAR, through_table=True),
        42: Kind("R_X86_64_REX_GOTPCRELX", _NEAR, through_table=True),
    },
)
"""psABI of x86-64, table 4.9."""


def _page(content: bytearray, offset: int, address: int, value: int) -> None:
    """adrp: the distance of pages of 4 KB, in 2 low and 19 high bits."""
    pages = (value >> 12) - (address >> 12)
    if not -(1 << 20) <= pages < 1 << 20:
        raise CompilerBug("a relocation does not reach its target")
    _or(content, offset, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)


def _branch(content: bytearray, offset: int, address: int, value: int) -> None:
    """b, bl: the distance in instructions, in 26 bits."""
    distance = value - address
    if not -(1 << 27) <= distance < 1 << 27:
        raise CompilerBug("a relocation does not reach its target")
    _or(content, offset, distance >> 2 & 0x3FFFFFF)


def _low(shift: int) -> Store:
    """add, ldr, str: the place inside of a page of 4 KB, in elements of 1 << shift bytes."""

    def stored(content: bytearray, offset: int, address: int, value: int) -> None:
        _or(content, offset, (value & 0xFFF) >> shift << 10)

    return stored


def _or(content: bytearray, offset: int, bits: int) -> None:
    (word,) = struct.unpack_from("<I", content, offset)
    struct.pack_into("<I", content, offset, word | bits)


AARCH64 = Machine(
    name="aarch64",
    baseline="neon",
    page=0x10000,
    address=257,
    relative=1027,
    from_other=1025,
    kinds={
        260: Kind("R_AARCH64_PREL64", _FAR),
        261: Kind("R_AARCH64_PREL32", _NEAR),
        275: Kind("R_AARCH64_ADR_PREL_PG_HI21", _page),
        277: Kind("R_AARCH64_ADD_ABS_LO12_NC", _low(0)),
        278: Kind("R_AARCH64_LDST8_ABS_LO12_NC", _low(0)),
        282: Kind("R_AARCH64_JUMP26", _branch),
        283: Kind("R_AARCH64_CALL26", _branch),
        284: Kind("R_AARCH64_LDST16_ABS_LO12_NC", _low(1)),
        285: Kind("R_AARCH64_LDST32_ABS_LO12_NC", _low(2)),
        286: Kind("R_AARCH64_LDST64_ABS_LO12_NC", _low(3)),
        299: Kind("R_AARCH64_LDST128_ABS_LO12_NC", _low(4)),
        311: Kind("R_AARCH64_ADR_GOT_PAGE", _page, through_table=True),
        312: Kind("R_AARCH64_LD64_GOT_LO12_NC", _low(3), through_table=True),
    },
)
"""ELF for the Arm 64-bit Architecture, chapter 5.7. Some of its systems have pages of 64 KB."""

MACHINES: Mapping[int, Machine] = {62: X86_64, 183: AARCH64}
"""By their numbers in ELF."""
