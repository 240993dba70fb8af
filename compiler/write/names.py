"""Gives each layer and blob of a file a unique name, and keeps the names of the caller.

Layers and blobs have separate names. The first layer that wants a name gets it; later ones get
`name_1`, `name_2`, ... Inputs and outputs of the network get their names before all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ncc.compiler.diagnostics import Unsupported
from ncc.dialects.ncnn.file_format import LONGEST_NAME

_KEY = re.compile(r"[+-]?[0-9]+=")


class Names:
    """The names of one kind in one file.

    reserved: those that nobody else can have. wished: those that somebody will wish for, so that
    none is invented like them.
    """

    def __init__(self, wished: Iterable[str], reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._wished = {*wished, *self._taken}

    def named(self, wish: str, otherwise: str) -> str:
        """The name wished for if it is free and a file can hold it, else a new one made of it; of
        `otherwise` for "".
        """
        if not wish:
            return self.invent(otherwise)
        if wish in self._taken or not is_name(wish):
            return self.invent(_plain(wish))
        self._taken.add(wish)
        return wish

    def invent(self, stem: str) -> str:
        """A name that is neither taken nor wished: `stem`, else `stem_1`, `stem_2`, ..."""
        candidate, number = _shortened(stem, ""), 0
        while candidate in self._taken or candidate in self._wished:
            number += 1
            candidate = _shortened(stem, f"_{number}")
        self._taken.add(candidate)
        return candidate


def _shortened(stem: str, tail: str) -> str:
    """The stem, as much of it as leaves room for the tail, and the tail."""
    room = LONGEST_NAME - len(tail.encode())
    return stem.encode()[:room].decode(errors="ignore") + tail


def _plain(wish: str) -> str:
    """A name that a file can hold but for its length, as like as may be."""
    plain = "".join(c if c.isprintable() and c != " " else "_" for c in wish)
    return f"_{plain}" if _KEY.match(plain) else plain


def is_name(name: str) -> bool:
    """Whether a text would be read back as one name."""
    too_long = len(name.encode()) > LONGEST_NAME
    return name.isprintable() and " " not in name and not too_long and not _KEY.match(name)


def check_name(name: str) -> None:
    """Raise `Unsupported` for a name of the caller's that no file can hold."""
    if not is_name(name):
        raise Unsupported(
            f"{name!r} as a name in a .param file",
            nearest=f"printable characters without a blank, at most {LONGEST_NAME} bytes",
        )
