"""Relocatable ELF objects, 64 bits, little endian: what they hold, and whether they are whole.

(ELF specification: gABI, chapter 4.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from ncc.runtime.errors import ArtifactError
from ncc.runtime.relocations import MACHINES, RELOCATIONS

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QIIq")  # r_info as its two halves: type, symbol

IDENT = b"\x7fELF\x02\x01\x01" + bytes(9)  # 64 bits, little endian, version 1, of any system
_MAGIC = IDENT[:7]
_RELOCATABLE = 1

PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS, REL = 1, 2, 3, 4, 7, 8, 9
_UNWIND = 0x7000_0001
WRITE, ALLOC, EXECUTE, TLS, COMPRESSED = 0x1, 0x2, 0x4, 0x400, 0x800

UNDEFINED, ABSOLUTE = 0, 0xFFF1
LOCAL, GLOBAL, WEAK = 0, 1, 2
OBJECT, FUNCTION, OF_SECTION, OF_FILE = 1, 2, 3, 4
_PLAIN_SYMBOLS = frozenset({0, OBJECT, FUNCTION, OF_SECTION, OF_FILE})


class SectionHeader(NamedTuple):
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


class Symbol(NamedTuple):
    """One symbol (Elf64_Sym) with its name read."""

    name: str
    binding: int
    section: int
    value: int
    kind: int
    size: int


class ObjectFile:
    """One parsed object file: its sections and symbols.

    machine: the processor, whose number in ELF is `number`. flags: those of the processor.
    Raises ArtifactError for a file that is broken, or no object of a processor that is known.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        try:
            self.sections = self._read_sections()
            self.symbols = self._read_symbols()
        except struct.error:
            raise broken("it ends too early") from None

    def _read_sections(self) -> list[SectionHeader]:
        fields = HEADER.unpack_from(self.data)
        ident, kind, number, _, _, _, offset, flags, _, _, _, size, count, names = fields
        if not ident.startswith(_MAGIC):
            raise broken("it is no 64-bit little-endian ELF file")
        if kind != _RELOCATABLE or number not in MACHINES:
            raise broken(f"it is no relocatable object for {' or '.join(RELOCATIONS)}")
        self.number, self.machine, self.flags = number, MACHINES[number], flags
        self._names = names
        if size != SECTION.size or offset + size * count > len(self.data):
            raise broken("its section table does not fit")
        table = self.data[offset : offset + size * count]
        sections = [SectionHeader(*fields) for fields in SECTION.iter_unpack(table)]
        for section in sections:
            if section.type != NOBITS and section.offset + section.size > len(self.data):
                raise broken("a section lies outside of it")
            if section.flags & ALLOC and section.flags & (TLS | COMPRESSED):
                raise broken("a section is thread-local or compressed")
        return sections

    def _read_symbols(self) -> list[Symbol]:
        tables = [section for section in self.sections if section.type == SYMTAB]
        if not tables:
            return []
        if len(tables) > 1 or tables[0].link >= len(self.sections):
            raise broken("its symbol table is not whole")
        text = bytes(self.contents(self.sections[tables[0].link]))
        symbols = []
        table = self.contents(tables[0])
        for name, info, _, section, value, size in SYMBOL.iter_unpack(whole(table, SYMBOL)):
            end = text.find(b"\0", name)
            if end < 0:
                raise broken("the name of a symbol does not end")
            if section not in (UNDEFINED, ABSOLUTE):
                if section >= len(self.sections):
                    raise broken("a symbol is in no section")
                if value > self.sections[section].size:
                    raise broken("a symbol lies outside of its section")
            word = text[name:end].decode("ascii", "backslashreplace")
            if info & 0xF not in _PLAIN_SYMBOLS:
                raise broken(f"symbol {word} is neither function nor data")
            symbols.append(Symbol(word, info >> 4, section, value, info & 0xF, size))
        return symbols

    @cached_property
    def names(self) -> list[str]:
        """The names of the sections."""
        if self._names >= len(self.sections):
            raise broken("its sections have no names")
        text = bytes(self.contents(self.sections[self._names]))
        found = (text[section.name :].partition(b"\0")[0] for section in self.sections)
        return [name.decode("ascii", "backslashreplace") for name in found]

    def contents(self, section: SectionHeader) -> memoryview:
        """The bytes of a section as they are in the file."""
        if section.type == NOBITS:
            return self.data[:0]
        return self.data[section.offset : section.offset + section.size]

    @cached_property
    def loaded(self) -> dict[int, SectionHeader]:
        """Sections that belong into memory, by their numbers."""
        found = {}
        for number, section in enumerate(self.sections):
            if not section.flags & ALLOC or section.type in (_UNWIND, NOTE):
                continue  # notes and unwind tables are for debuggers and C++ exceptions
            if section.type not in (PROGBITS, NOBITS):
                raise broken(f"a section of type {section.type:#x} wants to be loaded")
            found[number] = section
        return found

    def relocations(self) -> Iterable[tuple[int, memoryview]]:
        """For each loaded section that has any: its number and its relocation records."""
        for section in self.sections:
            if section.type in (RELA, REL) and section.info in self.loaded:
                if section.type == REL:
                    raise broken("it has relocations without addends")
                yield section.info, whole(self.contents(section), RELOCATION)


def undefined_symbols(data: bytes) -> set[str]:
    """The names that an object expects others to define. Raises ArtifactError for a broken one."""
    symbols = ObjectFile(memoryview(data)).symbols
    return {symbol.name for symbol in symbols if symbol.name and symbol.section == UNDEFINED}


def whole(table: memoryview, record: struct.Struct) -> memoryview:
    """`table`, which must consist of whole records."""
    if len(table) % record.size:
        raise broken("a table ends inside a record")
    return table


def broken(why: str) -> ArtifactError:
    """The error for an object, or for code of several, that cannot be used."""
    return ArtifactError(f"the machine code cannot be loaded: {why}")
