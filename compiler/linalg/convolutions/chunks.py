"""How many of a convolution's tiles are computed together: rows of them, or columns.

Chunks make V and M small, and let each stay in a cache; but weights come again for each of them.
Threads share whole chunks where V and M stay in a cache beside the weights; else each chunk, which
may be the larger the more threads there are. Many chunks compile as fast as two, because they are
iterations of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt

from ncc.compiler.linalg.convolutions.tiling import ACROSS, CALLS, Tiling
from ncc.compiler.linalg.memory.loops import FEWEST_ITERATIONS, share_of, stays
from ncc.compiler.linalg.memory.room import Room
from ncc.dialects.size import is_open, largest, smallest

ALIKE = 1.005
"""Costs that differ by less count as equal: the model is no finer."""

LAUNCHES = 1_500
"""Cycles for the launches and barriers alone."""

ITERATION = 4_000
"""Cycles for the calls of an iteration of one thread."""

FEWEST_TILES = 12
"""Tiles of a chunk of one thread: so many points a tile of registers has."""

BESIDE = 1 << 14
"""Bytes of constants beside the weights, at the most."""

MOST_SHARES = 4
"""Threads for which a chunk that they share grows: more have enough barriers to share the rest."""

LARGER = 4
"""How much higher and wider an image is that has several chunks, where that of the hint is one."""

LONG = 1 << 16
"""Tiles of a length beyond which chunks are no larger: there are only more of them."""

HARDLY_NOTICED = 0.8
"""Smaller chunks, for which memory has room, leave at least this part of the cycles to larger ones:
what is counted for weights that come again is some three times what runs take.
"""


def chunk_of_any_image(tiling: Tiling, threads: int, room: Room) -> int:
    """The rows of tiles in a chunk, or columns, where the run tells how large the image is: as many
    tiles as a chunk has for the hint.

    If all tiles of the hint are one chunk, a larger image may have larger chunks: they are those of
    an image that is `LARGER` times as high and wide. Else weights would come again too often.
    """
    image = tiling.by_hint()
    size = chunk_size(image, threads, room)
    if size == image.length or image.along != tiling.along:
        image = tiling.by_hint(LARGER)
        size = chunk_size(image, threads)
    return rows_for(tiling, image, size, threads) if image.along == tiling.along else 1


def chunk_size(tiling: Tiling, threads: int = 1, room: Room | None = None) -> int:
    """The cheapest number of rows of tiles in a chunk, or of columns; of those that cost as
    much, or nearly, the smallest, which takes the least memory.

    Threads share whole chunks where they can, else each of them.

    Where these take more than there is room for, chunks that do not are taken, or those that
    take the least, if runs hardly notice.
    """
    sizes = _sizes(tiling.length)
    whole = _shares(tiling, sizes, threads) if threads > 1 else {}
    shares = min(threads, MOST_SHARES)

    def cycles(size: int, calls: int = CALLS) -> float:
        if whole:
            rest = calls if tiling.length % size else 0
            return tiling.cycles(size, 1, ITERATION) * whole[size] / threads + rest
        return tiling.cycles(size, shares, calls)

    sizes = list(whole) or sizes
    costs = {size: cycles(size) for size in sizes}
    cheapest = _first(tiling, costs)
    if room is None:
        return cheapest
    beyond = {
        size: threads * sum(tiling.between(size)) if whole else _beyond(tiling, size, room)
        for size in sizes
    }
    if beyond[cheapest] <= room.free:
        return cheapest
    runs = {size: cycles(size, LAUNCHES) for size in sizes}
    alike = [size for size in sizes if runs[size] * HARDLY_NOTICED <= runs[cheapest]]
    fitting = {size: costs[size] for size in alike if beyond[size] <= room.free}
    return _first(tiling, fitting) if fitting else min(alike, key=beyond.__getitem__)


def _sizes(length: int) -> list[int]:
    """How many tiles all chunks but the last have, for each number of chunks."""
    length = min(length, LONG)
    few = isqrt(length)
    sizes = {-(-length // chunks) for chunks in range(1, few + 1)}
    # From there on, one chunk more makes them by one tile smaller at most.
    return sorted(sizes.union(range(1, -(-length // (few + 1)) + 1)))


def rows_for(tiling: Tiling, image: Tiling, size: int, threads: int) -> int:
    """The rows of a chunk for images of any width: as many tiles as so many rows of an image have.

    So V and M of a wide image stay in the cache, and the tiles of a narrow one fill registers. No
    chunk is larger than the image. If threads share whole chunks, there are as many as they need.
    """
    if tiling.along == ACROSS or not is_open(tiling.columns):
        return size
    rows = smallest(tiling.rows, size * image.columns // tiling.columns)
    if threads > 1 and _shares(image, [size], threads):
        rows = smallest(rows, tiling.rows // (FEWEST_ITERATIONS * threads))
    return largest(1, rows)


def _shares(tiling: Tiling, sizes: Sequence[int], threads: int) -> dict[int, float]:
    """The sizes of chunks of which so many threads can do whole ones, with the share of each."""
    if tiling.formed:
        return {}
    constants, cache = tiling.weights + BESIDE, tiling.target.core.l2_bytes
    tiles = tiling.rows * tiling.columns // tiling.length
    found: dict[int, float] = {}
    for size in sizes:
        share = share_of(tiling.length // size, threads)
        stay = stays(constants, sum(tiling.between(size)), cache)
        if share is not None and stay and size * tiles >= FEWEST_TILES:
            found[size] = share
    return found


def _first(tiling: Tiling, costs: Mapping[int, float]) -> int:
    """Of sizes of chunks the cheapest.

    All chunks are equal, for they share kernels, unless others cost much less, or no more and
    stay in a cache which equal ones leave: then the last has fewer.
    """
    found = _cheapest(costs)
    even = {n: cost for n, cost in costs.items() if tiling.length % n == 0}
    if not even:
        return found
    equal = _cheapest(even)
    small, large = (sum(tiling.between(size)) for size in (found, equal))
    stays = small <= tiling.target.core.l2_bytes < large
    worth = 1 if stays else tiling.target.costs.uneven_chunks
    return found if costs[found] < worth * costs[equal] else equal


def _beyond(tiling: Tiling, size: int, room: Room) -> int:
    """Bytes that chunks of that size take beside image and result.

    Where all is one chunk, V takes the place of an image that nobody reads afterwards, and the
    result that of V.
    """
    v, m = tiling.between(size)
    if size < tiling.length:
        return v + m
    return max(v - room.made, v + m - room.read - room.made, m - room.read)


def _cheapest(costs: Mapping[int, float]) -> int:
    """The first that costs least, or nearly."""
    least = min(costs.values())
    return next(n for n, cost in costs.items() if cost <= ALIKE * least)
