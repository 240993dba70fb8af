"""Zip archives without compression, whose entries are used where they lie in the file.

Unlike an ordinary zip archive: entries start at any wanted alignment, all entries of the same
content give the same bytes, two threads write, and reading maps the file instead of copying it.
"""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, TypeAlias

from ncc.runtime.beside import shared
from ncc.runtime.checksum import joined
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError
from ncc.runtime.memory import Memory

MAGIC = b"PK\3\4"
"""What every archive begins with."""

# Fits the pages of a mapping.
ALIGNMENT = 4096

_PADDING_FIELD = 0xD935  # the id that zip tools know for "bytes here only align the data"
_ZIP64_FIELD = 1  # that of sizes in 64 bits, where those in 32 say _BEYOND
_BEYOND = 0xFFFFFFFF
_PLAIN, _ZIP64 = 20, 45  # the version of the format that a reader needs, times ten
_UNIX = 3 << 8
_EPOCH = 1 << 5 | 1  # the first day of 1980
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
_ZIP64_END = struct.Struct("<4sQ2H2I4Q4sIQI")
_END = struct.Struct("<4s4H2IH")
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Piece:
    """Some bytes of an entry. `made` puts them into the memory that it is given, which has room for
    them, and says where they are; or it says where they have been all along.
    """

    size: int
    made: Callable[[memoryview], memoryview]


Content: TypeAlias = Sequence[Piece]
"""An entry, from front to back."""


def content(data: memoryview) -> Content:
    """Of bytes that are there."""
    chunks = (data[first : first + _CHUNK] for first in range(0, len(data), _CHUNK))
    return [Piece(len(chunk), partial(_there, chunk)) for chunk in chunks]


def _there(chunk: memoryview, _room: memoryview) -> memoryview:
    return chunk


def write_archive(
    path: str | os.PathLike[str], entries: Mapping[str, Content], aligned: frozenset[str]
) -> None:
    """Write `entries` in order; those named in `aligned` start at a multiple of ALIGNMENT.

    The file appears under its name when it is whole: `path` has its old content or all of the new
    one, whoever is interrupted. (Only power that fails before the system has written its pages can
    leave less, which reading tells: what was written last is missing.)  Raises OSError.
    """
    placed: list[_Entry] = []
    end = 0
    for name, pieces in entries.items():
        placed.append(_Entry(name.encode(), end, pieces, name in aligned))
        end = placed[-1].end
    with draft_of(path) as draft, open(draft, "xb", buffering=0) as file:
        sums = _write_pieces(file, [piece for entry in placed for piece in entry.pieces])
        directory = bytearray()
        for entry in placed:
            checksum = entry.checksum(sums)
            _write_at(file, entry.place, memoryview(entry.header(checksum)))
            directory += entry.directory_header(checksum)
        directory += _end(len(placed), end, len(directory))
        _write_at(file, end, memoryview(directory))


class _Entry:
    """An entry, and where it is in the file."""

    def __init__(self, name: bytes, place: int, pieces: Content, aligned: bool) -> None:
        self.name, self.place = name, place
        self.size = sum(piece.size for piece in pieces)
        self._large = max(self.size, place) > zipfile.ZIP64_LIMIT
        self._extra = struct.pack("<2H2Q", _ZIP64_FIELD, 16, self.size, self.size) * self._large
        start = place + _LOCAL_HEADER.size + len(name) + len(self._extra)
        if aligned:
            # The field's own 6 bytes (id, length, alignment) come before the padding.
            padding = -(start + 6) % ALIGNMENT
            self._extra += struct.pack("<3H", _PADDING_FIELD, 2 + padding, ALIGNMENT)
            self._extra += bytes(padding)
            start += 6 + padding
        self.end = start + self.size
        self.pieces: list[tuple[int, Piece]] = []
        for piece in pieces:
            self.pieces.append((start, piece))
            start += piece.size

    def checksum(self, sums: Mapping[int, int]) -> int:
        """Of the entry, by those of its pieces, by their places."""
        found = 0
        for number, (place, piece) in enumerate(self.pieces):
            found = joined(found, sums[place], piece.size) if number else sums[place]
        return found

    def header(self, checksum: int) -> bytes:
        """What stands in front of the entry."""
        lengths = len(self.name), len(self._extra)
        held = _LOCAL_HEADER.pack(MAGIC, *self._facts(checksum), *lengths)
        return held + self.name + self._extra

    def directory_header(self, checksum: int) -> bytes:
        """What stands in the directory. It does not tell who wrote the entry and when."""
        place, extra = self.place, b""
        if self._large:
            extra = struct.pack("<2H3Q", _ZIP64_FIELD, 24, self.size, self.size, place)
            place = _BEYOND
        version, *facts = self._facts(checksum)
        rights = 0o644 << 16
        held = _CENTRAL_HEADER.pack(
            b"PK\1\2", _UNIX | version, version, *facts,
            len(self.name), len(extra), 0, 0, 0, rights, place,
        )  # fmt: skip
        return held + self.name + extra

    def _facts(self, checksum: int) -> tuple[int, ...]:
        """What both headers say: version, flags, method, time, date, checksum, sizes."""
        version, size = (_ZIP64, _BEYOND) if self._large else (_PLAIN, self.size)
        return version, 0, zipfile.ZIP_STORED, 0, _EPOCH, checksum, size, size


