"""The numbers of a run that depend on the shapes of its inputs: a table that the run makes.

    word of buffers[3]    0 ..                   where arguments begin, chunks, iterations, ..
                          .. row row row ..      the sizes that one kernel is told, side by side

In a loop over tiles, numbers that the last, smaller tile changes come twice: for all other tiles,
then for the last one. So does a row in which there is one.

The entry point loads them where it needs them. Numbers that are the same for all inputs are
constants of the entry point, and stand in no table but in the rows of kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, MemRefType, i64
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.loops.emit.loop_builder import memory_type
from ncc.dialects import rt
from ncc.dialects.size import Size, in_full_tile, in_last_tile, is_of_tile
from ncc.runtime.artifact import NUMBERS_BUFFER

WORD = 8


@dataclass(frozen=True)
class Number:
    """A value, plus the offset of a part of the arena if there is one."""

    value: int
    part: int | None = None

    @property
    def is_told(self) -> bool:
        """Whether only the run knows it."""
        return self.part is not None or isinstance(self.value, Size)

    @property
    def in_tiles(self) -> tuple[Number, ...]:
        """What it is in full tiles, and in the last one, if it may be another number there."""
        if not is_of_tile(self.value):
            return (self,)
        values = in_full_tile(self.value), in_last_tile(self.value)
        return tuple(Number(value, self.part) for value in values)


@dataclass
class Table:
    """The numbers that the run tells, and where each one is."""

    numbers: list[Number] = field(default_factory=list)
    places: dict[Number, int] = field(default_factory=dict)
    rows: dict[tuple[int, ...], int] = field(default_factory=dict)

    def add(self, numbers: Iterable[Number]) -> None:
        """Numbers that are needed; those that are told get a place."""
        for number in numbers:
            if number.is_told and number not in self.places:
                self.places[number] = len(self.numbers)
                self.numbers += number.in_tiles

    def add_row(self, sizes: tuple[int, ...]) -> None:
        """The sizes that a kernel is told."""
        if sizes and sizes not in self.rows:
            self.rows[sizes] = len(self.numbers)
            for change in (in_full_tile, in_last_tile)[: 1 + is_of_tile(*sizes)]:
                self.numbers += [Number(change(size)) for size in sizes]

    def memory(self, buffers: SSAValue) -> rt.BufferOp:
        """All of it, as indices."""
        return rt.BufferOp(buffers, NUMBERS_BUFFER, MemRefType(IndexType(), [len(self.numbers)]))

    def row(
        self, buffers: SSAValue, sizes: tuple[int, ...], further: SSAValue | None = None
    ) -> rt.BufferOp:
        """The sizes of a kernel. further: how many bytes further they are."""
        offset = WORD * self.rows[sizes]
        return rt.BufferOp(buffers, NUMBERS_BUFFER, row_type(sizes), offset, further)


def row_type(sizes: Sequence[int]) -> MemRefType[Attribute]:
    """What a kernel takes its sizes for."""
    return memory_type(i64, len(sizes))
