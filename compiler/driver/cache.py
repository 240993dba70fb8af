"""The files of the cache. It has two tiers: kernels, and models.

    <folder>/<key>.o         magic, SHA-256 of key and content, content: the code of one kernel
    <folder>/<key>.thin      the same for the thin model of a large model (see `thin_model.py`)
    <folder>/<key>.ncc       a small model, as it is written for a user (see `models.py`)
    <folder>/added           bytes that were added since the folder was listed, a line a compilation

An entry appears whole or not at all: it is written under another name and then renamed. Processes
share a folder without locks, since all that write an entry write the same bytes. An entry that
cannot be read, is cut short or belongs to another key counts as absent and is written anew.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from math import inf
from pathlib import Path

from ncc.compiler.diagnostics import CacheWarning
from ncc.runtime.draft import DRAFT, draft_of
from ncc.runtime.errors import InputError

FOLDER_VARIABLE = "NCC_CACHE_DIR"
"""Names the folder of the cache; without it, the user's cache folder has one for ncc."""

SWITCH_VARIABLE = "NCC_CACHE"
"""`off`: no cache. `kernels`: no models, for developers who change ncc while it runs."""

_ON = ("on", "1", "yes", "true")
_OFF = ("off", "0", "no", "false")

LIMIT_BYTES = 256 << 20
"""The limit in bytes: the kernels of some hundred networks, and a dozen small models."""

_KEPT_SHARE = 0.75  # of the limit, after eviction, so that not every compilation evicts
_FRESH_SECONDS = 3600.0  # a use is only noted when the last one lies further back
_UNLISTED_SHARE = 1 / 16  # of the limit: to list many files takes longer than to compile a network
_ADDED = "added"  # since the folder was listed, a number of bytes a line
_MAGIC = b"ncc kernel 1\n"

KERNEL, THIN, MODEL = ".o", ".thin", ".ncc"
"""The kinds of entries."""

_KINDS = "|".join(map(re.escape, (KERNEL, THIN, MODEL, ".manifest", ".recipe")))
_OURS = re.compile(rf"[0-9a-f]{{64}}({_KINDS})|\.[0-9a-f]+{re.escape(DRAFT)}")
"""The names of files that a cache has made: its entries, those of earlier versions of ncc, and
drafts. Other files stay, also if a digest is their name: the folder may be the user's.
"""

_HEADER_BYTES = len(_MAGIC) + 32


