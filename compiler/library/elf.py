"""Relocatable ELF objects, 64 bits, little endian, as data that can be merged and written.

`read` makes a `Unit` of an object, `merge` makes one unit of several, and `write` makes an object
of a unit. `ncc.runtime.elf` has the format, and checks what is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from ncc.compiler.diagnostics import CompilerBug
from ncc.runtime.elf import (
    ABSOLUTE,
    ALLOC,
    EXECUTE,
    GLOBAL,
    HEADER,
    IDENT,
    LOCAL,
    NOBITS,
    OF_SECTION,
    PROGBITS,
    RELA,
    RELOCATION,
    SECTION,
    STRTAB,
    SYMBOL,
    SYMTAB,
    UNDEFINED,
    WRITE,
    ObjectFile,
    broken,
)

Buffer: TypeAlias = "bytes | bytearray | memoryview"

NOWHERE = -1
"""The number of symbols of no place: the first one of each unit, the name of a file, and what marks
the beginning of a section that is not loaded."""

INFO_LINK = 0x40
_RELOCATABLE = 1

RODATA, TEXT, DATA, WEIGHTS = ".rodata", ".text", ".data.rel.ro", ".rodata.weights"
"""The sections of a merged unit: constants, code, tables of addresses, weights."""


class Relocation(NamedTuple):
    """A place in a section that depends on the address of a symbol."""

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass
class Section:
    """A section that is loaded. Its content is the parts, one after the other."""

    name: str
    flags: int
    alignment: int
    parts: list[Buffer] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The size of the content in bytes."""
        return sum(map(len, self.parts))

    def align(self, alignment: int) -> int:
        """Pad the content for a part with this alignment; where the part begins."""
        self.alignment = max(self.alignment, alignment)
        end = self.size
        if padding := -end % alignment:
            self.parts.append(bytes(padding))
        return end + padding


@dataclass(frozen=True)
class Symbol:
    """A name for a place in a section, or for a place that another unit defines."""

    name: str
    kind: int
    section: int | None
    """The number of the section; None where another unit defines the symbol."""
    value: int = 0
    size: int = 0
    is_local: bool = False


@dataclass
class Unit:
    """The content of an object: all that a linker needs of it."""

    machine: int
    flags: int
    """The machine's own flags: which ABI the code has."""
    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)

    @property
    def defined(self) -> list[str]:
        """The names of the symbols that it defines for others."""
        return [s.name for s in self.symbols if not s.is_local and s.section is not None]

    @property
    def undefined(self) -> list[str]:
        """The names of the symbols that others must define."""
        return [s.name for s in self.symbols if not s.is_local and s.section is None]


def read(image: bytes) -> Unit:
    """The unit of an object. Raises ArtifactError for one that is broken."""
    found = ObjectFile(memoryview(image))
    unit = Unit(found.number, found.flags)
    numbers = {number: position for position, number in enumerate(found.loaded)}
    for number, head in found.loaded.items():
        content = bytes(head.size) if head.type == NOBITS else found.contents(head)
        section = Section(found.names[number], head.flags, max(1, head.alignment), [content])
        unit.sections.append(section)
    for number, records in found.relocations():
        made = map(Relocation._make, RELOCATION.iter_unpack(records))
        unit.sections[numbers[number]].relocations += made
    for name, binding, number, value, kind, size in found.symbols:
        if number not in (UNDEFINED, ABSOLUTE) and number not in numbers and binding != LOCAL:
            raise broken(f"symbol {name} is in a section that is not loaded")
        place = numbers.get(number)
        unit.symbols.append(Symbol(name, kind, place, value, size, binding == LOCAL))
    return unit


def merge(units: Iterable[Unit], shown: frozenset[str]) -> Unit:
    """One unit of several. The symbols that it defines are local to it, but for those in `shown`.

    It has at most one section of each kind, and the symbols of its sections come first.
    """
    units = list(units)
    merged = _Merged(units[0], shown)
    for unit in units:
        merged.add(unit)
    return merged.finished()


class _Merged:
    """The unit that is being made of others."""

    def __init__(self, like: Unit, shown: frozenset[str]) -> None:
        self.shown = shown
        self.unit = Unit(like.machine, like.flags)
        self.sections: dict[str, int] = {}
        self.globals: dict[str, int] = {}
        """The number of the symbol of each name that units share."""

    def add(self, unit: Unit) -> None:
        """Append sections, symbols and relocations of a unit."""
        if unit.machine != self.unit.machine:
            raise CompilerBug("objects of several machines in one library")
        places = [self._place(section) for section in unit.sections]
        moved = [self._moved(symbol, places) for symbol in unit.symbols]
        for section, (number, start) in zip(unit.sections, places, strict=True):
            target = self.unit.sections[number].relocations
            for offset, kind, index, addend in section.relocations:
                symbol, more = moved[index]
                if symbol == NOWHERE:
                    raise broken("a relocation refers to a symbol of no place")
                target.append(Relocation(start + offset, kind, symbol, addend + more))

    def finished(self) -> Unit:
        """The unit, after the last one was added."""
        symbols = self.unit.symbols
        for name, number in self.globals.items():
            is_local = symbols[number].section is not None and name not in self.shown
            symbols[number] = replace(symbols[number], is_local=is_local)
        return self.unit

    def _place(self, section: Section) -> tuple[int, int]:
        """The section of the merged unit that a section goes to, and where it begins there."""
        kind = _kind(section)
        if kind not in self.sections:
            self.sections[kind] = len(self.unit.sections)
            flags = section.flags & (WRITE | ALLOC | EXECUTE)
            self.unit.sections.append(Section(kind, flags, 1))
            self._add_symbol(Symbol("", OF_SECTION, self.sections[kind], is_local=True))
        number = self.sections[kind]
        start = self.unit.sections[number].align(section.alignment)
        self.unit.sections[number].parts += section.parts
        return number, start

    def _moved(self, symbol: Symbol, places: list[tuple[int, int]]) -> tuple[int, int]:
        """The number of a symbol in the merged unit, and what to add to its address."""
        if symbol.section is None:
            if symbol.is_local:
                return NOWHERE, 0
            return self._shared(symbol), 0
        number, start = places[symbol.section]
        if symbol.kind == OF_SECTION:
            return self._symbol_of(number), start
        moved = replace(symbol, section=number, value=start + symbol.value)
        return (self._add_symbol(moved) if symbol.is_local else self._shared(moved)), 0

    def _symbol_of(self, section: int) -> int:
        symbols = self.unit.symbols
        return next(
            n for n, s in enumerate(symbols) if s.kind == OF_SECTION and s.section == section
        )

    def _shared(self, symbol: Symbol) -> int:
        """The number of the symbol of a name, defined or not."""
        number = self.globals.get(symbol.name)
        if number is None:
            number = self.globals[symbol.name] = self._add_symbol(symbol)
        elif symbol.section is not None:
            if self.unit.symbols[number].section is not None:
                raise CompilerBug(f"objects of one library define {symbol.name} twice")
            self.unit.symbols[number] = symbol
        return number

    def _add_symbol(self, symbol: Symbol) -> int:
        self.unit.symbols.append(symbol)
        return len(self.unit.symbols) - 1


