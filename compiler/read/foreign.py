"""Errors about missing files and files of another kind, with the way to convert them."""

from __future__ import annotations

import os

from ncc.compiler.diagnostics import ModelError, did_you_mean
from ncc.compiler.read.records import Source
from ncc.runtime.file_kinds import BIN, HEAD, NCC, PARAM, other_kind
from ncc.runtime.memory_files import shown_path

_CALLED = {PARAM: "the file", BIN: "the weights"}
_SUFFIXES = {PARAM: (PARAM, PARAM + BIN), BIN: (BIN,)}


def foreign(path: str, head: bytes, wanted: str) -> ModelError | None:
    """The error about a file of another kind; None if the file may be of the right kind.

    head: the first bytes of the file, HEAD or more.
    """
    found = other_kind(path, head[:HEAD], wanted)
    if found is None:
        return None
    what, how = found
    source = Source(shown_path(path))
    return source.error(f"this is {what}; here ncnn's {wanted} is wanted", how=how)


def unreadable(path: str, wanted: str, error: OSError) -> ModelError:
    """The error about a file that cannot be opened, and what was meant if there is none."""
    meant, how = None, None
    if isinstance(error, FileNotFoundError):
        meant = _meant(path, _SUFFIXES[wanted])
        how = _option(path) if wanted == BIN else None
    reason = error.strerror or str(error)
    message = f"{_CALLED[wanted]} cannot be read: {reason}"
    return ModelError(Source(shown_path(path)).problem(message, suggestion=meant, how=how))


def _option(path: str) -> str | None:
    """What was meant for an option, and came where a .bin may stand."""
    if path.endswith(NCC):
        return f"-o {path} names the file that `ncc compile` writes"
    if "=@" in path:
        return f"--input {path} feeds an array"
    return f"--shape {path} tells a shape" if "=" in path else None


def _meant(path: str, suffixes: tuple[str, ...]) -> str | None:
    """The file in the same folder whose name is like that of one that is not there."""
    folder, name = os.path.split(path)
    try:
        there = [one for one in os.listdir(folder or ".") if one.endswith(suffixes)]
    except OSError:
        return None
    whole = [name + suffix for suffix in suffixes if name + suffix in there]
    meant = whole[0] if whole else did_you_mean(name, there)
    return None if meant is None else os.path.join(folder, meant)
