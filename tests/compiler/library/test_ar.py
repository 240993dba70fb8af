"""Archives with an index of symbols."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.library.ar import archive
from ncc.compiler.library.elf import Pieces
from tests.c_programs import Library, done


def pieces(content: bytes) -> Pieces:
    made = Pieces()
    made.add(content)
    return made


def test_the_index_finds_each_member(tmp_path: Path) -> None:
    """A symbol's number is where its member begins, at an even place."""
    members = {"one.o": (pieces(b"odd"), ["a", "bc"]), "two.o": (pieces(b"even"), ["d"])}
    made = archive(members)
    image = b"".join(made.buffers)
    assert made.size == len(image)
    count, *offsets = struct.unpack_from(">4I", image, 8 + 60)
    assert count == 3
    assert image[8 + 60 + 16 :].startswith(b"a\0bc\0d\0")
    assert [image[at : at + 6] for at in offsets] == [b"one.o/", b"one.o/", b"two.o/"]
    assert [image[at + 60 :][:3] for at in offsets] == [b"odd", b"odd", b"eve"]
    assert all(at % 2 == 0 for at in offsets)


def test_a_long_name() -> None:
    """No member has one: it would need a table of its own."""
    with pytest.raises(CompilerBug, match="too long"):
        archive({"a_long_name_of_a_member.o": (pieces(b""), [])})


@pytest.mark.skipif(shutil.which("ar") is None, reason="there is no ar")
def test_ar_reads_it(library: Library, tmp_path: Path) -> None:
    """Another program takes the archive apart into the same objects."""
    listed = done(["ar", "t", library.folder / "libnet.a"]).split()
    assert listed == ["network.o", "processor.o", "host.o"]
    done(["ar", "x", library.folder / "libnet.a"], cwd=tmp_path)
    assert all((tmp_path / name).read_bytes()[:4] == b"\x7fELF" for name in listed)
