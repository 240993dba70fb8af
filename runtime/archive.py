"""Zip archives without compression, whose entries are used where they lie in the file.

Unlike an ordinary zip archive: entries start at any wanted alignment, all entries of the same
content give the same bytes, two threads write, and reading maps the file instead of copying it.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, TypeAlias

from ncc.runtime.beside import shared
from ncc.runtime.checksum import joined
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError
from ncc.runtime.memory import Memory
from ncc.runtime.zip_headers import MAGIC, Entry, directory, entries_of, entry_start

# Fits the pages of a mapping.
ALIGNMENT = 4096

_PADDING_FIELD = 0xD935  # the id that zip tools know for "bytes here only align the data"
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

Sums: TypeAlias = dict[int, int]
"""Checksums of pieces by their places in a file."""

_PlacedPiece: TypeAlias = tuple[int, Piece]

Share: TypeAlias = Callable[
    [Callable[[Iterator[_PlacedPiece]], Sums], Sequence[_PlacedPiece]], list[Sums]
]
"""As `shared` does; or processes may do it."""


def content(data: memoryview) -> Content:
    """Of bytes that are there."""
    chunks = (data[first : first + _CHUNK] for first in range(0, len(data), _CHUNK))
    return [Piece(len(chunk), partial(_there, chunk)) for chunk in chunks]


def _there(chunk: memoryview, _room: memoryview) -> memoryview:
    return chunk


def write_archive(
    path: str | os.PathLike[str],
    entries: Mapping[str, Content],
    aligned: frozenset[str],
    share: Share = shared,
) -> None:
    """Write `entries` in order; those named in `aligned` start at a multiple of ALIGNMENT.

    share: has two work where there is much to write.

    The file appears under its name when it is whole: `path` has its old content or all of the new
    one, whoever is interrupted. (Only power that fails before the system has written its pages can
    leave less, which reading tells: what was written last is missing.)  Raises OSError.
    """
    placed: list[_Placed] = []
    end = 0
    for name, pieces in entries.items():
        placed.append(_Placed(name, end, pieces, name in aligned))
        end = placed[-1].end
    with draft_of(path) as draft, open(draft, "xb", buffering=0) as file:
        sums = _write_pieces(file, [piece for one in placed for piece in one.pieces], share)
        summed = [one.summed(sums) for one in placed]
        for one, entry in zip(placed, summed, strict=True):
            _write_at(file, entry.place, memoryview(entry.header(one.padding)))
        _write_at(file, end, memoryview(directory(summed, end)))


class _Placed:
    """An entry, and where it and its pieces are in the file."""

    def __init__(self, name: str, place: int, pieces: Content, aligned: bool) -> None:
        self._entry = Entry(name, place, sum(piece.size for piece in pieces))
        start = place + len(self._entry.header())
        self.padding = b""
        if aligned:
            # The field's own 6 bytes (id, length, alignment) come before the padding.
            size = -(start + 6) % ALIGNMENT
            self.padding = struct.pack("<3H", _PADDING_FIELD, 2 + size, ALIGNMENT) + bytes(size)
        start += len(self.padding)
        self.pieces: list[_PlacedPiece] = []
        for piece in pieces:
            self.pieces.append((start, piece))
            start += piece.size
        self.end = start

    def summed(self, sums: Sums) -> Entry:
        """The entry with its checksum, by those of its pieces, by their places."""
        found = 0
        for number, (place, piece) in enumerate(self.pieces):
            found = joined(found, sums[place], piece.size) if number else sums[place]
        return replace(self._entry, checksum=found)


def _write_pieces(file: BinaryIO, pieces: Sequence[_PlacedPiece], share: Share) -> Sums:
    """Make, sum up and write pieces; their checksums by their places."""
    size = max((piece.size for _, piece in pieces), default=0)

    def write(some: Iterable[_PlacedPiece]) -> Sums:
        room, sums = memoryview(Memory(size).bytes), Sums()
        for place, piece in some:
            data = piece.made(room)
            sums[place] = zlib.crc32(data)
            _write_at(file, place, data)
        return sums

    if sum(piece.size for _, piece in pieces) <= _CHUNK:
        return write(pieces)
    first, second = share(write, pieces)
    return first | second


def _write_at(file: BinaryIO, place: int, data: memoryview) -> None:
    """Write all of it; the system takes 2 GB at once."""
    while data:
        written = os.pwrite(file.fileno(), data, place)
        place, data = place + written, data[written:]


class Archive:
    """A mapped zip archive of uncompressed entries.

    The mapping lives as long as any view of an entry. Raises ArtifactError for whatever is no
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
            pages = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
            entries = entries_of(memoryview(pages))
        except (ValueError, OverflowError, OSError) as error:
            raise self.broken(f"it is no zip archive: {error}") from error
        self._entries = {entry.name: entry for entry in entries}
        if len(self._entries) != len(entries):
            raise self.broken("it has two entries of one name")
        self._data = memoryview(pages)

    def broken(self, why: str) -> ArtifactError:
        """The error that says what is wrong with this file."""
        return ArtifactError(
            f"{self.path} is not a compiled model, or it is broken: {why}; copy it, or compile it, "
            "again"
        )

    def entry(self, name: str, verify: bool = True) -> memoryview:
        """The bytes of an entry, in place. verify: compare their checksum."""
        entry = self._entries.get(name)
        if entry is None:
            raise self.broken(f"{name} is missing")
        try:
            start = entry_start(self._data, entry)
        except ValueError as error:
            raise self.broken(str(error)) from error
        if not entry.stored:
            raise self.broken(f"{name} is compressed")
        if start + entry.size > len(self._data):
            raise self.broken(f"{name} is cut off")
        contents = self._data[start : start + entry.size]
        if verify and zlib.crc32(contents) != entry.checksum:
            raise self.broken(f"{name} does not match its checksum")
        return contents
