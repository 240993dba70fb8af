"""Relocatable objects: what is read of them."""

from __future__ import annotations

import pytest

from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.target import BASELINE
from ncc.runtime.elf import FUNCTION, LOCAL, OBJECT, ObjectFile, undefined_symbols
from ncc.runtime.errors import ArtifactError

TEXT = """
@seven = internal constant [7 x i8] c"seven !", align 1
declare ptr @other(ptr)
define ptr @own() {
  %r = call ptr @other(ptr @seven)
  ret ptr %r
}
"""


@pytest.fixture(scope="module")
def image() -> bytes:
    return emit_object(TEXT, BASELINE)


def test_sections_and_symbols(image: bytes) -> None:
    """Those that are loaded, by their names; symbols with their kinds and sizes."""
    found = ObjectFile(memoryview(image))
    assert (found.machine, found.number, found.flags) == ("x86_64", 62, 0)
    names = {found.names[number] for number in found.loaded}
    assert ".text" in names and not names & {".symtab", ".strtab"}
    symbols = {symbol.name: symbol for symbol in found.symbols}
    seven, own = symbols["seven"], symbols["own"]
    assert (seven.kind, seven.size, seven.binding) == (OBJECT, 7, LOCAL)
    assert own.kind == FUNCTION and own.size > 5 and own.binding != LOCAL
    content = found.contents(found.sections[seven.section])
    assert bytes(content[seven.value :][:7]) == b"seven !"
    assert {found.names[number] for number, _ in found.relocations()} == {".text"}


def test_what_others_must_define(image: bytes) -> None:
    """The functions that are called, and nothing that the object has."""
    assert undefined_symbols(image) == {"other"}


def test_sections_without_names(image: bytes) -> None:
    """The header of a broken object may name any section for their names."""
    broken = bytearray(image)
    broken[62:64] = b"\xff\xff"
    with pytest.raises(ArtifactError, match="have no names"):
        _ = ObjectFile(memoryview(bytes(broken))).names
