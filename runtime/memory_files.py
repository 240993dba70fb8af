"""Files in memory: bytes, and open files, in place of a path.

    file_of(b"7767517 ...", "the .param")     ->  "/proc/71/fd/5", a path that any reader can open
    shown_path("/proc/71/fd/5")               ->  "<bytes>", for errors

The system keeps the content in a file without a name, or has the file open that the caller has
opened, as long as the path lives: keep the object. Processes that this one starts can read it too.
"""

from __future__ import annotations

import io
import os
import re
import weakref
from typing import IO, TypeAlias

from ncc.runtime.errors import InputError
from ncc.runtime.paths import path_of, told

FileLike: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]"
"""A file to read: its path, its content, or the file opened for reading bytes."""

BYTES = "<bytes>"
"""The name of a file that has none."""

_LINK = re.compile(r"/proc/\d+/fd/\d+")
_IN_MEMORY = "/memfd:"
_PATH = re.compile(rb"[ -~]{1,255}")
"""What is no content of a file, but looks like its path."""


class MemoryFile(str):
    """The path of an open file descriptor, which is closed when nobody has the path any more."""

    def __new__(cls, descriptor: int) -> MemoryFile:
        made = super().__new__(cls, f"/proc/{os.getpid()}/fd/{descriptor}")
        weakref.finalize(made, os.close, descriptor)
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)  # elsewhere it is a name alone


def file_of(value: object, what: str) -> str:
    """The path of a file to read, which may be handed over as bytes or open, too.

    what: the file, with its article. Raises InputError for anything else, OSError where an open
    file cannot be read.
    """
    if isinstance(value, MemoryFile):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        content = bytes(value)
        if _PATH.fullmatch(content):
            raise InputError(f"no path to {what}", None, "a str or a pathlib.Path", told(value))
        return _holding(content)
    if isinstance(value, io.BufferedReader) and isinstance(value.raw, io.FileIO):
        if value.seekable() and value.tell() == 0:
            return MemoryFile(os.dup(value.fileno()))
    if hasattr(value, "read") and not isinstance(value, str | os.PathLike):
        content = value.read()
        if not isinstance(content, bytes):
            wanted = "a file that is opened for reading bytes, as open(path, 'rb')"
            raise InputError(f"no bytes of {what}", None, wanted, told(value))
        return _holding(content)
    return path_of(value, what)


def _holding(content: bytes) -> MemoryFile:
    """A file in memory."""
    made = MemoryFile(os.memfd_create(BYTES))
    with open(made, "wb") as file:
        file.write(content)
    return made


def is_in_memory(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of content without a name."""
    return shown_path(path) == BYTES


def shown_path(path: str | os.PathLike[str]) -> str:
    """The name of a file for people: the path of one that was handed over open."""
    name = os.fspath(path)
    if not _LINK.fullmatch(name):
        return name
    try:
        target = os.readlink(name)
    except OSError:
        return name
    return BYTES if target.startswith(_IN_MEMORY) else target
