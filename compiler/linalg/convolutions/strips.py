"""How many of a convolution's tiles are computed together: rows of them, or columns.

Strips make V and M small, and let each stay in a cache; but weights come again for each of them.
Threads share whole strips where V and M stay in a cache beside the weights; else each strip, which
may be the larger the more threads there are. Many strips compile as fast as two, because they are
iterations of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt

from ncc.compiler.linalg.convolutions.tiling import ACROSS, Tiling
from ncc.compiler.linalg.memory.loops import share_of, stays
from ncc.compiler.linalg.memory.room import Room
from ncc.dialects.size import is_open, largest


def strip_of_any_image(tiling: Tiling, threads: int, room: Room) -> int:
    """The rows of tiles in a strip, or columns, where the run tells how large the image is: as many
    tiles as a strip has for the hint.

    If all tiles of the hint are best as one strip, a larger image may have larger strips: they are
    those of an image that is `larger_sides` times as high and wide, or has as many tiles along the
    one extent that the run tells. Else weights would come again too often.
    Strips for which the run transforms weights are as large as they may be, and alike.
    """
    if tiling.formed:
        strips = largest(1, -(-tiling.length // _most_formed(tiling)))
        return largest(1, -(-tiling.length // strips))
    image = tiling.by_hint()
    if strip_size(image, threads) < image.length and image.along == tiling.along:
        size = strip_size(image, threads, room)
    else:
        sides = tiling.target.costs.strips.larger_sides
        both = is_open(tiling.height) and is_open(tiling.width)
        image = tiling.by_hint(sides if both else sides**2)
        size = strip_size(image, threads)
    return rows_for(tiling, image, size, threads) if image.along == tiling.along else 1


def strip_size(tiling: Tiling, threads: int = 1, room: Room | None = None) -> int:
    """The cheapest number of rows of tiles in a strip, or of columns; of those that cost as
    much, or nearly, the smallest, which takes the least memory.

    Threads share whole strips where they can, else each of them.

    Where these take more than there is room for, strips that do not are taken, or those that
    take the least, if runs hardly notice.
    """
    costs = tiling.target.costs.strips
    longest = _most_formed(tiling) if tiling.formed else costs.longest
    sizes = _sizes(tiling.length, longest)
    whole = _shares(tiling, sizes, threads) if threads > 1 else {}
    shares = min(threads, costs.most_threads)

    def cycles(size: int, calls: int = costs.calls) -> float:
        if whole:
            rest = calls if tiling.length % size else 0
            return tiling.cycles(size, 1, costs.iteration) * whole[size] / threads + rest
        return tiling.cycles(size, shares, calls)

    sizes = list(whole) or sizes
    by_size = {size: cycles(size) for size in sizes}
    cheapest = _first(tiling, by_size)
    if room is None:
        return cheapest
    beyond = {
        size: threads * sum(tiling.between(size)) if whole else _beyond(tiling, size, room)
        for size in sizes
    }
    if beyond[cheapest] <= room.free:
        return cheapest
    runs = {size: cycles(size, costs.launches) for size in sizes}
    alike = [size for size in sizes if runs[size] * costs.hardly_noticed <= runs[cheapest]]
    fitting = {size: by_size[size] for size in alike if beyond[size] <= room.free}
    return _first(tiling, fitting) if fitting else min(alike, key=beyond.__getitem__)


def _most_formed(tiling: Tiling) -> int:
    """The rows of tiles, or columns, of the largest strip for which the run transforms weights."""
    return largest(1, tiling.most_formed // tiling.across)


def _sizes(length: int, longest: int) -> list[int]:
    """How many tiles all strips but the last have, for each number of strips."""
    length = min(length, longest)
    few = isqrt(length)
    sizes = {-(-length // strips) for strips in range(1, few + 1)}
    # From there on, one strip more makes them by one tile smaller at most.
    return sorted(sizes.union(range(1, -(-length // (few + 1)) + 1)))


def rows_for(tiling: Tiling, image: Tiling, size: int, threads: int) -> int:
    """The rows of a strip, or columns, for images of any size: about as many tiles as `size` rows
    of an image have.

    So V and M of a wide image stay in the cache, and the tiles of a narrow one fill registers. All
    strips are alike: a last one of a row would read all weights again. If threads share whole
    strips, each of them has as many.
    """
    if not is_open(tiling.rows, tiling.columns):
        return size
    shares = threads if threads > 1 and _shares(image, [size], threads) else 1
    widens = tiling.along != ACROSS and is_open(tiling.columns)
    as_wide = largest(1, size * image.columns // tiling.columns) if widens else size
    of_all = shares * as_wide
    strips = shares * largest(1, (tiling.length + of_all // 2) // of_all)
    return largest(1, -(-tiling.length // strips))


def _shares(tiling: Tiling, sizes: Sequence[int], threads: int) -> dict[int, float]:
    """The sizes of strips of which so many threads can do whole ones, with the share of each."""
    if tiling.formed:
        return {}
    target, costs = tiling.target, tiling.target.costs
    constants = tiling.weights + costs.strips.constants_beside
    tiles = tiling.rows * tiling.columns // tiling.length
    found: dict[int, float] = {}
    for size in sizes:
        share = share_of(tiling.length // size, threads, costs.threads)
        stay = stays(constants, sum(tiling.between(size)), target.core.l2_bytes, costs.threads)
        if share is not None and stay and size * tiles >= costs.strips.fewest_tiles:
            found[size] = share
    return found


def _first(tiling: Tiling, costs: Mapping[int, float]) -> int:
    """Of sizes of strips the cheapest.

    All strips are equal, for they share kernels, unless others cost much less, or no more and
    stay in a cache which equal ones leave: then the last has fewer.
    """
    alike = tiling.target.costs.strips.alike
    found = _cheapest(costs, alike)
    even = {n: cost for n, cost in costs.items() if tiling.length % n == 0}
    if not even:
        return found
    equal = _cheapest(even, alike)
    small, large = (sum(tiling.between(size)) for size in (found, equal))
    stays = small <= tiling.target.core.l2_bytes < large
    worth = 1 if stays else tiling.target.costs.strips.uneven_worth
    return found if costs[found] < worth * costs[equal] else equal


def _beyond(tiling: Tiling, size: int, room: Room) -> int:
    """Bytes that strips of that size take beside image and result.

    Where all is one strip, V takes the place of an image that nobody reads afterwards, and the
    result that of V.
    """
    v, m = tiling.between(size)
    if size < tiling.length:
        return v + m
    return max(v - room.made, v + m - room.read - room.made, m - room.read)


def _cheapest(costs: Mapping[int, float], alike: float) -> int:
    """The first that costs least, or nearly."""
    least = min(costs.values())
    return next(n for n, cost in costs.items() if cost <= alike * least)
