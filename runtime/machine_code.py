"""From relocatable objects to callable machine code, without a linker.

Reads ELF objects (ELF specification, gABI chapter 4) for the processor at hand, lays their sections
out in one mapping, resolves symbols within and across them, applies relocations (`relocations.py`),
and only then makes the code executable. Nothing outside the objects can be linked to: code that ncc
makes calls no library.

Some processors have a cache of instructions that does not see stores. The pages of code were never
executable before, so that Linux brings this cache up to date as it makes them executable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ncc.runtime.cpu import machine
from ncc.runtime.errors import ArtifactError
from ncc.runtime.memory import PAGE, Memory
from ncc.runtime.relocations import MACHINES, RELOCATIONS

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")  # r_info as its two halves: type, symbol

_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian, version 1
_RELOCATABLE = 1

_PROGBITS, _SYMTAB, _RELA, _NOTE, _NOBITS, _REL = 1, 2, 4, 7, 8, 9
_UNWIND = 0x7000_0001
_WRITE, _ALLOC, _EXECUTE, _TLS, _COMPRESSED = 0x1, 0x2, 0x4, 0x400, 0x800

_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_LOCAL, _WEAK = 0, 2
_PLAIN_SYMBOLS = frozenset({0, 1, 2, 3, 4})  # no type, object, function, section, file

# More than any network's code; a size beyond it comes from a broken file.
_LARGEST = 1 << 30


class _Section(NamedTuple):
    """One section header (Elf64_Shdr)."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    """One symbol (Elf64_Sym) with its name read."""

    name: str
    binding: int
    section: int
    value: int


class _Object:
    """One parsed object file: its sections, symbols, and where each section was placed."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        try:
            self.sections = self._read_sections()
            self.symbols = self._read_symbols()
        except struct.error:
            raise _broken("it ends too early") from None
        self.placed: dict[int, int] = {}  # section -> offset in the mapping

    def _read_sections(self) -> list[_Section]:
        ident, kind, machine, _, _, _, offset, _, _, _, _, size, count, _ = _HEADER.unpack_from(
            self.data
        )
        if not ident.startswith(_MAGIC):
            raise _broken("it is no 64-bit little-endian ELF file")
        if kind != _RELOCATABLE or machine not in MACHINES:
            raise _broken(f"it is no relocatable object for {' or '.join(RELOCATIONS)}")
        self.machine = MACHINES[machine]
        if size != _SECTION.size or offset + size * count > len(self.data):
            raise _broken("its section table does not fit")
        table = self.data[offset : offset + size * count]
        sections = [_Section(*fields) for fields in _SECTION.iter_unpack(table)]
        for section in sections:
            if section.type != _NOBITS and section.offset + section.size > len(self.data):
                raise _broken("a section lies outside of it")
            if section.flags & _ALLOC and section.flags & (_TLS | _COMPRESSED):
                raise _broken("a section is thread-local or compressed")
        return sections

    def _read_symbols(self) -> list[_Symbol]:
        tables = [section for section in self.sections if section.type == _SYMTAB]
        if not tables:
            return []
        if len(tables) > 1 or tables[0].link >= len(self.sections):
            raise _broken("its symbol table is not whole")
        text = bytes(self.contents(self.sections[tables[0].link]))
        symbols = []
        table = self.contents(tables[0])
        for name, info, _, section, value, _ in _SYMBOL.iter_unpack(_whole(table, _SYMBOL)):
            end = text.find(b"\0", name)
            if end < 0:
                raise _broken("the name of a symbol does not end")
            if section not in (_UNDEFINED, _ABSOLUTE):
                if section >= len(self.sections):
                    raise _broken("a symbol is in no section")
                if value > self.sections[section].size:
                    raise _broken("a symbol lies outside of its section")
            word = text[name:end].decode("ascii", "backslashreplace")
            if info & 0xF not in _PLAIN_SYMBOLS:
                raise _broken(f"symbol {word} is neither function nor data")
            symbols.append(_Symbol(word, info >> 4, section, value))
        return symbols

    def contents(self, section: _Section) -> memoryview:
        """The bytes of a section as they are in the file."""
        if section.type == _NOBITS:
            return self.data[:0]
        return self.data[section.offset : section.offset + section.size]

    def loaded(self) -> Iterable[tuple[int, _Section]]:
        """Sections that belong into memory, with their numbers."""
        for number, section in enumerate(self.sections):
            if not section.flags & _ALLOC or section.type in (_UNWIND, _NOTE):
                continue  # notes and unwind tables are for debuggers and C++ exceptions
            if section.type not in (_PROGBITS, _NOBITS):
                raise _broken(f"a section of type {section.type:#x} wants to be loaded")
            yield number, section

    def relocations(self) -> Iterable[tuple[int, memoryview]]:
        """For each loaded section that has any: its number and its relocation records."""
        for section in self.sections:
            if section.type in (_RELA, _REL) and section.info in self.placed:
                if section.type == _REL:
                    raise _broken("it has relocations without addends")
                yield section.info, _whole(self.contents(section), _RELOCATION)


