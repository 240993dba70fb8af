"""The operands of a contraction, and the loops that each moves with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import i8

from ncc.compiler.loops.kernel.kernel import LINE, Access, Kernel, KSplit
from ncc.compiler.loops.kernel.vectors_over import vectors_over
from ncc.compiler.loops.schedule.schedule import Strategy
from ncc.compiler.target import OCTET, QUAD, Target
from ncc.dialects.size import is_open


class Quad(NamedTuple):
    """The loop over the four products of a lane of a dot product.

    surplus  whether the broadcast operand has signs that the target does not take: then each vector
             of `stream` has one more sum
    in_pairs whether the target multiplies two by two, as int16
    signed   whether both operands have signs, and the target takes them
    """

    loop: int
    surplus: bool
    in_pairs: bool
    signed: bool = False


@dataclass(frozen=True)
class ContractionOperands:
    """The operands of a contraction for one choice of the lane.

    vector   elements of the vectors of the schedule
    stream   the operand that is contiguous along the lane: it is loaded in vectors
    broadcast
             the operand that does not move along the lane
    points   the loops that only `broadcast` moves with, innermost first
    vectors  the loops that only `stream` moves with, without the lane
    quad     the four products of each lane; None for no dot product
    short, at_once
             as in `Schedule`
    whole    elements of a vector that is not short
    """

    kernel: Kernel
    target: Target
    lane: int
    vector: int
    whole: int
    stream: Access
    broadcast: Access
    points: tuple[int, ...]
    vectors: tuple[int, ...]
    quad: Quad | None = None
    short: tuple[int, int] | None = None
    at_once: tuple[int, int] | None = None

    @cached_property
    def iterations(self) -> int:
        quad = None if self.quad is None else self.quad.loop
        return prod(self.kernel.extents[d] for d in self.kernel.reduced if d != quad)

    @property
    def strategy(self) -> Strategy:
        """The strategy whose emitter writes a contraction of these."""
        if self.quad is not None:
            return Strategy.MATRIX_BYTES if self.is_matrix else Strategy.DOT
        if self.joined:
            return Strategy.SHARED_VECTORS
        return Strategy.CONTRACTION if self.kernel.k_split is None else Strategy.K_SPLIT

    @property
    def is_matrix(self) -> bool:
        """Whether two points and two lanes share an instruction, which multiplies matrices."""
        return self.quad is not None and self.kernel.extents[self.quad.loop] == OCTET

    @cached_property
    def innermost(self) -> int | None:
        """The innermost reduced loop: `stream` walks it in the smallest strides."""
        quad = None if self.quad is None else self.quad.loop
        reduced = [d for d in self.kernel.reduced if d != quad]
        stream, broadcast = self.stream.coefficients, self.broadcast.coefficients
        return min(reduced, key=lambda d: (abs(stream[d]), abs(broadcast[d])), default=None)

    def loads_of_points(self, p: int) -> float:
        """Loads of p points: elements, or vectors that unrolled iterations share."""
        if self.is_matrix:
            return p / 2 if self.at_once is not None else p
        if self.at_once is None:
            return p
        loop, count = self.at_once
        own, further = self.broadcast.coefficients, self.broadcast.coefficients[loop]
        apart = own[self.points[0]] if self.points else 0
        if is_open(apart):
            apart = LINE
        places = {apart * n + further * k for n in range(p) for k in range(count)}
        lanes = QUAD * self.whole // further if self.quad is not None else self.whole
        held = vectors_over(places, lanes, further)
        return (len(set(held.values())) + len(places - held.keys())) / count

    def products(self, p: int, q: float) -> float:
        """Instructions that multiply p points and q vectors in an iteration."""
        return (p + p % 2) * q if self.is_matrix else p * q

    @property
    def loads_of_a_vector(self) -> int:
        """Loads of a vector of `stream`: a matrix has two, for half of the lanes each."""
        return 2 if self.is_matrix else 1

    def shuffles(self, p: int) -> float:
        """Shuffles of an iteration, which make matrices of two points each."""
        return (p + p % 2) / 2 if self.is_matrix else 0.0

    @property
    def joined(self) -> bool:
        """Whether short vectors of two points share one accumulator."""
        return self.short is not None and self.short[1] < self.vector and self.target.core.joins

    def stored_together(self, vectors: int) -> int:
        """How many of the vectors of a tile along the lane one store takes: several if they are
        bytes, on processors that narrow two vectors at once, which take bytes with signs.
        """
        bytes = self.kernel.element_types[self.kernel.store.argument] == i8
        if not bytes or self.quad is None or not self.quad.signed:
            return 1
        return max(n for n in (1, 2, 4) if vectors % n == 0)

    def lines(self, vectors: int) -> float:
        """Cache lines of a whole vector, in a tile of so many vectors along the lane.

        If a tile uses only a part of a line, the next one loads the line again, unless it is in L1.
        """
        return self.whole / min(LINE, vectors * self.vector)

    @property
    def k_split(self) -> KSplit | None:
        """How the last iteration of the first loop over vectors splits k."""
        k_split = self.kernel.k_split
        return k_split if k_split and k_split.outputs in self.vectors[:1] else None

    @property
    def blocks(self) -> int:
        """Iterations of the first loop over vectors that do not split k."""
        return self.kernel.extents[self.vectors[0]] - (self.k_split is not None)

    @property
    def left_out(self) -> int:
        """Vectors of the last block that are padding."""
        if self.short is None:
            return 0
        return (self.kernel.extents[self.lane] - self.short[1]) // self.vector

    @property
    def all_vectors(self) -> int:
        """Elements of `stream` that one iteration of the reduction reads in all tiles."""
        return prod(self.kernel.extents[d] for d in (*self.vectors, self.lane))

    def registers(self, p: int, q: int) -> int:
        """The registers of a tile: accumulators, all of the smaller operand, one for the other.

        If short vectors of two points share one, both broadcasts take a register, and so does the
        vector of both. With several iterations at once, the vectors of all points are held, and two
        of `stream`: the next one is loaded while one is multiplied.
        """
        if self.is_matrix:
            p += p % 2
        if self.at_once is not None or self.is_matrix:
            return p * q + p + 2
        if self.quad is not None:
            held, surplus = p * q, self.quad.surplus
            held += q * surplus
            return held + (2 * q + 3 if self.quad.in_pairs else min(p, q) + 1 + surplus)
        if self.short is not None and self.joined and q >= self.kernel.extents[self.short[0]]:
            return p * q - p // 2 + min(p, q) + 3
        return p * q + min(p, q) + 1


def elements_of(access: Access, kernel: Kernel, batch: Sequence[int]) -> int:
    """The elements that an access loads into a cache for one iteration of the batch.

    An element of several windows counts once. If elements are not contiguous, each counts twice,
    since caches load lines in pairs.
    """
    own = [
        (abs(c), kernel.likely[d])
        for d, c in enumerate(access.coefficients)
        if c and d not in batch
    ]
    taken = prod(kernel.likely[d] for d in access.table_loops if d not in batch)
    between = 1 + sum(c * (n - 1) for c, n in own) + access.table_reach
    return min(2 * prod(n for _, n in own) * taken, between)
