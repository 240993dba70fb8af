"""A static library: an archive of objects, with GNU's index of the symbols that they define.

Linkers ask the index which member to take, and refuse an archive without one. Numbers of the index
have 32 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.library.elf import Pieces

_MAGIC = b"!<arch>\n"
_HEAD_BYTES = 60
_INDEX = "/"
_LONGEST_NAME = 15


def archive(members: Mapping[str, tuple[Pieces, Sequence[str]]]) -> Pieces:
    """The archive of objects, each with the symbols that it defines, by name.

    The same objects always give the same bytes: members have no time and no owner.
    """
    symbols = [symbol for _, defined in members.values() for symbol in defined]
    names = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    at = len(_MAGIC) + _HEAD_BYTES + _even(4 + 4 * len(symbols) + len(names))
    offsets: list[int] = []
    for image, defined in members.values():
        offsets += [at] * len(defined)
        at += _HEAD_BYTES + _even(image.size)
    out, index = Pieces(), Pieces()
    index.add(struct.pack(f">{1 + len(offsets)}I", len(offsets), *offsets) + names)
    out.add(_MAGIC)
    _add(out, _INDEX, index)
    for name, (image, _) in members.items():
        if len(name) > _LONGEST_NAME:
            raise CompilerBug(f"the name of member {name} is too long")
        _add(out, f"{name}/", image)
    return out


def _add(out: Pieces, name: str, image: Pieces) -> None:
    """Append a member: its time, owner and group are 0."""
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{image.size:<10}`\n"
    out.add(head.encode())
    for part in image.buffers:
        out.add(part)
    if image.size % 2:
        out.add(b"\n")


def _even(size: int) -> int:
    return size + size % 2
