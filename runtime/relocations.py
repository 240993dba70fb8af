"""Relocations: how an address becomes a part of code or data, for each kind of processor.

The numbers are those of the psABI of x86-64 (table 4.9), of ELF for the Arm 64-bit Architecture
(tables 5.4 to 5.11) and of the psABI of RISC-V (table 3), as far as LLVM writes them into objects
of the small code model.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ncc.runtime.errors import ArtifactError

Patch: TypeAlias = Callable[[int, int, int], int | None]
"""The new content of a place, by the old one, the address of the place, and the value that it shall
refer to; None if the value is too far away."""


class Relocation(NamedTuple):
    """A type of relocation.

    store: what is changed. through_table: whether the value is the address of a slot which has the
    address of the symbol.
    """

    name: str
    store: struct.Struct
    patch: Patch
    through_table: bool = False


_WORD, _LONG = struct.Struct("<I"), struct.Struct("<Q")


def _data(bits: int, least: int, relative: bool) -> Patch:
    """A number of so many bits, from `least` on; the distance from the place, if it is relative."""

    def patch(old: int, place: int, value: int) -> int | None:
        value -= place if relative else 0
        return value & ((1 << bits) - 1) if least <= value < least + (1 << bits) else None

    return patch


_ABSOLUTE_64, _RELATIVE_64 = _data(64, 0, False), _data(64, -(1 << 63), True)
_UNSIGNED_32, _SIGNED_32 = _data(32, 0, False), _data(32, -(1 << 31), False)
_RELATIVE_32 = _data(32, -(1 << 31), True)


def _branch(old: int, place: int, value: int) -> int | None:
    """The distance in instructions, in 26 bits."""
    distance = value - place
    fits = -(1 << 27) <= distance < 1 << 27
    return old & ~0x3FF_FFFF | distance >> 2 & 0x3FF_FFFF if fits else None


def _page(old: int, place: int, value: int) -> int | None:
    """The distance in pages of 4 KB, in two fields of 2 and 19 bits."""
    pages = (value >> 12) - (place >> 12)
    fits = -(1 << 20) <= pages < 1 << 20
    fields = (pages & 0x3) << 29 | (pages >> 2 & 0x7_FFFF) << 5
    return old & ~0x60FF_FFE0 | fields if fits else None


def _in_page(shift: int) -> Patch:
    """The place in a page of 4 KB, in elements of 1 << shift bytes, in 12 bits."""

    def patch(old: int, place: int, value: int) -> int | None:
        offset = value & 0xFFF
        aligned = offset % (1 << shift) == 0
        return old & ~0x3F_FC00 | offset >> shift << 10 if aligned else None

    return patch


_OF_X86_64: Mapping[int, Relocation] = {
    1: Relocation("R_X86_64_64", _LONG, _ABSOLUTE_64),
    2: Relocation("R_X86_64_PC32", _WORD, _RELATIVE_32),
    4: Relocation("R_X86_64_PLT32", _WORD, _RELATIVE_32),  # no table needed: all code is near
    9: Relocation("R_X86_64_GOTPCREL", _WORD, _RELATIVE_32, True),
    10: Relocation("R_X86_64_32", _WORD, _UNSIGNED_32),
    11: Relocation("R_X86_64_32S", _WORD, _SIGNED_32),
    24: Relocation("R_X86_64_PC64", _LONG, _RELATIVE_64),
    41: Relocation("R_X86_64_GOTPCRELX", _WORD, _RELATIVE_32, True),
    42: Relocation("R_X86_64_REX_GOTPCRELX", _WORD, _RELATIVE_32, True),
}

_OF_AARCH64: Mapping[int, Relocation] = {
    257: Relocation("R_AARCH64_ABS64", _LONG, _ABSOLUTE_64),
    260: Relocation("R_AARCH64_PREL64", _LONG, _RELATIVE_64),
    261: Relocation("R_AARCH64_PREL32", _WORD, _RELATIVE_32),
    275: Relocation("R_AARCH64_ADR_PREL_PG_HI21", _WORD, _page),
    277: Relocation("R_AARCH64_ADD_ABS_LO12_NC", _WORD, _in_page(0)),
    278: Relocation("R_AARCH64_LDST8_ABS_LO12_NC", _WORD, _in_page(0)),
    282: Relocation("R_AARCH64_JUMP26", _WORD, _branch),
    283: Relocation("R_AARCH64_CALL26", _WORD, _branch),
    284: Relocation("R_AARCH64_LDST16_ABS_LO12_NC", _WORD, _in_page(1)),
    285: Relocation("R_AARCH64_LDST32_ABS_LO12_NC", _WORD, _in_page(2)),
    286: Relocation("R_AARCH64_LDST64_ABS_LO12_NC", _WORD, _in_page(3)),
    299: Relocation("R_AARCH64_LDST128_ABS_LO12_NC", _WORD, _in_page(4)),
    311: Relocation("R_AARCH64_ADR_GOT_PAGE", _WORD, _page, True),
    312: Relocation("R_AARCH64_LD64_GOT_LO12_NC", _WORD, _in_page(3), True),
}


def _upper(old: int, place: int, value: int) -> int | None:
    """The distance in pages of 4 KB, to the nearest one, in the upper 20 bits."""
    distance = value - place
    fits = -(1 << 31) <= distance + 0x800 < 1 << 31
    return old & 0xFFF | distance + 0x800 & 0xFFFF_F000 if fits else None


def _lower(old: int, place: int, value: int) -> int:
    """The rest of a distance, in the upper 12 bits."""
    return old & 0xF_FFFF | (value - place & 0xFFF) << 20


def _lower_of_store(old: int, place: int, value: int) -> int:
    """The same in the two fields that stores have for it, of 7 and 5 bits."""
    rest = value - place & 0xFFF
    return old & 0x1FF_F07F | rest >> 5 << 25 | (rest & 0x1F) << 7


def _call(old: int, place: int, value: int) -> int | None:
    """Both, in two instructions."""
    first = _upper(old & 0xFFFF_FFFF, place, value)
    return None if first is None else first | _lower(old >> 32, place, value) << 32


_IN_TABLE = 1 << 16
"""Added to a type of a lower part: it is that of the distance to a slot. (Not a number of ELF.)"""

_OF_RISCV64: Mapping[int, Relocation] = {
    2: Relocation("R_RISCV_64", _LONG, _ABSOLUTE_64),
    19: Relocation("R_RISCV_CALL_PLT", _LONG, _call),
    20: Relocation("R_RISCV_GOT_HI20", _WORD, _upper, True),
    23: Relocation("R_RISCV_PCREL_HI20", _WORD, _upper),
    24: Relocation("R_RISCV_PCREL_LO12_I", _WORD, _lower),
    25: Relocation("R_RISCV_PCREL_LO12_S", _WORD, _lower_of_store),
    24 | _IN_TABLE: Relocation("R_RISCV_PCREL_LO12_I", _WORD, _lower, True),
    25 | _IN_TABLE: Relocation("R_RISCV_PCREL_LO12_S", _WORD, _lower_of_store, True),
    57: Relocation("R_RISCV_32_PCREL", _WORD, _RELATIVE_32),
}

MACHINES: Mapping[int, str] = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""Kinds of processors, by their numbers in ELF (e_machine)."""

