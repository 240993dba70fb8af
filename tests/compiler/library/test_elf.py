"""Objects as data: read, merged and written."""

from __future__ import annotations

import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.library.elf import (
    DATA,
    RODATA,
    TEXT,
    Pieces,
    Relocation,
    Section,
    Strings,
    Symbol,
    Unit,
    merge,
    read,
    write,
)
from ncc.runtime.elf import ALLOC, EXECUTE, FUNCTION, OBJECT, OF_SECTION, WRITE, undefined_symbols
from ncc.runtime.errors import ArtifactError
from ncc.runtime.machine_code import MachineCode
from tests.compiler.library.small_networks import Compiled

CODE, CONSTANT = ALLOC | EXECUTE, ALLOC


def image(unit: Unit) -> bytes:
    return b"".join(write(unit).buffers)


def caller(name: str = "caller", callee: str = "callee") -> Unit:
    """A function that refers to another one, and to a constant by its section."""
    code = Section(".text", CODE, 16, [b"\x90" * 20])
    code.relocations = [Relocation(4, 4, 1, -4), Relocation(10, 2, 2, 3)]
    constants = Section(".rodata.cst4", CONSTANT, 4, [b"1234" * 2])
    symbols = [
        Symbol(name, FUNCTION, 0, 2, 18),
        Symbol(callee, 0, None),
        Symbol("", OF_SECTION, 1, is_local=True),
    ]
    return Unit(62, 0, [code, constants], symbols)


def place(unit: Unit, relocation: Relocation) -> tuple[str, int]:
    """The section that a relocation refers to, and where in it."""
    symbol = unit.symbols[relocation.symbol]
    assert symbol.section is not None
    return unit.sections[symbol.section].name, symbol.value + relocation.addend


def test_what_is_written_is_read() -> None:
    """A unit and its object say the same, but that local symbols come first."""
    unit = merge([caller()], frozenset({"caller"}))
    again = read(image(unit))
    assert [section.name for section in again.sections] == [TEXT, RODATA]
    for section, before in zip(again.sections, unit.sections, strict=True):
        assert b"".join(section.parts) == b"".join(before.parts)
        assert [r.offset for r in section.relocations] == [r.offset for r in before.relocations]
    assert {s for s in again.symbols if s.name} == {s for s in unit.symbols if s.name}
    assert merge([again], frozenset({"caller"})).defined == ["caller"]


def test_sections_one_behind_the_other() -> None:
    """Relocations and symbols move along, and constants are found through their section."""
    units = [caller(), caller("callee", "caller")]
    unit = merge(units, frozenset({"caller"}))
    text, constants = unit.sections
    assert (text.name, text.size, text.alignment) == (TEXT, 52, 16)
    assert (constants.name, constants.size) == (RODATA, 16)
    assert [r.offset for r in text.relocations] == [4, 10, 36, 42]
    first, own, second, others = text.relocations
    assert place(unit, first) == (TEXT, 34 - 4) and place(unit, second) == (TEXT, 2 - 4)
    assert place(unit, own) == (RODATA, 3) and place(unit, others) == (RODATA, 11)
    assert unit.defined == ["caller"]


def test_local_names_do_not_meet() -> None:
    """Two units may have local symbols of one name; they stay two."""
    units = []
    for number in range(2):
        unit = caller(f"caller{number}")
        unit.symbols.append(Symbol("inside", FUNCTION, 0, 4, 4, is_local=True))
        units.append(unit)
    unit = merge(units, frozenset({"caller0", "caller1"}))
    assert [s.value for s in unit.symbols if s.name == "inside"] == [4, 36]


def test_symbols_of_no_place() -> None:
    """The mark of a section that is not loaded is left out; code cannot refer to it."""
    unit = caller()
    unit.sections.append(Section(".comment", 0, 1, [bytes(4)]))
    unit.symbols.append(Symbol("$d", 0, 2, is_local=True))
    loaded = read(image(unit))
    assert "$d" not in {symbol.name for symbol in merge([loaded], frozenset()).symbols}
    unit.sections[0].relocations.append(Relocation(14, 2, 3, 0))
    with pytest.raises(ArtifactError, match="a symbol of no place"):
        merge([read(image(unit))], frozenset())
    unit.symbols[3] = Symbol("$d", 0, 2)
    with pytest.raises(ArtifactError, match="in a section that is not loaded"):
        read(image(unit))


def test_objects_that_are_no_library() -> None:
    """Two definitions of a name, two machines, and variables that all networks would share."""
    with pytest.raises(CompilerBug, match="define caller twice"):
        merge([caller(), caller()], frozenset())
    other = caller("other")
    other.machine = 183
    with pytest.raises(CompilerBug, match="several machines"):
        merge([caller(), other], frozenset())
    with pytest.raises(CompilerBug, match="variables"):
        merge([Unit(62, 0, [Section(".data", ALLOC | WRITE, 8, [bytes(8)])])], frozenset())
    table = Section(".data.rel.ro.names", ALLOC | WRITE, 8, [bytes(8)])
    assert merge([Unit(62, 0, [table])], frozenset()).sections[0].name == DATA


def test_the_runtime_loads_merged_code(plain: Compiled) -> None:
    """Objects of a model, merged into one, still define its entries, and need nothing."""
    entries = frozenset({"ncc_run_alone", "ncc_launch"})
    merged = image(merge(map(read, plain.artifact.objects), entries))
    assert not undefined_symbols(merged)
    assert set(MachineCode([merged]).symbols) == entries


def test_strings_and_pieces() -> None:
    """Strings end in zero; pieces are padded, and are the buffers that came in."""
    strings, pieces, large = Strings(), Pieces(), bytes(100)
    assert [strings.add(text) for text in ("", "a", "bc")] == [0, 1, 3]
    assert strings.data == b"\0a\0bc\0"
    assert pieces.add(b"abc") == 0 and pieces.add(large, 8) == 8
    assert pieces.buffers[2] is large and pieces.size == 108
    assert pieces.pad_to(120) == 120 == pieces.pad(8) == pieces.size


def test_symbols_have_their_kinds() -> None:
    """Functions and data are told apart, as a loader may want."""
    section = Section(RODATA, CONSTANT, 1, [bytes(4)])
    unit = Unit(62, 0, [section], [Symbol("data", OBJECT, 0, 0, 4)])
    (symbol,) = [s for s in read(image(unit)).symbols if s.name]
    assert (symbol.kind, symbol.size, symbol.is_local) == (OBJECT, 4, False)