def _end(count: int, place: int, size: int) -> bytes:
    """What stands behind a directory of so many entries, at a place, of a size in bytes."""
    large = b""
    end = place + size
    if place > zipfile.ZIP64_LIMIT:
        large = _ZIP64_END.pack(
            b"PK\6\6", 44, _UNIX | _ZIP64, _ZIP64, 0, 0, count, count, size, place,
            b"PK\6\7", 0, end, 1,
        )  # fmt: skip
        place = _BEYOND
    return large + _END.pack(b"PK\5\6", 0, 0, count, count, size, place, 0)


def _write_pieces(file: BinaryIO, pieces: Sequence[tuple[int, Piece]]) -> Mapping[int, int]:
    """Make, sum up and write pieces; their checksums by their places."""
    sums: dict[int, int] = {}
    size = max((piece.size for _, piece in pieces), default=0)

    def write(some: Iterable[tuple[int, Piece]]) -> None:
        room = memoryview(Memory(size).bytes)
        for place, piece in some:
            data = piece.made(room)
            sums[place] = zlib.crc32(data)
            _write_at(file, place, data)

    if sum(piece.size for _, piece in pieces) > _CHUNK:
        shared(write, pieces)
    else:
        write(pieces)
    return sums


def _write_at(file: BinaryIO, place: int, data: memoryview) -> None:
    """Write all of it; the system takes 2 GB at once."""
    while data:
        written = os.pwrite(file.fileno(), data, place)
        place, data = place + written, data[written:]


class Archive:
    """A mapped zip archive of uncompressed entries.

    The mapping lives as long as any view of an entry.  Raises ArtifactError for whatever is no
    such archive, and OSError where there is no file that can be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with open(path, "rb") as file:
            self._open(file)

    def _open(self, file: BinaryIO) -> None:
        if file.read(len(MAGIC)) != MAGIC:
            raise ArtifactError(
                f"{self.path} is not a compiled model: `ncc compile` or ncc.compile makes one"
            )
        try:
            with zipfile.ZipFile(file) as archive:
                self._entries = {entry.filename: entry for entry in archive.infolist()}
                if len(self._entries) != len(archive.infolist()):
                    raise self.broken("it has two entries of one name")
            pages = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
        except ArtifactError:
            raise
        except (
            zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, struct.error, ValueError,
            OverflowError, EOFError, KeyError, OSError,
        ) as error:  # fmt: skip
            raise self.broken(f"it is no zip archive: {error}") from error
        self._data = memoryview(pages)

    def broken(self, why: str) -> ArtifactError:
        """The error that says what is wrong with this file."""
        return ArtifactError(f"{self.path} is not a compiled model, or it is broken: {why}")

    def entry(self, name: str, verify: bool = True) -> memoryview:
        """The bytes of an entry, in place.  verify: compare their checksum."""
        entry = self._entries.get(name)
        if entry is None:
            raise self.broken(f"{name} is missing")
        start, data = entry.header_offset, self._data
        if not 0 <= start <= len(data) - _LOCAL_HEADER.size:
            raise self.broken(f"{name} lies outside of it")
        signature, *_, name_size, extra_size = _LOCAL_HEADER.unpack_from(data, start)
        start += _LOCAL_HEADER.size
        if signature != MAGIC or bytes(data[start : start + name_size]) != name.encode():
            raise self.broken(f"{name} is not where it should be")
        start += name_size + extra_size
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise self.broken(f"{name} is compressed")
        if start + entry.file_size > len(data):
            raise self.broken(f"{name} is cut off")
        contents = data[start : start + entry.file_size]
        if verify and zlib.crc32(contents) != entry.CRC:
            raise self.broken(f"{name} does not match its checksum")
        return contents