class Cache:
    """The files in a folder. Nothing here fails: a folder that cannot be written gives a warning.

    limit: bytes that `trim` leaves at most. kinds: the kinds of entries that this cache keeps.
    """

    def __init__(
        self,
        folder: Path,
        limit: int = LIMIT_BYTES,
        kinds: tuple[str, ...] = (KERNEL, THIN, MODEL),
    ) -> None:
        self.folder = folder
        self.limit = limit
        self.kinds = kinds
        self._added = 0
        """Bytes of entries that `trim` does not know yet."""
        self._writable = True

    def keeps(self, kind: str) -> bool:
        """Whether such entries are kept, as far as is known."""
        return self._writable and kind in self.kinds

    def get(self, key: str, kind: str = KERNEL) -> bytes | None:
        """The content of an entry; None if it is absent or broken."""
        path = self.path(key, kind)
        if path is None:
            return None
        try:
            held = path.read_bytes()
        except OSError:
            return None
        code = held[_HEADER_BYTES:]
        if held[:_HEADER_BYTES] != _header(key, code):
            return None
        return code

    def put(self, key: str, code: bytes, kind: str = KERNEL) -> None:
        """Write an entry."""

        def write(path: Path) -> None:
            with draft_of(path) as draft:
                draft.write_bytes(_header(key, code) + code)

        self.put_file(key, kind, write)

    def path(self, key: str, kind: str) -> Path | None:
        """The path of an entry, if it is there. Counts as a use of the entry."""
        path = self._path(key, kind)
        if kind in self.kinds:
            with suppress(OSError):
                self._note_use(path, path.stat().st_mtime)
                return path
        return None

    def put_file(self, key: str, kind: str, write: Callable[[Path], None]) -> None:
        """Write an entry with a function that takes a path; it appears whole or not at all."""
        if not self.keeps(kind):
            return
        try:
            if not self._added:
                self.folder.mkdir(parents=True, exist_ok=True)
            write(self._path(key, kind))
        except OSError as error:
            self._writable = False
            warnings.warn(
                f"{self.folder}: warning: what is compiled is not kept: {error.strerror or error} "
                f"({SWITCH_VARIABLE}=off says so at once)",
                CacheWarning,
                stacklevel=2,
            )
        else:
            with suppress(OSError):
                self._added += self._path(key, kind).stat().st_size

    def trim(self) -> None:
        """If enough was added, delete the least recently used entries, down to the limit."""
        added, self._added = self._added, 0
        if not added or self._added_by_all(added) <= self.limit * _UNLISTED_SHARE:
            return
        with suppress(OSError):
            (self.folder / _ADDED).write_bytes(b"0\n")
        self._evict()

    def _added_by_all(self, size: int) -> float:
        """What all processes have added since the folder was listed, `size` being news."""
        try:
            with open(self.folder / _ADDED, "ab+", buffering=0) as file:
                listed = file.tell() > 0
                file.write(b"%d\n" % size)
                file.seek(0)
                return sum(map(int, file.read().split())) if listed else inf
        except (OSError, ValueError):
            return inf  # unknown

    def _evict(self) -> None:
        """Delete the oldest files. Two processes that do so at once delete the same ones."""
        files = sorted(self.files(), key=lambda file: file[1])
        total = sum(size for _, _, size in files)
        if total <= self.limit * (1 - _UNLISTED_SHARE):
            return
        for path, _, size in files:
            if total <= self.limit * _KEPT_SHARE:
                return
            # Another process deleted it first, or owns it.
            with suppress(OSError):
                os.unlink(path)
            total -= size

    def _path(self, key: str, kind: str = KERNEL) -> Path:
        return self.folder / f"{key}{kind}"

    def _note_use(self, path: Path, used: float) -> None:
        """Note a use in the time of the last change, at most once an hour."""
        with suppress(OSError):
            if time.time() - used > _FRESH_SECONDS:
                os.utime(path)

    def files(self) -> Iterator[tuple[str, float, int]]:
        """Path, last use and size of every file of a cache: also those that other versions of ncc
        keep, and that a killed process left.
        """
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _OURS.fullmatch(entry.name) is None:
                    continue
                with suppress(OSError):
                    found = entry.stat()
                    yield entry.path, found.st_mtime, found.st_size


def switch_of(environment: Mapping[str, str], variable: str, *more: str) -> str:
    """What a variable of the environment says: "on", which it need not say, "off", or one of
    `more`. Raises InputError for another text.
    """
    said = environment.get(variable, "").strip().lower()
    if said in ("", *_ON):
        return "on"
    if said in _OFF:
        return "off"
    if said not in more:
        wanted = ", ".join(["on", "off", *more])
        what = f"the variable {variable} of the environment"
        raise InputError(what, None, wanted, repr(environment[variable]))
    return said


def cache_of(environment: Mapping[str, str]) -> Cache | None:
    """The cache that the environment asks for; None if it switches the cache off."""
    switch = switch_of(environment, SWITCH_VARIABLE, "kernels")
    if switch == "off":
        return None
    kinds = (KERNEL,) if switch == "kernels" else (KERNEL, THIN, MODEL)
    if folder := environment.get(FOLDER_VARIABLE):
        return Cache(Path(folder), kinds=kinds)
    from platformdirs import user_cache_path  # slow to import, and only needed here

    return Cache(user_cache_path("ncc", appauthor=False) / "kernels", kinds=kinds)


def _header(key: str, code: bytes) -> bytes:
    return _MAGIC + sha256(key.encode() + code).digest()
