"""How many of a convolution's tiles are computed together: rows of them, or columns.

Chunks make V and M small, and let each stay in a cache; but weights come again for each of them.
Threads share whole chunks, as rounds, where V and M stay in a cache beside the weights; else each
chunk, which may be the larger the more they are.

A network that would have more than a thousand chunks gets larger ones, as far as runs hardly
notice: to compile a chunk takes some two milliseconds, as long as it takes to run a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isqrt

from ncc.compiler.linalg.convolutions.compute_in_strips import MOST_SHARES
from ncc.compiler.linalg.convolutions.tiling import ACROSS, CALLS, Tiling
from ncc.compiler.linalg.memory.loops import share_of, stays
from ncc.compiler.linalg.memory.room import Room

ALIKE = 1.005
"""Costs that differ by less count as equal: the model is no finer."""

LAUNCHES = 1_500
"""Cycles for the launches and barriers alone."""

ROUND = 4_000
"""Cycles for a round of one thread: its calls, and a share of what it takes to compile it."""

ROUND_TILES = 12
"""Tiles of a round, at the least: so many points a tile of registers has."""

BESIDE = 1 << 14
"""Bytes of constants beside the weights, at the most."""

HARDLY_NOTICED = 0.8
"""Smaller chunks, for which memory has room, leave at least this part of the cycles to larger ones:
what is counted for weights that come again is some three times what runs take.
"""

MOST_OF_A_ROW = 24
"""The most chunks of a single row of tiles, which may be of any length: each is compiled and
launched by itself, and with so many V and M are about a twelfth of the image and the result.
"""

LARGER = tuple(1 << n for n in range(20, 24))
"""Bytes of V and M that such chunks have at the least, where a row of tiles has no more: what a run
hardly notices. By 8 MB, networks of images of 256x256 to 512x512 have 0.97 to 1.09 of their speed,
by 16 MB 0.93 to 0.96.
"""


MOST_OF_ALL, LIMIT = 1 << 13, 1 << 47
"""Chunks of a network whose images no memory may hold: there are no more, however large each is, up
to so many bytes.
"""


def chunk_size(tiling: Tiling, threads: int = 1, room: Room | None = None, least: int = 0) -> int:
    """The cheapest number of rows of tiles in a chunk, or of columns; of those that cost as
    much, or nearly, the smallest, which takes the least memory. Of several, V and M take
    `least` bytes if one more would not take more.

    Threads share whole chunks, if these can be rounds, else each of them.

    Where these take more than there is room for, chunks that do not are taken, or those that
    take the least, if runs hardly notice.
    """
    most = min(tiling.length, MOST_OF_A_ROW) if tiling.along == ACROSS else tiling.length
    fewest = min(tiling.length, least // sum(tiling.between(1)))
    sizes = [size for size in _sizes(tiling.length, most) if size >= fewest]
    rounds = _shares(tiling, sizes, threads) if threads > 1 else {}
    shares = min(threads, MOST_SHARES)

    def cycles(size: int, calls: int = CALLS) -> float:
        if rounds:
            rest = calls if tiling.length % size else 0
            return tiling.cycles(size, 1, ROUND) * rounds[size] / threads + rest
        return tiling.cycles(size, shares, calls)

    sizes = list(rounds) or sizes
    costs = {size: cycles(size) for size in sizes}
    cheapest = _first(tiling, costs)
    if room is None:
        return cheapest
    beyond = {
        size: threads * sum(tiling.between(size)) if rounds else _beyond(tiling, size, room)
        for size in sizes
    }
    if beyond[cheapest] <= room.free:
        return cheapest
    runs = {size: cycles(size, LAUNCHES) for size in sizes}
    alike = [size for size in sizes if runs[size] * HARDLY_NOTICED <= runs[cheapest]]
    fitting = {size: costs[size] for size in alike if beyond[size] <= room.free}
    return _first(tiling, fitting) if fitting else min(alike, key=beyond.__getitem__)


def _sizes(length: int, most: int) -> list[int]:
    """How many tiles all chunks but the last have, for each number of chunks up to `most`."""
    few = min(most, isqrt(length))
    sizes = {-(-length // chunks) for chunks in range(1, few + 1)}
    if most > few:  # from there on, one chunk more makes them by one tile smaller at most
        sizes.update(range(-(-length // most), -(-length // (few + 1)) + 1))
    return sorted(sizes)


def _shares(tiling: Tiling, sizes: Sequence[int], threads: int) -> dict[int, float]:
    """The sizes of chunks that can be rounds of so many threads, with the share of each."""
    if tiling.formed:
        return {}
    constants, cache = tiling.weights + BESIDE, tiling.target.core.l2_bytes
    tiles = tiling.rows * tiling.columns // tiling.length
    found: dict[int, float] = {}
    for size in sizes:
        share = share_of(tiling.length // size, threads)
        stay = stays(constants, sum(tiling.between(size)), cache)
        if share is not None and stay and size * tiles >= ROUND_TILES:
            found[size] = share
    return found


def least_held(tilings: Sequence[Tiling], threads: int, most_chunks: int) -> int:
    """The bytes of V and M of a chunk, at the least, in a network of these: the fewest by which it
    has at most `most_chunks`; of very large images, at most `MOST_OF_ALL`.
    """
    alike = Counter(tilings)

    def chunks(least: int) -> int:
        sizes = {tiling: chunk_size(tiling, threads, least=least) for tiling in alike}
        return sum(count * -(-one.length // sizes[one]) for one, count in alike.items())

    found = next((least for least in (0, *LARGER) if chunks(least) <= most_chunks), LARGER[-1])
    while chunks(found) > MOST_OF_ALL and found < LIMIT:
        found *= 2
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
