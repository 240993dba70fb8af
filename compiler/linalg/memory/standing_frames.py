"""Frames that still stand where an earlier value left them need not be written again.

A frame stands until something is written over some of its memory that does not have it: what is
written into a root leaves the frames of that root alone. Between a frame and a reader of a later
root lies a reader of the root that the frame was written for, which waits for it.

Needs: all steps in order, and where roots are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ncc.compiler.plan import AnyStep, Border, Frame, Kind, Root, Step, frames_of, touched

BordersOf: TypeAlias = Mapping[Root, frozenset[Border]]
"""The borders of each root that has some."""


def borders_of(steps: Iterable[Step]) -> BordersOf:
    """The borders that steps write into each root."""
    return {
        root: frozenset(frame.border for frame in frames)
        for root, frames in frames_of(steps).items()
    }


def without_standing_frames(steps: Iterable[AnyStep], borders: BordersOf) -> Iterator[AnyStep]:
    """The steps but for frames that stand already.

    borders: of each root, written or found there.
    """
    standing: dict[Border, Root] = {}
    for step in steps:
        here = _at(step.place.root, step.border) if isinstance(step, Frame) else None
        if here in standing:
            continue
        for root in touched(step)[1]:
            own = {_at(root, border) for border in borders.get(root, ())}
            for there, other in list(standing.items()):
                if there not in own and _meet(root, other):
                    del standing[there]
        if isinstance(step, Frame) and here is not None and step.place.root.kind is Kind.ARENA:
            standing[here] = step.place.root
        yield step


def _at(root: Root, border: Border) -> Border:
    """A border and where in the arena it is."""
    return (root.kind, root.byte_offset, *border)


def _meet(a: Root, b: Root) -> bool:
    """Whether two roots have bytes of the arena in common."""
    apart = a.byte_offset + a.bytes <= b.byte_offset or b.byte_offset + b.bytes <= a.byte_offset
    return a.kind is b.kind and not apart
