"""Writes constants into several boxes of memory as one kernel: the border of a padded value.

    func.func private @name(%box0: memref<..>, %box1: memref<..>, .., %first: index, %last: index)
      for chunk in [first, last): ...                       box 0, which has the most chunks
      for chunk in [first, min(last, chunks of box 1)): ...

A chunk of the whole is the chunk of that number of every box that has so many: a step of its
outermost loop, since to hand out a share costs more than to fill it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, func
from xdsl.ir import Attribute, Block

from ncc.compiler.loops.build import LoopBuilder, index
from ncc.compiler.loops.frames import Box
from ncc.compiler.loops.kernel import Access, Kernel
from ncc.compiler.loops.nest import Nest
from ncc.compiler.loops.point import State, kernel_types
from ncc.compiler.loops.read_kernel import constant_kernel
from ncc.compiler.loops.schedule import Schedule
from ncc.compiler.loops.strategies.choose import choose
from ncc.compiler.target import Target


@dataclass(frozen=True)
class Fill:
    """A box, which is the argument of its number, and how it is written."""

    kernel: Kernel
    schedule: Schedule

    @property
    def chunks(self) -> int:
        return Nest.chunk_count(self.kernel, self.schedule)


def fills_of(
    boxes: Sequence[Box], value: float, element: Attribute, target: Target
) -> tuple[Fill, ...]:
    """One for each box, all of the same value."""
    found: list[Fill] = []
    for number, box in enumerate(boxes):
        store = Access(number, 0, box.place.strides)
        kernel = constant_kernel(box.extents, value, store, (element,) * len(boxes))
        schedule = choose(kernel, target)
        found.append(Fill(kernel, replace(schedule, chunks=min(schedule.chunks, 1))))
    return tuple(found)


def write_fills(fills: Sequence[Fill], name: str) -> func.FuncOp:
    """All of them as one private function."""
    return _FillNest(fills).write(name)


class _FillNest(Nest):
    """The nest of one box after the other, in one function."""

    def __init__(self, fills: Sequence[Fill]) -> None:
        super().__init__(fills[0].kernel, fills[0].schedule)
        self.fills = fills
        types = [kernel_types(fill.kernel)[n] for n, fill in enumerate(fills)]
        self.entry = Block(arg_types=[*types, index, index])
        self.builder = LoopBuilder(self.entry)

    def _chunks(self) -> None:
        first, last = self.entry.args[-2:]
        most = max(fill.chunks for fill in self.fills)
        for fill in self.fills:
            self.kernel, self.schedule, self.state = fill.kernel, fill.schedule, State()
            if fill.chunks == most:
                self._chunks_between(first, last)
                continue
            end = self.builder.constant(fill.chunks)
            self._chunks_between(first, self.builder.binary(arith.MinSIOp, last, end))
