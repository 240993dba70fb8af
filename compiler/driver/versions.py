"""The part of cache keys that depends on ncc: digests of its files, versions of its libraries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from operator import attrgetter
from pathlib import Path

GENERATORS = (
    "compiler/loops",
    "compiler/llvm",
    "compiler/driver/objects.py",
    "compiler/target.py",
    "runtime/threads.py",
    "dialects/rt.py",
    "dialects/code.py",
    "dialects/tile.py",
)
"""The folders whose code turns a kernel into machine code."""

_FOLDERS = ("compiler", "dialects", "runtime")


@cache
def generator_version() -> str:
    """Another text for other code, and for other versions of LLVM or xDSL: no kernel outlives an
    edit.
    """
    return _version(GENERATORS)


@cache
def compiler_version() -> str:
    """The same for all of ncc: no model outlives an edit of anything."""
    return _version(_FOLDERS)


def _version(names: Iterable[str]) -> str:
    home = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    sources = sha256()
    for file in chain.from_iterable(_python_files(os.path.join(home, name)) for name in names):
        sources.update(f"{os.path.basename(file)}\0".encode() + _content(file) + b"\0")
    versions = ", ".join(map(installed_version, ("llvmlite", "xdsl", "numpy")))
    return f"{versions}, ncc {sources.hexdigest()}"


def _content(file: str) -> bytes:
    """Of one of several hundred small files: `open` asks the system more than twice as often."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _python_files(place: str) -> Iterator[str]:
    """The Python files in a folder and in those inside it, or the one file."""
    if not os.path.isdir(place):
        yield place
        return
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=attrgetter("name")):
            if entry.name.endswith(".py"):
                yield entry.path
            elif entry.is_dir():
                yield from _python_files(entry.path)


def installed_version(package: str) -> str:
    """A package and its version, by the name of the folder beside it that says so.

    To import it takes longer than to find a model in the cache.
    """
    spec = find_spec(package)
    beside = Path(spec.origin).parent.parent if spec is not None and spec.origin else Path()
    start, end = f"{package}-", ".dist-info"
    found = [n for n in os.listdir(beside) if n.startswith(start) and n.endswith(end)]
    if len(found) == 1:
        return found[0].removesuffix(end)
    return f"{package}-{import_module(package).__version__}"
