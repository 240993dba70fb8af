"""Headers of zip archives: Python's own module reads what we write, and we read what it writes."""

from __future__ import annotations

import io
import zipfile
from zlib import crc32

import pytest

from ncc.runtime import zip_headers
from ncc.runtime.zip_headers import Entry, directory, entries_of, entry_start

CONTENTS = {"first": b"1" * 30, "folder/second": b"", "third": bytes(range(200))}


def archive(method: int = zipfile.ZIP_STORED, comment: bytes = b"", zip64: bool = False) -> bytes:
    """The contents as Python's module writes them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, data in CONTENTS.items():
            with made.open(name, "w", force_zip64=zip64) as entry:
                entry.write(data)
        made.comment = comment
    return file.getvalue()


@pytest.mark.parametrize("comment", [b"", b"a comment", bytes(0xFFFF)])
@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("far", [False, True])
def test_what_others_write_is_read(
    monkeypatch: pytest.MonkeyPatch, comment: bytes, zip64: bool, far: bool
) -> None:
    """With a comment, with room for large sizes, and as if it were beyond 2 GB."""
    if far:
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    data = archive(comment=comment, zip64=zip64 or far)
    found = entries_of(memoryview(data))
    assert [entry.name for entry in found] == list(CONTENTS)
    for entry, content in zip(found, CONTENTS.values(), strict=True):
        start = entry_start(memoryview(data), entry)
        assert entry.stored and data[start : start + entry.size] == content
        assert entry.checksum == crc32(content)


def test_what_is_compressed_is_told() -> None:
    """Also where an entry's size is what it takes."""
    found = entries_of(memoryview(archive(zipfile.ZIP_DEFLATED)))
    assert not any(entry.stored for entry in found)


@pytest.mark.parametrize("limit", [zip_headers.LIMIT, 100, 0])
def test_others_read_what_is_written(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Some entries, or all, as if they were beyond 2 GB."""
    monkeypatch.setattr(zip_headers, "LIMIT", limit)
    file, entries = b"", []
    for name, data in CONTENTS.items():
        entry = Entry(name, len(file), len(data), crc32(data))
        entries.append(entry)
        file += entry.header() + data
    file += directory(entries, len(file))
    assert entries_of(memoryview(file)) == entries
    with zipfile.ZipFile(io.BytesIO(file)) as read:
        assert read.testzip() is None
        assert {name: read.read(name) for name in read.namelist()} == CONTENTS


def test_what_is_no_archive_is_refused() -> None:
    """Whatever is missing, doubled or in front."""
    data = archive()
    for broken in (b"", b"PK", data[1:], data[:-1], data + b"?", b"?" + data, data[:-22] + data):
        with pytest.raises(ValueError):
            entries_of(memoryview(broken))
