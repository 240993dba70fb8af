"""Whether a pointwise convolution is cheaper by Strassen's product, and in how many chunks.

A count of cycles of one core, as that of `tiling`: a product less in eight, against what lies
between the steps, larger weights, and what a tile of seven sums costs beside its multiply-adds.
Threads share a chunk; which products are taken does not depend on how many they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

from ncc.compiler.linalg.strassen import A
from ncc.compiler.linalg.strips import MOST_SHARES
from ncc.compiler.linalg.tiling import LINE, again, held, multiply_adds
from ncc.compiler.target import Target

PRODUCTS, OF_ONE_ROW = len(A), 5
"""For a pair of rows, and for the last one of an odd number."""

BLOCKS = 4
"""Of the weights, and of the image."""

TILE = 4.0
"""Cycles of a vector of results beyond those of one that is summed at once."""

TILE_VECTORS = 4
"""Vectors of outputs of a tile: two of either half."""

HELD = 0.5
"""The part of L2 that the image of a chunk keeps, together with the weights of two tiles. The more
it is over that, the more comes from behind L2 again for every tile: all of it at twice as much."""

WORTH = 0.97
"""The part of the cycles of all products that is worth more kernels and larger weights."""

NEAR = 2.0
"""What a line of sums of the image costs at least to be written and read, in lines from L2."""

FEWEST_INPUTS = 256
"""Sums over half of fewer channels are over too soon to hide that they are put together."""

MOST_CHUNKS = 8

CALLS = 13_000
"""The two calls of a chunk, their barriers, and the time to compile them."""


@dataclass(frozen=True)
class Blocks:
    """A pointwise convolution `inputs` -> `outputs` channels with a height x width result."""

    outputs: int
    inputs: int
    height: int
    width: int
    target: Target

    @property
    def pairs(self) -> int:
        """Pairs of rows."""
        return -(-self.height // 2)

    def cycles(self, pairs: int, threads: int = 1) -> float:
        """The cost in chunks of so many pairs of rows, for each of some threads."""
        core, chunks = self.target.core, -(-self.pairs // pairs)
        whole, rest = divmod(self.height, 2)
        points = (PRODUCTS * whole + OF_ONE_ROW * rest) * self.width
        weights = PRODUCTS * self.outputs * self.inputs
        stream = core.memory_line + (chunks - 1) * again(weights, core)
        between = 4 * points * self.inputs // 2
        tiles = self.outputs / (TILE_VECTORS * self.target.lanes)
        room = HELD * core.l2_bytes
        far = (between / chunks / threads + 2 * weights / tiles) / room - 1
        shared = hypot(
            points * self.outputs * self.inputs / BLOCKS / multiply_adds(self.target),
            weights / LINE * stream + between / LINE * tiles * min(max(far, 0), 1) * core.l3_line,
        )
        line = max(held(between / chunks / threads, core), NEAR * core.l2_line)
        shared += between / LINE * line
        shared += TILE * self.outputs * self.height * self.width / self.target.lanes
        return shared / threads + chunks * CALLS

    def chunk(self, threads: int = 1) -> int:
        """The cheapest number of pairs of rows in a chunk, of which the last may have fewer."""
        sizes = {-(-self.pairs // n) for n in range(1, MOST_CHUNKS + 1)}
        return min(sorted(sizes), key=lambda n: self.cycles(n, min(threads, MOST_SHARES)))

    @property
    def pays(self) -> bool:
        """Whether it is cheaper than sums of all products."""
        weights = self.outputs * self.inputs
        direct = hypot(
            weights * self.height * self.width / multiply_adds(self.target),
            4 * weights / LINE * self.target.core.memory_line,
        )
        return self.inputs >= FEWEST_INPUTS and self.cycles(self.chunk()) < WORTH * direct
