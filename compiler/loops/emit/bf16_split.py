"""Stores values as two bf16 numbers, a high and a low part, for products on matrix tiles.

    line[0 .. 16), line[16 .. 32) = a part of x[even block], of x[odd block]

A line of memory has two blocks of channels (`Bf16Split`). If a tile has both blocks, one vector
stores the whole line. Else each block stores half a line. The last of an odd number of blocks
stores zeros in the other half.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.body import PointPart
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.kernel.kernel import Bf16Split


class Bf16Stores(PointPart):
    """Such stores."""

    def stored_together(self, points: Sequence[Point]) -> Iterable[list[int]]:
        """The numbers of the points; two of them together if they fill a line."""
        lines: dict[object, list[int]] = {}
        for number, point in enumerate(points):
            line = self._line(point)
            lines.setdefault(number if line is None else line, []).append(number)
        return lines.values()

    def _line(self, point: Point) -> object | None:
        """The line that a point is stored in; None if unknown, or if vectors are shorter."""
        bf16_split = self.kernel.bf16_split
        if bf16_split is None or not self._fills_lines(bf16_split):
            return None
        base, offset = self._block_of(bf16_split, point)
        if not isinstance(base, int) and self.state.sizes.get(bf16_split.pairs, 1) % 2:
            return None
        number = base + offset if isinstance(base, int) else offset
        rest = tuple(item for item in sorted(point.items()) if item[0] != bf16_split.pairs)
        return (number // 2, rest)

    def _fills_lines(self, bf16_split: Bf16Split) -> bool:
        """Whether the vectors of both blocks are contiguous in the store and in all that parts
        read.
        """
        lane, lanes = self.schedule.lane, self.state.lanes
        if lane is None or not self.position.vector_points or bf16_split.to_odd != lanes:
            return False
        reads = [
            (a.coefficients[lane], a.coefficients[bf16_split.pairs]) for a in bf16_split.stage.reads
        ]
        return all(read in ((0, 0), (1, lanes)) for read in reads)

    def _block_of(self, bf16_split: Bf16Split, point: Point) -> tuple[SSAValue | int, int]:
        """The block of a point, as the base of the tile and an offset."""
        return self.state.bases.get(bf16_split.pairs, 0), point.get(bf16_split.pairs, 0)

    def store_line(
        self, bf16_split: Bf16Split, point: Point, first: SSAValue, second: SSAValue
    ) -> None:
        """Store a whole line, at the point of its first block."""
        lanes = self.state.lanes
        self.state.lanes = 2 * lanes
        line = self.builder.shuffle(first, second, range(2 * lanes))
        self._store_parts(
            bf16_split, line, point, [(self.reads.address(bf16_split.store, point), 1)], 0
        )
        self.state.lanes = lanes

    def store_block(self, bf16_split: Bf16Split, value: SSAValue, point: Point) -> None:
        """Store one block, which is the first or the second of its line."""
        base, offset = self._block_of(bf16_split, point)
        at = self.reads.address(bf16_split.store, point)
        unpaired = (
            None if self.kernel.unpaired is None else self.kernel.extents[bf16_split.pairs] - 1
        )
        if isinstance(base, int):
            if base + offset == unpaired and self._fills_lines(bf16_split):
                zeros = self.builder.splat(self.builder.constant(0.0, f32), self.state.lanes)
                self.store_line(bf16_split, point, value, zeros)
                return
            terms, back = [(at, 1)], (base + offset) % 2 * bf16_split.back
        elif self.state.sizes.get(bf16_split.pairs, 1) % 2 == 0:
            terms, back = [(at, 1)], offset % 2 * bf16_split.back
        else:
            odd = self.builder.remainder(self.builder.plus(base, offset), 2)
            terms, back = [(at, 1), (odd, -bf16_split.back)], 0
        self._store_parts(bf16_split, value, point, terms, -back)
        if unpaired is not None:
            self._complete_pair(bf16_split, at, base, offset)

    def _store_parts(
        self,
        bf16_split: Bf16Split,
        value: SSAValue,
        point: Point,
        terms: Sequence[tuple[SSAValue, int]],
        constant: int,
    ) -> None:
        """Store both parts of a vector; the terms are the address of the first one."""
        target = self.entry.args[bf16_split.store.argument]
        for self.body.part in range(2):
            part = self.body.evaluate(bf16_split.stage, point, value)
            at = self.builder.linear(terms, constant + self.body.part * bf16_split.distance)
            self.builder.store(part, target, at)

    def _complete_pair(
        self, bf16_split: Bf16Split, at: SSAValue, base: SSAValue | int, offset: int
    ) -> None:
        """Store zeros beside the last block, if it has no other one in its line."""
        last = self.kernel.extents[bf16_split.pairs] - 1

        def fill() -> None:
            zeros = self.builder.constant(0.0, bf16)
            if self.position.vector_points:
                zeros = self.builder.splat(zeros, self.state.lanes)
            for which in range(2):
                to = self.builder.plus(at, which * bf16_split.distance + bf16_split.to_odd)
                self.builder.store(zeros, self.entry.args[bf16_split.store.argument], to)

        if isinstance(base, int):
            if base + offset == last:
                fill()
        elif self.state.sizes.get(bf16_split.pairs, 1) % 2:  # else both of a pair are in the tile
            is_last = self.builder.equal(self.builder.plus(base, offset), last)
            self.builder.branch(is_last, fill)
