"""Zip archives without compression, whose entries are used where they lie in the file.

Unlike an ordinary zip archive: entries start at any wanted alignment, all entries of the same
content give the same bytes, and reading maps the file instead of copying it.
"""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from functools import partial
from io import BufferedWriter, FileIO
from typing import Any, BinaryIO, TypeAlias

from ncc.runtime.beside import Beside
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError

MAGIC = b"PK\3\4"
"""What every archive begins with."""

# Fits the pages of a mapping.
ALIGNMENT = 4096

_PADDING_FIELD = 0xD935  # the id that zip tools know for "bytes here only align the data"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_ZIP64_FIELD = 20
_CHUNK = 1 << 22

Content: TypeAlias = "tuple[int, Iterable[memoryview]]"
"""The size of an entry, and its bytes part by part: one is written while the next is made. Each
must hold until the one after the next is asked for.
"""


def write_archive(
    path: str | os.PathLike[str], entries: Mapping[str, Content], aligned: frozenset[str]
) -> None:
    """Write `entries` in order; those named in `aligned` start at a multiple of ALIGNMENT.

    The file appears under its name when it is whole: `path` has its old content or all of the new
    one, whoever is interrupted. (Only power that fails before the system has written its pages can
    leave less, which reading tells: what was written last is missing.)  Raises OSError.
    """
    with draft_of(path) as draft, _File(draft) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in entries.items():
                _write_entry(archive, file, name, content, name in aligned)


class _File(BufferedWriter):
    """A new file whose chunks are written beside the thread that sums the next ones up."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(FileIO(os.fspath(path), "xb"))
        self._chunk: Beside[int] | None = None

    def write(self, data: Any, /) -> int:
        self._finish()
        size = memoryview(data).nbytes
        if size < _CHUNK:
            return super().write(data)
        self._chunk = Beside(partial(super().write, data))
        return size

    def _finish(self) -> None:
        chunk, self._chunk = self._chunk, None
        if chunk is not None:
            chunk.result()

    def tell(self) -> int:
        self._finish()
        return super().tell()

    def seek(self, target: int, whence: int = os.SEEK_SET, /) -> int:
        self._finish()
        return super().seek(target, whence)

    def close(self) -> None:
        try:
            self._finish()
        finally:
            super().close()


def _write_entry(
    archive: zipfile.ZipFile, file: BinaryIO, name: str, content: Content, aligned: bool
) -> None:
    size, parts = content
    # A header that does not tell who wrote it and when.
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o644 << 16
    entry.file_size = size
    large = size > zipfile.ZIP64_LIMIT
    if aligned:
        start = file.tell() + _LOCAL_HEADER.size + len(name.encode()) + _ZIP64_FIELD * large
        # The field's own 6 bytes (id, length, alignment) come before the padding.
        padding = -(start + 6) % ALIGNMENT
        entry.extra = struct.pack("<HHH", _PADDING_FIELD, 2 + padding, ALIGNMENT) + bytes(padding)
    with archive.open(entry, "w", force_zip64=large) as stream:
        for part in parts:
            for first in range(0, len(part), _CHUNK):
                stream.write(part[first : first + _CHUNK])


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
