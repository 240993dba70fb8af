"""From relocatable objects to callable machine code, without a linker.

Reads ELF objects (`elf.py`) for the processor at hand, lays their sections out in one mapping,
resolves symbols within and across them, applies relocations (`relocations.py`), and only then makes
the code executable. Nothing outside the objects can be linked to: code that ncc makes calls no
library.

Some processors have a cache of instructions that does not see stores. The pages of code were never
executable before, so that Linux brings this cache up to date as it makes them executable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ncc.runtime.cpu import machine
from ncc.runtime.elf import (
    ABSOLUTE,
    LOCAL,
    RELOCATION,
    UNDEFINED,
    WEAK,
    WRITE,
    ObjectFile,
    SectionHeader,
    Symbol,
    broken,
)
from ncc.runtime.errors import ArtifactError
from ncc.runtime.memory import PAGE, Memory
from ncc.runtime.relocations import RELOCATIONS, joined

# More than any network's code; a size beyond it comes from a broken file.
_LARGEST = 1 << 30


class _Object(ObjectFile):
    """An object, and where each of its sections was placed in the mapping."""

    def __init__(self, data: memoryview) -> None:
        super().__init__(data)
        self.placed: dict[int, int] = {}


@dataclass
class _Layout:
    """Sections side by side: first those that are frozen before the code runs, then data."""

    objects: list[_Object]
    frozen: int = 0
    size: int = 0
    slots: dict[str | tuple[int, int], int] = field(default_factory=dict)

    def place(self) -> None:
        """Give every loaded section its offset. The table of addresses comes between the two."""
        self._place(lambda section: not section.flags & WRITE)
        self.size = _align(self.size, 8)
        for number, unit in enumerate(self.objects):
            self._reserve_slots(number, unit)
        self.size = self.frozen = _align(self.size, PAGE)
        self._place(lambda section: bool(section.flags & WRITE))

    def _place(self, wanted: Callable[[SectionHeader], bool]) -> None:
        for unit in self.objects:
            for number, section in unit.loaded.items():
                if not wanted(section):
                    continue
                alignment = max(1, section.alignment)
                if alignment & (alignment - 1) or alignment > PAGE:
                    raise broken(f"a section wants to be aligned to {alignment} bytes")
                unit.placed[number] = _align(self.size, alignment)
                self.size = unit.placed[number] + section.size
                if self.size > _LARGEST:
                    raise broken("its sections need more than 1 GB")

    def _reserve_slots(self, number: int, unit: _Object) -> None:
        for _, records in unit.relocations():
            for _, kind, symbol, _ in RELOCATION.iter_unpack(records):
                known = RELOCATIONS[unit.machine].get(kind)
                if known is not None and known.through_table:
                    key = slot_key(number, unit, symbol)
                    if key not in self.slots:
                        self.slots[key] = self.size
                        self.size += 8


def slot_key(number: int, unit: _Object, symbol: int) -> str | tuple[int, int]:
    """What an address slot is shared by: the name of a global, object and number of a local."""
    if symbol >= len(unit.symbols):
        raise broken("a relocation names no symbol")
    entry = unit.symbols[symbol]
    return (number, symbol) if entry.binding == LOCAL else entry.name


class MachineCode:
    """The objects of a program in executable memory, which lives as long as this object.

    symbols: addresses of all global symbols by name.
    Raises ArtifactError for objects that are broken, of another processor, or refer to what is not
    there.
    """

    def __init__(self, objects: Iterable[bytes | memoryview]) -> None:
        units = [_Object(memoryview(data).cast("B")) for data in objects]
        for unit in units:
            if unit.machine != machine():
                raise broken(f"it is for {unit.machine}, and this machine is {machine()}")
        layout = _Layout(units)
        layout.place()
        self._memory = Memory(layout.size)
        self._base = self._memory.address
        self._bytes = self._memory.bytes
        self._slots = layout.slots
        for unit in units:
            for number, offset in unit.placed.items():
                contents = unit.contents(unit.sections[number])
                self._bytes[offset : offset + len(contents)] = contents
        self.symbols: Mapping[str, int] = self._define(units)
        for number, unit in enumerate(units):
            self._relocate(number, unit)
        self._bytes.release()
        self._memory.make_executable(0, layout.frozen)

    def address(self, name: str) -> int:
        """Where a global symbol is; ArtifactError when the objects do not define it."""
        if name not in self.symbols:
            raise ArtifactError(f"the machine code does not define {name}")
        return self.symbols[name]

    def _define(self, units: list[_Object]) -> dict[str, int]:
        defined: dict[str, tuple[int, int]] = {}  # name -> address, binding
        for unit in units:
            for symbol in unit.symbols:
                if symbol.binding == LOCAL or symbol.section == UNDEFINED:
                    continue
                before = defined.get(symbol.name)
                if before is None or before[1] == WEAK:
                    defined[symbol.name] = self._place_of(unit, symbol), symbol.binding
                elif symbol.binding != WEAK:
                    raise ArtifactError(f"the machine code defines {symbol.name} twice")
        return {name: address for name, (address, _) in defined.items()}

    def _place_of(self, unit: _Object, symbol: Symbol) -> int:
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section not in unit.placed:
            raise broken(f"symbol {symbol.name} is in a section that is not loaded")
        return self._base + unit.placed[symbol.section] + symbol.value

    def _target(self, unit: _Object, index: int) -> int:
        if index >= len(unit.symbols):
            raise broken("a relocation names no symbol")
        symbol = unit.symbols[index]
        if symbol.binding == LOCAL and symbol.section != UNDEFINED:
            return self._place_of(unit, symbol)
        if symbol.name not in self.symbols:
            raise ArtifactError(
                f"the machine code refers to {symbol.name or 'a nameless symbol'}, "
                "which none of its objects defines"
            )
        return self.symbols[symbol.name]

    def _joined(self, unit: _Object, records: memoryview) -> list[tuple[int, int, int, int]]:
        def offset_of(index: int) -> int:
            if index >= len(unit.symbols):
                raise broken("a relocation names no symbol")
            return unit.symbols[index].value

        return joined(unit.machine, RELOCATION.iter_unpack(records), offset_of)

    def _relocate(self, number: int, unit: _Object) -> None:
        targets: dict[int, int] = {}
        for section, records in unit.relocations():
            size = unit.sections[section].size
            start = unit.placed[section]
            for offset, kind_number, index, addend in self._joined(unit, records):
                kind = RELOCATIONS[unit.machine].get(kind_number)
                if kind is None:
                    raise broken(f"it has a relocation of unknown type {kind_number}")
                if offset + kind.store.size > size:
                    raise broken("a relocation lies outside of its section")
                if index not in targets:
                    targets[index] = self._target(unit, index)
                value = targets[index]
                if kind.through_table:
                    slot = self._slots[slot_key(number, unit, index)]
                    struct.pack_into("<Q", self._bytes, slot, value)
                    value = self._base + slot
                place = start + offset
                (old,) = kind.store.unpack_from(self._bytes, place)
                changed = kind.patch(old, self._base + place, value + addend)
                if changed is None:
                    raise broken(f"a relocation {kind.name} does not reach its target")
                kind.store.pack_into(self._bytes, place, changed)


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
