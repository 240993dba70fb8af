"""Checks that a caller names a file by a path."""

from __future__ import annotations

import os
from typing import TypeAlias

from ncc.runtime.errors import InputError

PathLike: TypeAlias = "str | os.PathLike[str]"
"""A path, as the standard library takes one."""

_LONGEST_NAME = 255
"""Bytes of a path that could also be the content of a file."""


def path_of(value: object, what: str) -> str:
    """The path that a caller has handed over. what: the file that it leads to, with its article.

    Raises InputError for all that is no path: an open file, text or bytes of a file.
    """
    if isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        if isinstance(path, str) and path and not _is_content(path):
            return path
        value = path
    wanted = "a str or a pathlib.Path"
    raise InputError(f"no path to {what}", None, wanted, told(value))


def _is_content(text: str) -> bool:
    """Whether a text is that of a .param, or holds what no path can."""
    return "\0" in text or ("\n" in text and text.lstrip().startswith("7767517"))


def told(value: object) -> str:
    """What was handed over in place of a path, and what to do with it."""
    if isinstance(value, str):
        return "an empty text" if not value else "the text of a file: give the path of that file"
    if isinstance(value, bytes | bytearray | memoryview):
        content = bytes(value)
        if 0 < len(content) <= _LONGEST_NAME and b"\0" not in content and b"\n" not in content:
            return "bytes: os.fsdecode makes a path of them"
        return "bytes: give the path of a file that holds them"
    if hasattr(value, "read") or hasattr(value, "write"):
        name = getattr(value, "name", None)
        if isinstance(name, str):
            return f"an open file: give {name!r}"
        return "a file in memory: give the path of one on disk"
    return "None" if value is None else f"a {type(value).__name__}"
