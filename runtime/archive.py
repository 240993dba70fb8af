"""Zip archives without compression, whose entries are mapped from the file.

The standard library writes and reads them. An extra field in front of an entry pads its start to a
page, so that reading maps the file instead of copying it. Entries of the same content give the same
bytes.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import BinaryIO, TypeAlias
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError
from ncc.runtime.memory_files import shown_path

ALIGNMENT = 4096
"""Of entries that are mapped: a page."""

MAGIC = b"PK\3\4"
"""How the header of every entry begins, and so every archive."""

Chunks: TypeAlias = Iterable[memoryview]
"""The content of an entry in chunks; each is written before the next one is made."""

_PADDING_FIELD = 0xD935  # the id that zip tools know for "bytes here only align the data"
_FIELD = struct.Struct("<3H")  # its id, the size of the rest, the alignment
_LENGTHS = struct.Struct("<26x2H")  # in the header of an entry: of its name, of its extra fields
_ZIP64_FIELD_BYTES = 20  # of the one by which zipfile tells sizes in 64 bits
_READABLE = 0o644 << 16
_UNIX = 3


def write_archive(
    path: str | os.PathLike[str], entries: Mapping[str, Chunks], aligned: frozenset[str]
) -> None:
    """Write `entries` in order; those named in `aligned` start at a multiple of ALIGNMENT.

    The file appears under its name when it is whole: after an interruption, `path` has its old
    content or all of the new one. (If the power fails before the system has written its pages, the
    end of the file may be missing; reading reports that.)  Raises OSError.
    """
    with draft_of(path) as draft, open(draft, "xb") as file, ZipFile(file, "w") as archive:
        for name, chunks in entries.items():
            info = ZipInfo(name)  # its time is the first day of 1980
            info.create_system, info.external_attr = _UNIX, _READABLE
            if name in aligned:
                info.extra = _padding(file.tell() + _LENGTHS.size + len(name) + _ZIP64_FIELD_BYTES)
            with archive.open(info, "w", force_zip64=True) as entry:
                for chunk in chunks:
                    entry.write(chunk)


def _padding(start: int) -> bytes:
    """The extra field that moves what begins at `start` to a multiple of ALIGNMENT."""
    size = -(start + _FIELD.size) % ALIGNMENT
    return _FIELD.pack(_PADDING_FIELD, 2 + size, ALIGNMENT) + bytes(size)


class Archive:
    """A mapped zip archive of uncompressed entries.

    The mapping lives as long as any view of an entry. Raises ArtifactError if the file is no
    such archive, and OSError if it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = shown_path(path)
        with open(path, "rb") as file:
            self._open(file)

    def _open(self, file: BinaryIO) -> None:
        if file.read(len(MAGIC)) != MAGIC:
            raise ArtifactError(
                f"{self.path} is not a compiled model: `ncc compile` or ncc.compile makes one"
            )
        try:
            pages = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
            with ZipFile(file) as archive:
                entries = archive.infolist()
        except (BadZipFile, ValueError, OverflowError, OSError, NotImplementedError) as error:
            raise self.broken(f"it is no zip archive: {error}") from error
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) != len(entries):
            raise self.broken("it has two entries of one name")
        self._data = memoryview(pages)

    def broken(self, why: str) -> ArtifactError:
        """The error for a problem of this file."""
        return ArtifactError(
            f"{self.path} is not a compiled model, or it is broken: {why}; copy it, or compile it, "
            "again"
        )

    def entry(self, name: str, verify: bool = True) -> memoryview:
        """The bytes of an entry, in place. verify: compare their checksum."""
        entry = self._entries.get(name)
        if entry is None:
            raise self.broken(f"{name} is missing")
        if entry.compress_type != ZIP_STORED or entry.compress_size != entry.file_size:
            raise self.broken(f"{name} is compressed")
        start = self._start(entry)
        contents = self._data[start : start + entry.file_size]
        if len(contents) < entry.file_size:
            raise self.broken(f"{name} is cut off")
        if verify and zlib.crc32(contents) != entry.CRC:
            raise self.broken(f"{name} does not match its checksum")
        return contents

    def _start(self, entry: ZipInfo) -> int:
        """Where the content of an entry begins: behind its header, name and extra fields.

        zipfile tells only where the header is.
        """
        name, lengths_end = entry.filename.encode(), entry.header_offset + _LENGTHS.size
        header = self._data[entry.header_offset : lengths_end]
        if len(header) == _LENGTHS.size and header[: len(MAGIC)] == MAGIC:
            name_size, extra_size = _LENGTHS.unpack(header)
            if self._data[lengths_end : lengths_end + name_size] == name:
                return lengths_end + int(name_size) + int(extra_size)
        raise self.broken(f"{entry.filename} is not where it should be")
