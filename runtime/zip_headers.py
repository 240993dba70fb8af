"""What stands around entries of a zip archive: a header in front of each, a directory behind all.

As much of the format as archives need that are not compressed. Sizes and places beyond 2 GB are
told in 64 bits, which old programs do not know.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAGIC = b"PK\3\4"
"""What every header begins with, and so every archive."""

LIMIT = (1 << 31) - 1
_BEYOND = 0xFFFFFFFF  # in place of a number that a field tells in 64 bits
_ZIP64_FIELD = 1
_PLAIN, _ZIP64 = 20, 45  # the version of the format that a reader needs, times ten
_UNIX = 3 << 8
_EPOCH = 1 << 5 | 1  # the first day of 1980
_STORED = 0

_HEADER = struct.Struct("<4s5H3I2H")
_LISTED = struct.Struct("<4s6H3I5H2I")
_ZIP64_END = struct.Struct("<4sQ2H2I4Q")
_ZIP64_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")
_LONGEST_COMMENT = 0xFFFF


@dataclass(frozen=True)
class Entry:
    """An entry as its headers tell of it. place: where the one in front of it begins."""

    name: str
    place: int
    size: int
    checksum: int = 0
    stored: bool = True

    def header(self, extra: bytes = b"") -> bytes:
        """What stands in front of it. extra: more fields."""
        if self._large:
            extra = struct.pack("<2H2Q", _ZIP64_FIELD, 16, self.size, self.size) + extra
        name = self.name.encode()
        return _HEADER.pack(MAGIC, *self._facts, len(name), len(extra)) + name + extra

    def listed(self) -> bytes:
        """What stands in the directory. It does not tell who wrote the entry and when."""
        name, extra, place = self.name.encode(), b"", self.place
        if self._large:
            extra = struct.pack("<2H3Q", _ZIP64_FIELD, 24, self.size, self.size, place)
            place = _BEYOND
        version, *facts = self._facts
        rights = 0o644 << 16
        lengths = len(name), len(extra), 0
        head = _LISTED.pack(
            b"PK\1\2", _UNIX | version, version, *facts, *lengths, 0, 0, rights, place
        )
        return head + name + extra

    @property
    def _large(self) -> bool:
        return max(self.size, self.place) > LIMIT

    @property
    def _facts(self) -> tuple[int, ...]:
        """What both say: version, flags, method, time, date, checksum, sizes."""
        version, size = (_ZIP64, _BEYOND) if self._large else (_PLAIN, self.size)
        return version, 0, _STORED, 0, _EPOCH, self.checksum, size, size


def directory(entries: Sequence[Entry], place: int) -> bytes:
    """What stands behind all entries, at this place."""
    listed = b"".join(entry.listed() for entry in entries)
    count, size, end = len(entries), len(listed), place + len(listed)
    if place > LIMIT:
        versions = 44, _UNIX | _ZIP64, _ZIP64
        listed += _ZIP64_END.pack(b"PK\6\6", *versions, 0, 0, count, count, size, place)
        listed += _ZIP64_LOCATOR.pack(b"PK\6\7", 0, end, 1)
        place = _BEYOND
    return listed + _END.pack(b"PK\5\6", 0, 0, count, count, size, place, 0)


def entry_start(data: memoryview, entry: Entry) -> int:
    """Where an entry's own bytes begin. Raises ValueError where its header is not in front."""
    name = entry.name.encode()
    fields = _unpacked(_HEADER, data, entry.place)
    name_size: int = fields[-2]
    extra_size: int = fields[-1]
    start = entry.place + _HEADER.size
    if fields[0] != MAGIC or bytes(data[start : start + name_size]) != name:
        raise ValueError(f"{entry.name} is not where it should be")
    return start + name_size + extra_size


def entries_of(data: memoryview) -> list[Entry]:
    """The entries that the directory of an archive names. Raises ValueError if there is none."""
    tail = max(0, len(data) - _LONGEST_COMMENT - _END.size)
    end = tail + bytes(data[tail:]).rfind(b"PK\5\6")
    if end < tail:
        raise ValueError("it has no directory")
    _, _, _, _, count, size, place, comment = _unpacked(_END, data, end)
    if end + _END.size + comment != len(data):
        raise ValueError("its directory is cut off")
    before = end - _ZIP64_LOCATOR.size
    if before >= 0 and bytes(data[before : before + 4]) == b"PK\6\7":
        _, _, end, _ = _unpacked(_ZIP64_LOCATOR, data, before)
        *_, count, size, place = _unpacked(_ZIP64_END, data, end)
    if place + size != end:
        raise ValueError("its directory is not in front of its end")
    entries: list[Entry] = []
    while place < end:
        entry, place = _read(data, place)
        entries.append(entry)
    if len(entries) != count or place != end:
        raise ValueError("its directory has not the size that it should have")
    return entries


def _read(data: memoryview, place: int) -> tuple[Entry, int]:
    """The entry that is listed at a place of the directory, and where the next one is."""
    (
        signature, _, _, _, method, _, _, checksum, packed, size,
        name_size, extra_size, comment_size, _, _, _, header,
    ) = _unpacked(_LISTED, data, place)  # fmt: skip
    if signature != b"PK\1\2":
        raise ValueError("its directory is broken")
    place += _LISTED.size
    name = bytes(data[place : place + name_size]).decode(errors="replace")
    place += name_size
    size, packed, header = _in_full(data[place : place + extra_size], size, packed, header)
    stored = method == _STORED and size == packed
    return Entry(name, header, size, checksum, stored), place + extra_size + comment_size


def _in_full(extra: memoryview, *numbers: int) -> list[int]:
    """Numbers, those in 64 bits by the field that tells them."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        at += 4
        if kind == _ZIP64_FIELD and at + size <= len(extra):
            wide = iter(struct.unpack_from(f"<{size // 8}Q", extra, at))
            return [next(wide, n) if n == _BEYOND else n for n in numbers]
        at += size
    return list(numbers)


def _unpacked(kind: struct.Struct, data: memoryview, place: int) -> tuple[Any, ...]:
    """What stands at a place: a signature, and numbers."""
    if place + kind.size > len(data):
        raise ValueError("something lies outside of it")
    return kind.unpack_from(data, place)
