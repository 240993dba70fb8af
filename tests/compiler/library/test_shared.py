"""Shared objects that no linker has made. No C compiler is needed here."""

from __future__ import annotations

import ctypes
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.library.elf import DATA, RODATA, TEXT, Relocation, Section, Symbol, Unit
from ncc.compiler.library.make import write_library
from ncc.compiler.library.shared import shared_object
from ncc.runtime.elf import ALLOC, EXECUTE, FUNCTION, NOBITS, OBJECT, WRITE
from tests.c_programs import VERSION, Library, Loaded, done
from tests.compiler.library.small_networks import Compiled, artifact_for


def result(
    loaded: Loaded, network: Compiled, threads: int
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The output of the plain network."""
    (x,), (y,) = network.feeds.values(), network.results.values()
    found = np.empty_like(y)
    net = loaded.call("create", None, threads)
    assert net
    assert loaded.call("run", net, x.ctypes.data, found.ctypes.data) == 0
    loaded.call("destroy", net)
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_python_loads_and_runs_it(library: Library, plain: Compiled, threads: int) -> None:
    """Results have the same bits as those of the runtime."""
    (expected,) = plain.results.values()
    assert result(Loaded(library.folder), plain, threads).tobytes() == expected.tobytes()


@pytest.mark.parametrize("program", ["strip", "llvm-strip"])
def test_a_stripped_one_runs(
    program: str, library: Library, plain: Compiled, tmp_path: Path
) -> None:
    """Programs that strip keep what sections cover, and nothing lies outside of them."""
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    done([program, library.folder / "libnet.so", "-o", tmp_path / "libnet.so"])
    (expected,) = plain.results.values()
    assert result(Loaded(tmp_path), plain, 2).tobytes() == expected.tobytes()
    for image in (library.folder / "libnet.so", tmp_path / "libnet.so"):
        loaded = [one for one in segments(image.read_bytes()) if one[0] == 1]
        (final,) = [one for one in segments(image.read_bytes()) if one[0] == 0x6474E552]
        assert final[3] == loaded[2][3] and final[6] == loaded[2][6] and final[6] % 4096 == 0


@pytest.mark.skipif(shutil.which("eu-elflint") is None, reason="there is no eu-elflint (elfutils)")
def test_a_checker_of_objects_finds_no_fault(library: Library, tmp_path: Path) -> None:
    """Neither in the shared object nor in the members of the archive."""
    done(["ar", "x", library.folder / "libnet.a"], cwd=tmp_path)
    for image in (library.folder / "libnet.so", *tmp_path.iterdir()):
        assert done(["eu-elflint", image]) == "No errors\n"


def segments(image: bytes) -> list[tuple[int, ...]]:
    """Type, rights, offset, address, address, size, size in memory and alignment of each."""
    return [struct.unpack_from("<IIQQQQQQ", image, 64 + 56 * n) for n in range(image[56])]


def sections(image: bytes) -> list[tuple[int, ...]]:
    """The heads of the sections."""
    (at,), count = struct.unpack_from("<Q", image, 40), image[60]
    return [struct.unpack_from("<IIQQQQIIQQ", image, at + 64 * n) for n in range(count)]


def test_sections_cover_what_is_loaded(library: Library) -> None:
    """Every byte behind the headers that is not zero is in a section."""
    image = (library.folder / "libnet.so").read_bytes()
    covered = bytearray(image)
    for _, kind, _, _, offset, size, *_ in sections(image):
        if kind != NOBITS:
            covered[offset : offset + size] = bytes(size)
    covered[: 64 + 56 * image[56]] = bytes(64 + 56 * image[56])
    (heads,) = struct.unpack_from("<Q", image, 40)
    assert not any(covered[:heads])


def test_no_page_can_be_written_and_run(library: Library) -> None:
    """Segments of other rights are on other pages."""
    image = (library.folder / "libnet.so").read_bytes()
    loaded = [one for one in segments(image) if one[0] == 1]
    assert [one[1] for one in loaded] == [4, 5, 6]
    pages = [range(one[3] // 4096, -(-(one[3] + one[6]) // 4096)) for one in loaded]
    assert all(a.stop <= b.start for a, b in zip(pages, pages[1:], strict=False))


def test_pages_of_arm_may_be_large(tmp_path: Path) -> None:
    """Android 15 has pages of 16 KB, and some servers have pages of 64."""
    write_library(artifact_for("plain", "neon"), tmp_path, "net", VERSION)
    loaded = [one for one in segments((tmp_path / "libnet.so").read_bytes()) if one[0] == 1]
    assert len(loaded) == 3
    for _, _, offset, address, _, _, _, alignment in loaded:
        assert alignment == 64 << 10
        assert offset % alignment == address % alignment == 0


def test_tables_of_addresses(tmp_path: Path) -> None:
    """The loader adds where it has put the object, also to a table in front of which one lies."""
    text = Section(RODATA, ALLOC, 1, [b"-\0", b"words\0"])
    tables = Section(DATA, ALLOC | WRITE, 8, [bytes(16)], [Relocation(8, 1, 0, 2)])
    symbols = [Symbol("text", OBJECT, 0, 0, 8, is_local=True), Symbol("table", OBJECT, 1, 8, 8)]
    code = Section(TEXT, ALLOC | EXECUTE, 1, [b"\xc3"])
    made = shared_object(Unit(62, 0, [text, tables, code], symbols), "libwords.so")
    (tmp_path / "libwords.so").write_bytes(b"".join(made.buffers))
    loaded = ctypes.CDLL(str(tmp_path / "libwords.so"))
    assert ctypes.c_char_p.in_dll(loaded, "table").value == b"words"


def unit(kind: int, symbol: Symbol) -> Unit:
    """A unit whose code refers to a symbol."""
    code = Section(TEXT, ALLOC | EXECUTE, 1, [bytes(8)], [Relocation(0, kind, 0, 0)])
    return Unit(62, 0, [code, Section(RODATA, ALLOC, 1, [bytes(8)])], [symbol])


@pytest.mark.parametrize(
    ("kind", "symbol", "why"),
    [
        (10, Symbol("here", FUNCTION, 0), "type 10"),  # R_X86_64_32
        (1, Symbol("here", FUNCTION, 0), "an address in .text"),  # R_X86_64_64
        (2, Symbol("malloc", FUNCTION, None), "malloc by no table"),
        (2, Symbol("far", FUNCTION, 0, 1 << 40), "does not reach"),
    ],
)
def test_what_a_shared_object_cannot_have(kind: int, symbol: Symbol, why: str) -> None:
    """Addresses of 32 bits or in code, direct calls of others, and distances over 2 GB."""
    with pytest.raises(CompilerBug, match=why):
        shared_object(unit(kind, symbol), "libnet.so")
