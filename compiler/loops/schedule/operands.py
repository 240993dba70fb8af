"""The operands of a contraction: what is multiplied, and how each lies along the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from ncc.compiler.loops.kernel.kernel import LINE, Access, Kernel, KSplit
from ncc.compiler.loops.schedule.schedule import Strategy
from ncc.compiler.target import Core


@dataclass(frozen=True)
class Quad:
    """The loop over the four products that a lane of a dot product takes in.

    signed   whether `still` has signs, for which each vector of `stream` has a sum more
    halved   whether the target multiplies the four two by two, of operands in two halves
    """

    loop: int
    signed: bool
    halved: bool


@dataclass(frozen=True)
class ContractionOperands:
    """The operands of a contraction for one choice of the lane.

    stream   is contiguous along the lane: it is loaded in vectors
    still    does not move along the lane: its elements are broadcast
    points   the loops that only `still` moves with, innermost first
    vectors  the loops that only `stream` moves with, without the lane
    quad     what is known of dot products, where a lane takes in four products
    short    that of a `Schedule`
    whole    elements of a vector that is not short
    """

    kernel: Kernel
    core: Core
    lane: int
    vector: int
    whole: int
    stream: Access
    broadcast: Access
    points: tuple[int, ...]
    vectors: tuple[int, ...]
    quad: Quad | None = None
    short: tuple[int, int] | None = None

    @cached_property
    def steps(self) -> int:
        quad = None if self.quad is None else self.quad.loop
        return prod(self.kernel.extents[d] for d in self.kernel.reduced if d != quad)

    @property
    def strategy(self) -> Strategy:
        """The strategy whose emitter writes a contraction of these."""
        if self.quad is not None:
            return Strategy.DOT
        if self.joined:
            return Strategy.SHARED_VECTORS
        return Strategy.CONTRACTION if self.kernel.k_split is None else Strategy.K_SPLIT

    @property
    def joined(self) -> bool:
        """Whether short vectors of two points are summed in one."""
        return self.short is not None and self.short[1] < self.vector and self.core.joins

    def lines(self, vectors: int) -> float:
        """Lines that a whole vector brings, in a tile of so many side by side along the lane.

        What a tile leaves of a line has to be brought again, unless it is still in L1.
        """
        return self.whole / min(LINE, vectors * self.vector)

    @property
    def k_split(self) -> KSplit | None:
        """How the last step of the first loop over vectors is folded."""
        k_split = self.kernel.k_split
        return k_split if k_split and k_split.outputs in self.vectors[:1] else None

    @property
    def blocks(self) -> int:
        """Steps of the first loop over vectors that are not folded."""
        return self.kernel.extents[self.vectors[0]] - (self.k_split is not None)

    @property
    def left_out(self) -> int:
        """Vectors of the last block that hold nothing that counts."""
        if self.short is None:
            return 0
        return (self.kernel.extents[self.lane] - self.short[1]) // self.vector

    @property
    def all_vectors(self) -> int:
        """Elements of `stream` that one step of the reduction reads in all tiles."""
        return prod(self.kernel.extents[d] for d in (*self.vectors, self.lane))

    def registers(self, p: int, q: int) -> int:
        """How many a tile takes: accumulators, all of the smaller operand, one for the other.

        Where short vectors of two points are joined, both broadcasts are held beside the
        vector that is made of them.
        """
        if self.quad is not None:
            held = p * q + q * self.quad.signed
            return held + (2 * q + 3 if self.quad.halved else min(p, q) + 1 + self.quad.signed)
        if self.short is not None and self.joined and q >= self.kernel.extents[self.short[0]]:
            return p * q - p // 2 + min(p, q) + 3
        return p * q + min(p, q) + 1


def cells(access: Access, kernel: Kernel, batch: Sequence[int]) -> int:
    """How many elements an access brings into a cache for one step of the batch.

    Those that windows share count once. Where elements lie apart, each counts twice: lines come in
    pairs.
    """
    own = [
        (abs(c), kernel.extents[d])
        for d, c in enumerate(access.coefficients)
        if c and d not in batch
    ]
    taken = prod(kernel.extents[d] for d in access.table_loops if d not in batch)
    between = 1 + sum(c * (n - 1) for c, n in own) + access.table_reach
    return min(2 * prod(n for _, n in own) * taken, between)