@dataclass
class _Layout:
    """Sections side by side: first those that are frozen before the code runs, then data."""

    objects: list[_Object]
    frozen: int = 0
    size: int = 0
    slots: dict[str | tuple[int, int], int] = field(default_factory=dict)

    def place(self) -> None:
        """Give every loaded section its offset. The table of addresses comes between the two."""
        self._place(lambda section: not section.flags & _WRITE)
        self.size = _align(self.size, 8)
        for number, unit in enumerate(self.objects):
            self._reserve_slots(number, unit)
        self.size = self.frozen = _align(self.size, PAGE)
        self._place(lambda section: bool(section.flags & _WRITE))

    def _place(self, wanted: Callable[[_Section], bool]) -> None:
        for unit in self.objects:
            for number, section in unit.loaded():
                if not wanted(section):
                    continue
                alignment = max(1, section.alignment)
                if alignment & (alignment - 1) or alignment > PAGE:
                    raise _broken(f"a section wants to be aligned to {alignment} bytes")
                unit.placed[number] = _align(self.size, alignment)
                self.size = unit.placed[number] + section.size
                if self.size > _LARGEST:
                    raise _broken("its sections need more than 1 GB")

    def _reserve_slots(self, number: int, unit: _Object) -> None:
        for _, records in unit.relocations():
            for _, kind, symbol, _ in _RELOCATION.iter_unpack(records):
                known = RELOCATIONS[unit.machine].get(kind)
                if known is not None and known.through_table:
                    key = slot_key(number, unit, symbol)
                    if key not in self.slots:
                        self.slots[key] = self.size
                        self.size += 8


def slot_key(number: int, unit: _Object, symbol: int) -> str | tuple[int, int]:
    """What an address slot is shared by: the name of a global, object and number of a local."""
    if symbol >= len(unit.symbols):
        raise _broken("a relocation names no symbol")
    entry = unit.symbols[symbol]
    return (number, symbol) if entry.binding == _LOCAL else entry.name


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
                raise _broken(f"it is for {unit.machine}, and this machine is {machine()}")
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
                if symbol.binding == _LOCAL or symbol.section == _UNDEFINED:
                    continue
                before = defined.get(symbol.name)
                if before is None or before[1] == _WEAK:
                    defined[symbol.name] = self._place_of(unit, symbol), symbol.binding
                elif symbol.binding != _WEAK:
                    raise ArtifactError(f"the machine code defines {symbol.name} twice")
        return {name: address for name, (address, _) in defined.items()}

    def _place_of(self, unit: _Object, symbol: _Symbol) -> int:
        if symbol.section == _ABSOLUTE:
            return symbol.value
        if symbol.section not in unit.placed:
            raise _broken(f"symbol {symbol.name} is in a section that is not loaded")
        return self._base + unit.placed[symbol.section] + symbol.value

    def _target(self, unit: _Object, index: int) -> int:
        if index >= len(unit.symbols):
            raise _broken("a relocation names no symbol")
        symbol = unit.symbols[index]
        if symbol.binding == _LOCAL and symbol.section != _UNDEFINED:
            return self._place_of(unit, symbol)
        if symbol.name not in self.symbols:
            raise ArtifactError(
                f"the machine code refers to {symbol.name or 'a nameless symbol'}, "
                "which none of its objects defines"
            )
        return self.symbols[symbol.name]

    def _relocate(self, number: int, unit: _Object) -> None:
        targets: dict[int, int] = {}
        for section, records in unit.relocations():
            size = unit.sections[section].size
            start = unit.placed[section]
            for offset, kind_number, index, addend in _RELOCATION.iter_unpack(records):
                kind = RELOCATIONS[unit.machine].get(kind_number)
                if kind is None:
                    raise _broken(f"it has a relocation of unknown type {kind_number}")
                if offset + kind.store.size > size:
                    raise _broken("a relocation lies outside of its section")
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
                    raise _broken(f"a relocation {kind.name} does not reach its target")
                kind.store.pack_into(self._bytes, place, changed)


def undefined_symbols(data: bytes) -> set[str]:
    """The names that an object expects others to define. Raises ArtifactError for a broken one."""
    symbols = _Object(memoryview(data)).symbols
    return {symbol.name for symbol in symbols if symbol.name and symbol.section == _UNDEFINED}


def _whole(table: memoryview, record: struct.Struct) -> memoryview:
    """`table`, which must consist of whole records."""
    if len(table) % record.size:
        raise _broken("a table ends inside a record")
    return table


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _broken(why: str) -> ArtifactError:
    return ArtifactError(f"the machine code cannot be loaded: {why}")