RELOCATIONS: Mapping[str, Mapping[int, Relocation]] = {
    "x86_64": _OF_X86_64,
    "aarch64": _OF_AARCH64,
    "riscv64": _OF_RISCV64,
}
"""The types of relocations of each kind of processor."""

_PARTS: Mapping[str, tuple[Mapping[int, int], frozenset[int]]] = {
    "riscv64": ({20: _IN_TABLE, 23: 0}, frozenset({24, 25}))
}
"""Where distances have two parts: the types of upper parts, with what they add to those of lower
parts; and the types of lower parts."""


def joined(
    machine: str, places: Iterable[tuple[int, int, int, int]], offset_of: Callable[[int], int]
) -> list[tuple[int, int, int, int]]:
    """The relocations of a section (offset, type, symbol, addend), of which each names its target.

    The lower part of a distance names the instruction that has the upper part instead, and is the
    rest of the distance from there. offset_of: where a symbol is in its section.

    Raises ArtifactError for a lower part without an upper part.
    """
    found = list(places)
    if machine not in _PARTS:
        return found
    uppers, lowers = _PARTS[machine]
    first = {offset: (kind, *rest) for offset, kind, *rest in found if kind in uppers}
    for n, (offset, kind, symbol, _) in enumerate(found):
        if kind in lowers:
            start = offset_of(symbol)
            if start not in first:
                raise ArtifactError("the machine code has a distance without its upper part")
            upper, target, addend = first[start]
            found[n] = offset, kind | uppers[upper], target, addend + offset - start
    return found
