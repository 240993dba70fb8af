"""Removes the filling of halos that an earlier value left intact.

A halo stays intact until a step writes a buffer without this halo over some of its memory: writes
into a buffer spare the halos of that buffer. A reader of the earlier buffer waits for its halo, and
runs before any reader of the later buffer. So the later buffer needs no barrier of its own.

Needs: all steps in order, and the offsets of buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ncc.compiler.plan import AnyStep, Border, Buffer, Halo, Kind, halos_of, touched
from ncc.dialects.size import is_never_below

BordersOf: TypeAlias = Mapping[Buffer, frozenset[Border]]
"""The borders of each buffer that has some."""


def borders_of(steps: Iterable[AnyStep]) -> BordersOf:
    """The borders that steps write into each buffer."""
    return {
        buffer: frozenset(halo.border for halo in halos)
        for buffer, halos in halos_of(steps).items()
    }


def without_standing_halos(steps: Iterable[AnyStep], borders: BordersOf) -> Iterator[AnyStep]:
    """The steps without halos that are intact already.

    borders: those of each buffer, written by a step or found intact.
    """
    standing: dict[Border, Buffer] = {}
    for step in steps:
        here = _at(step.subview.buffer, step.border) if isinstance(step, Halo) else None
        if here in standing:
            continue
        for buffer in touched(step)[1]:
            own = {_at(buffer, border) for border in borders.get(buffer, ())}
            for there, other in list(standing.items()):
                if there not in own and _meet(buffer, other):
                    del standing[there]
        if isinstance(step, Halo) and here is not None and step.subview.buffer.kind is Kind.ARENA:
            standing[here] = step.subview.buffer
        yield step


def _at(buffer: Buffer, border: Border) -> Border:
    """A border and where in the arena it is."""
    return (buffer.kind, buffer.part, buffer.byte_offset, *border)


def _meet(a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may have bytes of the arena in common while both are in use."""
    if a.kind is not b.kind or a.part != b.part:
        return False
    ends = a.byte_offset + a.bytes, b.byte_offset + b.bytes
    return not (is_never_below(b.byte_offset, ends[0]) or is_never_below(a.byte_offset, ends[1]))
