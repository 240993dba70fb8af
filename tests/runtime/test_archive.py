"""Archives: Python's own module reads them, an entry is used where it lies, and a save is whole."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ncc.runtime.archive import ALIGNMENT, Archive, Chunks, write_archive
from ncc.runtime.errors import ArtifactError

ENTRIES = {"first": b"1" * 30, "empty": b"", "large": np.random.default_rng(0).bytes(9000)}


def write(path: Path, aligned: frozenset[str] = frozenset({"large"}), **more: Chunks) -> None:
    """The entries, in a file."""
    held: dict[str, Chunks] = {name: [memoryview(data)] for name, data in ENTRIES.items()}
    write_archive(path, held | more, aligned)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The entries, in a file."""
    path = tmp_path / "x.ncc"
    write(path)
    return path


def test_what_was_written_is_read(saved: Path) -> None:
    """Here, and by Python's module, in the order in which it was given."""
    read = Archive(saved)
    assert {name: bytes(read.entry(name)) for name in ENTRIES} == ENTRIES
    with zipfile.ZipFile(saved) as file:
        assert file.testzip() is None
        assert {name: file.read(name) for name in file.namelist()} == ENTRIES
        assert file.namelist() == [*ENTRIES]


@pytest.mark.parametrize("name", [*ENTRIES])
def test_an_entry_begins_at_a_page_where_it_shall(tmp_path: Path, name: str) -> None:
    """In the file, and so in the mapping."""
    write(tmp_path / "x.ncc", frozenset({name}))
    with zipfile.ZipFile(tmp_path / "x.ncc") as file:
        assert file.testzip() is None
    entry = Archive(tmp_path / "x.ncc").entry(name)
    whole = (tmp_path / "x.ncc").read_bytes()
    if entry:
        assert whole.index(bytes(entry)) % ALIGNMENT == 0
        assert np.frombuffer(entry, np.uint8).ctypes.data % ALIGNMENT == 0
    assert bytes(entry) == ENTRIES[name]


@pytest.mark.slow
def test_entries_beyond_four_gigabytes(tmp_path: Path) -> None:
    """Their sizes and places take 64 bits."""
    size = (4 << 30) + 12345
    chunk = memoryview(bytes(1 << 26))
    chunks = (chunk[: size - first] for first in range(0, size, len(chunk)))
    entries = {"huge": chunks, "last": [memoryview(b"last")]}
    write_archive(tmp_path / "x.ncc", entries, frozenset({"huge", "last"}))
    read = Archive(tmp_path / "x.ncc")
    assert len(read.entry("huge", verify=False)) == size
    assert bytes(read.entry("last")) == b"last"


def test_a_failed_save_leaves_the_old_file(saved: Path) -> None:
    """And no draft beside it: whatever could not be made or written."""

    def chunks() -> Iterator[memoryview]:
        yield memoryview(bytes(1 << 20))
        raise OSError("disk full")

    before = saved.read_bytes()
    with pytest.raises(OSError, match="disk full"):
        write(saved, more=chunks())
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["x.ncc"]


def test_a_chunk_is_written_before_the_next_is_made(tmp_path: Path) -> None:
    """So that both can use the same memory."""
    room = bytearray(3)

    def chunks() -> Iterator[memoryview]:
        for number in range(5):
            room[:] = bytes([number] * 3)
            yield memoryview(room)

    write(tmp_path / "x.ncc", made=chunks())
    assert Archive(tmp_path / "x.ncc").entry("made") == bytes(n for n in range(5) for _ in "abc")


def test_chunks_make_the_same_file(saved: Path) -> None:
    """However many there are."""
    data = memoryview(ENTRIES["large"])
    write(saved.with_name("y.ncc"), large=[data[n : n + 999] for n in range(0, len(data), 999)])
    assert saved.with_name("y.ncc").read_bytes() == saved.read_bytes()


def test_only_an_entry_that_is_asked_for_is_summed_up(saved: Path) -> None:
    """Its checksum is compared, or not, as whoever asks wants; others stay unread."""
    data = bytearray(saved.read_bytes())
    data[data.index(ENTRIES["large"])] ^= 1
    saved.write_bytes(data)
    broken = Archive(saved)
    assert bytes(broken.entry("first")) == ENTRIES["first"]
    assert len(broken.entry("large", verify=False)) == 9000
    with pytest.raises(ArtifactError, match="large does not match its checksum"):
        broken.entry("large")
    with pytest.raises(ArtifactError, match="second is missing"):
        broken.entry("second")


def test_an_entry_outlives_its_archive(saved: Path) -> None:
    """The pages stay mapped while a view of them is alive, also when the file is gone."""
    entry = Archive(saved).entry("large")
    saved.unlink()
    assert bytes(entry) == ENTRIES["large"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of both is meant nobody can say."""
    with zipfile.ZipFile(tmp_path / "x.ncc", "w") as file:
        file.writestr("first", "1")
        file.writestr("first", "2")
    with pytest.raises(ArtifactError, match="two entries of one name"):
        Archive(tmp_path / "x.ncc")
