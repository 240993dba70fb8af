"""A shared object, without a linker.

    constants   header, symbols and relocations for the loader, .rodata, weights
    code        .text
    addresses   .dynamic, the table of addresses (.got), .data.rel.ro: only the loader writes them

All distances inside are settled here. The loader adds where it has put the object to the addresses
in tables, and fills in those of functions of the C library.

Offsets in the file are addresses. Sections cover every byte that is loaded: `strip` drops the rest,
and Android's loader refuses files without sections. The object names no library that it needs: each
system has another name for the C library, which every program has loaded before.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.library.elf import (
    DATA,
    RODATA,
    TEXT,
    WEIGHTS,
    Buffer,
    Pieces,
    Section,
    Strings,
    Symbol,
    Unit,
    up,
)
from ncc.compiler.library.machine import MACHINES
from ncc.runtime.elf import (
    ALLOC,
    EXECUTE,
    FUNCTION,
    GLOBAL,
    HEADER,
    IDENT,
    NOBITS,
    PROGBITS,
    RELA,
    RELOCATION,
    SECTION,
    STRTAB,
    SYMBOL,
    WRITE,
)
from ncc.runtime.relocations import joined

_PROGRAM = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")
_SHARED = 3
_HASH, _DYNAMIC_TABLE, _DYNSYM = 5, 6, 11  # types of sections
_LOAD, _LOADER, _STACK, _FINAL = 1, 2, 0x6474E551, 0x6474E552  # types of segments
_READ, _READ_WRITE, _READ_EXECUTE = 4, 6, 5
_END, _TO_HASH, _TO_STRINGS, _TO_SYMBOLS, _TO_RELA, _RELA_SIZE = 0, 4, 5, 6, 7, 8
_RELA_ENTRY, _STRINGS_SIZE, _SYMBOL_ENTRY, _SONAME = 9, 10, 11, 14
_TAGS, _SEGMENTS, _SLOT = 10, 6, 8

PADDING = ".bss"
"""The rest of the last page, which is in memory alone. Nothing uses it."""


class _Row(NamedTuple):
    """A section of the file, before it has a place."""

    name: str
    kind: int
    flags: int
    size: int
    alignment: int
    link: str = ""
    info: int = 0
    entry: int = 0


def shared_object(unit: Unit, soname: str) -> Pieces:
    """The shared object of a unit. Programs see the symbols that are not local to the unit.

    Raises CompilerBug for a relocation that a shared object cannot have.
    """
    return _Linker(unit, soname).linked()


class _Linker:
    def __init__(self, unit: Unit, soname: str) -> None:
        self.unit, self.machine = unit, MACHINES[unit.machine]
        self.contents = {section.name: section for section in unit.sections}
        self.strings = Strings()
        self.soname = self.strings.add(soname)
        self.shared = [symbol for symbol in unit.symbols if not symbol.is_local]
        self.names = [self.strings.add(symbol.name) for symbol in self.shared]
        self.slots: dict[int, int] = {}
        """Symbols in the table of addresses, and their places in it."""
        self.addresses = 0
        """How many tables have an address."""
        self.relocations = {
            section.name: joined(
                self.machine.name, section.relocations, lambda n: unit.symbols[n].value
            )
            for section in unit.sections
        }
        for section in unit.sections:
            for _, kind, symbol, _ in self.relocations[section.name]:
                self._count(section, kind, symbol)
        self.rows = self._rows()
        self.starts = self._starts()
        self._pad_to_a_page()
        self.for_loader: list[bytes] = []

    def _count(self, section: Section, kind: int, symbol: int) -> None:
        if kind == self.machine.address:
            if not section.flags & WRITE:
                raise CompilerBug(f"an address in {section.name}, where no loader writes")
            self.addresses += 1
        elif kind not in self.machine.relocations:
            raise CompilerBug(f"a relocation of type {kind} in code for {self.machine.name}")
        elif self.machine.relocations[kind].through_table:
            self.slots.setdefault(symbol, _SLOT * len(self.slots))

    def _rows(self) -> list[_Row]:
        """The sections of the file that are loaded, in order."""
        symbols, relocations = 1 + len(self.shared), self.addresses + len(self.slots)
        return [
            _Row(".dynsym", _DYNSYM, ALLOC, SYMBOL.size * symbols, 8, ".dynstr", 1, SYMBOL.size),
            _Row(".dynstr", STRTAB, ALLOC, len(self.strings.data), 1),
            _Row(".hash", _HASH, ALLOC, 4 * (3 + symbols), 8, ".dynsym", 0, 4),
            _Row(
                ".rela.dyn", RELA, ALLOC, RELOCATION.size * relocations, 8, ".dynsym", 0,
                RELOCATION.size,
            ),
            self._row(RODATA, ALLOC),
            self._row(WEIGHTS, ALLOC),
            self._row(TEXT, ALLOC | EXECUTE),
            _Row(
                ".dynamic", _DYNAMIC_TABLE, ALLOC | WRITE, _DYNAMIC.size * _TAGS, 16, ".dynstr", 0,
                _DYNAMIC.size,
            ),
            _Row(".got", PROGBITS, ALLOC | WRITE, _SLOT * len(self.slots), _SLOT, "", 0, _SLOT),
            self._row(DATA, ALLOC | WRITE),
        ]  # fmt: skip

    def _row(self, name: str, flags: int) -> _Row:
        section = self.contents.get(name, Section(name, flags, 1))
        return _Row(name, PROGBITS, flags, section.size, section.alignment)

    def _starts(self) -> dict[str, int]:
        """Where each section begins: at a new page where rights change."""
        starts, at, rights = {}, HEADER.size + _SEGMENTS * _PROGRAM.size, ALLOC
        for row in self.rows:
            at = up(at, row.alignment if row.flags == rights else self.machine.page)
            starts[row.name], rights = at, row.flags
            at += row.size
        return starts

    def _pad_to_a_page(self) -> None:
        """Loaders protect whole pages: the last one of the addresses belongs to a section, too."""
        last = self.rows[-1]
        end = self.starts[last.name] + last.size
        padding = up(end, self.machine.page) - end
        self.rows.append(_Row(PADDING, NOBITS, ALLOC | WRITE, padding, 1))
        self.starts[PADDING] = end

    def linked(self) -> Pieces:
        """The file."""
        contents: dict[str, Sequence[Buffer]] = {
            section.name: self._relocated(section) for section in self.unit.sections
        }
        contents[".got"] = [self._table()]
        contents[".dynsym"] = [self._symbols()]
        contents[".dynstr"] = [self.strings.data]
        contents[".hash"] = [self._hash()]
        contents[".rela.dyn"] = [b"".join(self.for_loader)]
        contents[".dynamic"] = [self._tags()]
        out = Pieces()
        out.add(bytes(HEADER.size))
        out.add(self._segments())
        for row in self.rows:
            out.pad_to(self.starts[row.name])  # PADDING begins where the file ends
            for part in contents.get(row.name, ()):
                out.add(part)
        self._add_heads(out)
        return out

    def _address(self, symbol: Symbol) -> int | None:
        """Where a symbol is; None where another object has it."""
        if symbol.section is None:
            return None
        return self.starts[self.unit.sections[symbol.section].name] + symbol.value

    def _relocated(self, section: Section) -> Sequence[Buffer]:
        """The content of a section, with all distances in it."""
        relocations = self.relocations[section.name]
        if not relocations:
            return section.parts
        content = bytearray().join(section.parts)
        start, table = self.starts[section.name], self.starts[".got"]
        for offset, number, index, addend in relocations:
            symbol, place = self.unit.symbols[index], start + offset
            kind = self.machine.relocations[number]
            address = table + self.slots[index] if kind.through_table else self._address(symbol)
            if number == self.machine.address:
                self._load_address(place, symbol, addend)
                continue
            if address is None:
                raise CompilerBug(f"code reaches {symbol.name} by no table of addresses")
            (old,) = kind.store.unpack_from(content, offset)
            changed = kind.patch(old, place, address + addend)
            if changed is None:
                raise CompilerBug(f"a relocation {kind.name} does not reach {symbol.name}")
            kind.store.pack_into(content, offset, changed)
        return [content]

    def _table(self) -> bytes:
        """The table of addresses, which the loader fills."""
        for index, slot in self.slots.items():
            self._load_address(self.starts[".got"] + slot, self.unit.symbols[index], 0)
        return bytes(_SLOT * len(self.slots))

    def _load_address(self, place: int, symbol: Symbol, addend: int) -> None:
        """Have the loader write an address."""
        address = self._address(symbol)
        if address is None:
            self._load(place, self.machine.address, 1 + self.shared.index(symbol), addend)
        else:
            self._load(place, self.machine.relative, 0, address + addend)

    def _load(self, place: int, kind: int, symbol: int, addend: int) -> None:
        self.for_loader.append(RELOCATION.pack(place, kind, symbol, addend))

    def _symbols(self) -> bytes:
        """The symbols that the loader looks for, here or in other objects."""
        numbers = {row.name: number for number, row in enumerate(self.rows, 1)}
        table = [bytes(SYMBOL.size)]
        for name, symbol in zip(self.names, self.shared, strict=True):
            address, section = self._address(symbol), 0
            if symbol.section is not None:
                section = numbers[self.unit.sections[symbol.section].name]
            kind = symbol.kind if section else FUNCTION
            info = GLOBAL << 4 | kind
            table.append(SYMBOL.pack(name, info, 0, section, address or 0, symbol.size))
        return b"".join(table)

    def _hash(self) -> bytes:
        """One bucket, of a chain of all symbols: there are a dozen."""
        count = 1 + len(self.shared)
        chain = [0, *range(2, count), 0]
        return struct.pack(f"<{3 + count}I", 1, count, 1, *chain)

    def _tags(self) -> bytes:
        """Where the loader finds what."""
        size = {row.name: row.size for row in self.rows}
        tags = (
            (_SONAME, self.soname),
            (_TO_HASH, self.starts[".hash"]),
            (_TO_STRINGS, self.starts[".dynstr"]),
            (_TO_SYMBOLS, self.starts[".dynsym"]),
            (_STRINGS_SIZE, size[".dynstr"]),
            (_SYMBOL_ENTRY, SYMBOL.size),
            (_TO_RELA, self.starts[".rela.dyn"]),
            (_RELA_SIZE, size[".rela.dyn"]),
            (_RELA_ENTRY, RELOCATION.size),
            (_END, 0),
        )
        return b"".join(_DYNAMIC.pack(*tag) for tag in tags)

    def _segments(self) -> bytes:
        """What is loaded with which rights, and what the loader makes read-only at last."""
        page, ends = self.machine.page, {r.name: self.starts[r.name] + r.size for r in self.rows}
        code, data = self.starts[TEXT], self.starts[".dynamic"]
        written, pages = ends[DATA] - data, ends[PADDING] - data
        rows = (
            (_LOAD, _READ, 0, ends[WEIGHTS], ends[WEIGHTS], page),
            (_LOAD, _READ_EXECUTE, code, ends[TEXT] - code, ends[TEXT] - code, page),
            (_LOAD, _READ_WRITE, data, written, pages, page),
            (_LOADER, _READ_WRITE, data, ends[".dynamic"] - data, ends[".dynamic"] - data, 8),
            (_FINAL, _READ, data, written, pages, 1),
            (_STACK, _READ_WRITE, 0, 0, 0, 16),
        )
        return b"".join(
            _PROGRAM.pack(kind, rights, start, start, start, size, memory, alignment)
            for kind, rights, start, size, memory, alignment in rows
        )

    def _add_heads(self, out: Pieces) -> None:
        """Append the heads of sections, and say where they are."""
        names = Strings()
        numbers = {row.name: number for number, row in enumerate(self.rows, 1)} | {"": 0}
        heads = [bytes(SECTION.size)]
        for row in self.rows:
            start = self.starts[row.name]
            heads.append(
                SECTION.pack(
                    names.add(row.name), row.kind, row.flags, start, start, row.size,
                    numbers[row.link], row.info, row.alignment, row.entry,
                )
            )  # fmt: skip
        own = names.add(".shstrtab")
        at = out.add(names.data)
        heads.append(SECTION.pack(own, STRTAB, 0, 0, at, len(names.data), 0, 0, 1, 0))
        place = out.add(b"".join(heads), 8)
        out.buffers[0] = HEADER.pack(
            IDENT, _SHARED, self.unit.machine, 1, 0, HEADER.size, place, self.unit.flags,
            HEADER.size, _PROGRAM.size, _SEGMENTS, SECTION.size, len(heads), len(heads) - 1,
        )  # fmt: skip