def _kind(section: Section) -> str:
    """The section of a merged unit that a section goes to."""
    if section.flags & EXECUTE:
        return TEXT
    if section.flags & WRITE:
        if not section.name.startswith(DATA):
            raise CompilerBug(
                f"section {section.name} has variables, which all networks would share"
            )
        return DATA
    return WEIGHTS if section.name == WEIGHTS else RODATA


class Strings:
    """A table of strings that grows."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, text: str) -> int:
        """Where the text begins in the table."""
        if not text:
            return 0
        self.data += text.encode() + b"\0"
        return len(self.data) - len(text.encode()) - 1


def up(offset: int, alignment: int) -> int:
    """The next multiple of an alignment."""
    return -(-offset // alignment) * alignment


class Pieces:
    """The content of a file, as buffers one after the other: large ones are never copied."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.size = 0

    def add(self, content: Buffer, alignment: int = 1) -> int:
        """Append a buffer; where it begins."""
        start = self.pad(alignment) if alignment > 1 else self.size
        self.buffers.append(content)
        self.size += len(content)
        return start

    def pad(self, alignment: int) -> int:
        """Append zeros up to a multiple of an alignment; where they end."""
        return self.pad_to(up(self.size, alignment))

    def pad_to(self, end: int) -> int:
        """Append zeros up to an offset; where they end."""
        if end > self.size:
            self.add(bytes(end - self.size))
        return end


def write(unit: Unit) -> Pieces:
    """The relocatable object of a unit."""
    order = sorted(range(len(unit.symbols)), key=lambda n: not unit.symbols[n].is_local)
    numbers = {n: position for position, n in enumerate(order, 1)}
    names, strings, out = Strings(), Strings(), Pieces()
    out.add(bytes(HEADER.size))
    table = bytearray(SYMBOL.pack(0, 0, 0, 0, 0, 0))
    for n in order:
        table += _packed(unit.symbols[n], strings)
    rows = [bytes(SECTION.size)]

    def row(name: str, kind: int, flags: int, content: Pieces | Buffer, *rest: int) -> None:
        """rest: link, info, alignment, size of an entry."""
        parts = content.buffers if isinstance(content, Pieces) else [content]
        start, link, info = out.pad(rest[2]), *rest[:2]
        for part in parts:
            out.add(part)
        size = out.size - start
        head = names.add(name), kind, flags, 0, start, size, link, info, *rest[2:]
        rows.append(SECTION.pack(*head))

    symtab = 1 + len(unit.sections)
    for section in unit.sections:
        content = Pieces()
        for part in section.parts:
            content.add(part)
        row(section.name, PROGBITS, section.flags, content, 0, 0, section.alignment, 0)
    locals_end = 1 + sum(s.is_local for s in unit.symbols)
    row(".symtab", SYMTAB, 0, table, symtab + 1, locals_end, 8, SYMBOL.size)
    row(".strtab", STRTAB, 0, strings.data, 0, 0, 1, 0)
    for number, section in enumerate(unit.sections, 1):
        if section.relocations:
            packed = b"".join(
                RELOCATION.pack(r.offset, r.kind, numbers[r.symbol], r.addend)
                for r in section.relocations
            )
            name = f".rela{section.name}"
            row(name, RELA, INFO_LINK, packed, symtab, number, 8, RELOCATION.size)
    row(".note.GNU-stack", PROGBITS, 0, b"", 0, 0, 1, 0)  # no code on stacks
    own = names.add(".shstrtab")
    at = out.add(names.data)
    rows.append(SECTION.pack(own, STRTAB, 0, 0, at, len(names.data), 0, 0, 1, 0))
    heads = out.add(b"".join(rows), 8)
    out.buffers[0] = HEADER.pack(
        IDENT, _RELOCATABLE, unit.machine, 1, 0, 0, heads, unit.flags,
        HEADER.size, 0, 0, SECTION.size, len(rows), len(rows) - 1,
    )  # fmt: skip
    return out


def _packed(symbol: Symbol, strings: Strings) -> bytes:
    info = (LOCAL if symbol.is_local else GLOBAL) << 4 | symbol.kind
    section = UNDEFINED if symbol.section is None else symbol.section + 1
    return SYMBOL.pack(strings.add(symbol.name), info, 0, section, symbol.value, symbol.size)
