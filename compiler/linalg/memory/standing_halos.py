"""Frames that still stand where an earlier value left them need not be written again.

A frame stands until something is written over some of its memory that does not have it: what is
written into a root leaves the frames of that root alone. Between a frame and a reader of a later
root lies a reader of the root that the frame was written for, which waits for it.

Needs: all steps in order, and where roots are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ncc.compiler.plan import AnyStep, Border, Buffer, Halo, Kind, Step, halos_of, touched

BordersOf: TypeAlias = Mapping[Buffer, frozenset[Border]]
"""The borders of each root that has some."""


def borders_of(steps: Iterable[Step]) -> BordersOf:
    """The borders that steps write into each root."""
    return {
        buffer: frozenset(halo.border for halo in halos)
        for buffer, halos in halos_of(steps).items()
    }


def without_standing_halos(steps: Iterable[AnyStep], borders: BordersOf) -> Iterator[AnyStep]:
    """The steps but for frames that stand already.

    borders: of each root, written or found there.
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
    return (buffer.kind, buffer.byte_offset, *border)


def _meet(a: Buffer, b: Buffer) -> bool:
    """Whether two roots have bytes of the arena in common."""
    apart = a.byte_offset + a.bytes <= b.byte_offset or b.byte_offset + b.bytes <= a.byte_offset
    return a.kind is b.kind and not apart
