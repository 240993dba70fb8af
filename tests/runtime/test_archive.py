"""Archives: Python's own module reads them, an entry is used where it lies, and a save is whole."""

from __future__ import annotations

import os
import time
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ncc.runtime import archive, zip_headers
from ncc.runtime.archive import ALIGNMENT, Archive, Content, Piece, content, write_archive
from ncc.runtime.errors import ArtifactError

ENTRIES = {"first": b"1" * 30, "empty": b"", "large": np.random.default_rng(0).bytes(9000)}


def write(path: Path, aligned: frozenset[str] = frozenset({"large"}), **more: Content) -> None:
    """The entries, in a file."""
    held = {name: content(memoryview(data)) for name, data in ENTRIES.items()}
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


@pytest.mark.parametrize("limit", [100, zip_headers.LIMIT])
@pytest.mark.parametrize("name", [*ENTRIES])
def test_an_entry_begins_at_a_page_where_it_shall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    """Also beyond 2 GB, where headers have more bytes: shown here with the limit lowered."""
    monkeypatch.setattr(zip_headers, "LIMIT", limit)
    write(tmp_path / "x.ncc", frozenset({name}))
    monkeypatch.undo()
    with zipfile.ZipFile(tmp_path / "x.ncc") as file:
        assert file.testzip() is None
    entry = Archive(tmp_path / "x.ncc").entry(name)
    whole = (tmp_path / "x.ncc").read_bytes()
    if entry:
        assert whole.index(bytes(entry)) % ALIGNMENT == 0
        assert np.frombuffer(entry, np.uint8).ctypes.data % ALIGNMENT == 0
    assert bytes(entry) == ENTRIES[name]


@pytest.mark.parametrize("room", [10, 5000, 9100])
def test_a_failed_save_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """And no draft beside it: whether the disk is full at once, or at a later chunk."""
    before = saved.read_bytes()
    pwrite, left = os.pwrite, [room]

    def full(file: int, data: memoryview, place: int) -> int:
        left[0] -= len(data)
        if left[0] < 0:
            raise OSError("disk full")
        return pwrite(file, data, place)

    monkeypatch.setattr(os, "pwrite", full)
    monkeypatch.setattr(archive, "_CHUNK", 4096)
    with pytest.raises(OSError, match="disk full"):
        write(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["x.ncc"]


def test_a_chunk_that_cannot_be_made_ends_the_others(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error arrives, whichever thread met it; chunks behind it are not made."""
    monkeypatch.setattr(archive, "_CHUNK", 1)
    before, made = saved.read_bytes(), []

    def chunk(number: int, room: memoryview) -> memoryview:
        made.append(number)
        if number == 7:
            raise MemoryError("of the seventh")
        time.sleep(0.001)
        return room[:1]

    with pytest.raises(MemoryError, match="of the seventh"):
        write(saved, more=[Piece(1, partial(chunk, number)) for number in range(100_000)])
    assert 7 in made and len(made) < 50_000
    assert saved.read_bytes() == before


def test_a_system_that_writes_less_than_asked_is_asked_again(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Linux does beyond 2 GB."""
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: pwrite(file, data[:999], place))
    write(saved.with_name("again.ncc"))
    assert saved.with_name("again.ncc").read_bytes() == saved.read_bytes()


def test_chunks_written_beside_make_the_same_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are."""
    monkeypatch.setattr(archive, "_CHUNK", 1024)
    write(saved.with_name("chunks.ncc"))
    assert saved.with_name("chunks.ncc").read_bytes() == saved.read_bytes()


def test_what_is_made_is_put_where_it_is_told(tmp_path: Path) -> None:
    """A piece fills the memory that it is given, which the next one is given too."""

    def filled(number: int, room: memoryview) -> memoryview:
        room[:3] = bytes([number] * 3)
        return room[:3]

    pieces = [Piece(3, partial(filled, number)) for number in range(5)]
    write(tmp_path / "x.ncc", made=pieces)
    assert Archive(tmp_path / "x.ncc").entry("made") == bytes(n for n in range(5) for _ in "abc")


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
