"""Writes a file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ncc.runtime.paths import path_of

DRAFT = ".draft"
"""The suffix of a file that is not whole yet, or that a killed process has left."""


def place_of(path: str | os.PathLike[str]) -> Path:
    """Where a file would be written: `path`, or what a link leads to if `path` is one.

    Raises OSError where it cannot become a plain file. (A device would be replaced.)  InputError
    for what is no path.
    """
    text = path_of(path, "the file to write")
    path = Path(text)
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "there"
        raise OSError(errno.EINVAL, f"it is {what} and no plain file", str(path))
    if text.endswith(os.sep) and not path.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", text)
    if path.is_symlink():  # that of a pipe, /dev/stdout, leads to a name that is no path
        path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return path


@contextmanager
def draft_of(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which becomes that of `place_of` if all goes well, and vanishes if not.

    Raises OSError where it does, and where it cannot be written.
    """
    path = place_of(path)
    draft = path.with_name(f".{os.urandom(8).hex()}{DRAFT}")
    try:
        yield draft
        draft.replace(path)
    except BaseException as error:
        with suppress(OSError):  # no file was made
            draft.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            # The error of a full disk names no file, and the user does not know the draft.
            if error.filename is None or str(error.filename) == str(draft):
                error.filename = str(path)
        raise
