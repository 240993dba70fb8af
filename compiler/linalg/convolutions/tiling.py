"""Which tiles a convolution is computed in, in how many chunks, and whether they pay.

The cost is a count of cycles of one core. Arithmetic and the stream of weights overlap: of cycles a
and b, sqrt(a*a + b*b) are left. V and M, which one step writes and the next one reads, come on top.

              products a result   weights   rounding   taken
    3x3              9              1
      F(2)           4              1.8       < 1      where results are few, so that weights decide
      F(4)           2.25           4         1        elsewhere
      F(6)           1.8            7.1     1.4 - 1.7  along rows alone, or columns
    5x5             25              1
      F(2)           9              1.4       1        where many channels are summed
      F(4)           4              2.6      up to 2   where at most `FEW_SUMMED` are

Rounding is told by that of F(4) for 3x3, which is as coarse as sums of many channels may be. Along
rows alone, or columns, all of these round to 6e-6 of the largest result where 512 channels are
summed, and have no such bound.

Transformed weights need not be kept (`formed`): the run can transform them, a few channels at a
time, where these and one row of the components of all tiles fit L1, as late in a network. Then they
come from memory as they are in the file, a quarter of F(4)'s, and are transformed once a chunk. The
memory that this saves is worth a little time.

At stride 2, the output transform adds up the phases of the window (`strided`). If the sum over
channels did, M would be smaller; but it would read so many streams that it loses as much.

Threads share a chunk, which may be the larger the more they are. Which form is taken does not
depend on how many they are, so that results do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import hypot, prod

from ncc.compiler.linalg.channels.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.convolutions.forms import BOTH, F4_5, ONE, Form, Plane, forms_of
from ncc.compiler.linalg.convolutions.strips import MOST_SHARES
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.linalg.memory.room import Room
from ncc.compiler.target import Core, Target

DOWN, ACROSS = range(2)
"""How chunks of tiles lie: one below the other, or side by side."""

LINE = 64
"""Bytes."""

BLOCKS = 2
"""Blocks of outputs whose weights the run transforms at a time."""

FULL = 0.85
"""The part of a core's peak of multiply-adds that contractions reach when nothing stalls them."""

NEAR, FAR = 1.2, 1.45
"""Writing and reading a line of V or M takes so many times as long as a line from L2, or L3."""

HELD_NEAR, HELD_FAR = 2.0, 16 << 20
"""The larger V and M of a chunk, the more of them comes from L3: all, where they are so many times
L2. Where they are more than so many bytes, from memory."""

AGAIN_NEAR, AGAIN_FAR = 0.5, 16 << 20
"""Weights come from L2 for the next chunk up to this part of it, from L3 up to so many bytes."""

ALIKE = 1.005
"""Costs that differ by less count as equal: the model is no finer."""

UNEVEN = 0.95
"""Unequal chunks take at most this part of the cycles of equal ones: the last chunk has kernels of
its own."""

FEWEST_CHANNELS = 16
"""Channels that a convolution in tiles reads, and makes, at the least."""

FEW_SUMMED = 64
"""The most channels, times taps along the depth, that F(4) for 5x5 sums: so many round by 8e-6 of
the largest result."""

FORMING = 2.6
"""Multiply-adds in the time of transforming one weight and storing it."""

MANY_WEIGHTS = 12 << 20
"""Bytes of transformed weights from which on the run transforms them: fewer stay in caches."""

FULL_BETWEEN = 0.94
"""The part of `FULL` that is left where sums go to memory after each block of inputs."""

FEWER_BYTES = 0.9
"""The run transforms weights if this part of the cycles is less than by transformed ones: memory is
worth the rest."""

ROW_WORTH = 0.85
"""Tiles of windows of one row, or one column, take at most this part of the cycles of the direct
convolution: what they read is written into frames of its own.
"""

CALLS = 19_000
"""Cycles for the three launches of a chunk, their barriers, and what it takes to compile them."""

LAUNCHES = 1_500
"""Cycles for the launches and barriers alone."""

HARDLY_NOTICED = 0.83
"""Smaller chunks, for which memory has room, leave at least this part of the cycles to larger ones:
what is counted for weights that come again is some three times what runs take.
"""

MOST_OF_A_ROW = 24
"""The most chunks of a single row of tiles, which may be of any length: each is compiled and
launched by itself, and with so many V and M are about a twelfth of the image and the result.
"""

MOST_CHUNKS = 1024
"""Chunks of a network from which on they are larger: each is compiled by itself, in some two
milliseconds.
"""

LARGER = tuple(1 << n for n in range(20, 24))
"""Bytes of V and M that such chunks have at the least, where a row of tiles has no more: what a run
hardly notices. By 8 MB, networks of images of 256x256 to 512x512 have 0.97 to 1.09 of their speed,
by 16 MB 0.93 to 0.96.
"""


@dataclass(frozen=True)
class Chunk:
    """Tiles that are computed together: how many rows and columns of them, from which on."""

    first: tuple[int, int]
    tiles: tuple[int, int]


@dataclass(frozen=True)
class Tiling:
    """The tiles of a convolution `inputs` -> `outputs` channels with a height x width result.

    Of several groups, `outputs` are those of all, and `inputs` those of one.
    formed: whether the run transforms the weights.
    depth: of the result and the image, if they are volumes. Tiles of all phases of a dilation are a
    row of tiles, and a column.
    axes: whether windows have several taps along rows, and along columns; where they have one tap,
    tiles have one cell.
    """

    form: Form
    outputs: int
    inputs: int
    height: int
    width: int
    target: Target
    groups: int = 1
    depth: Depth = IMAGE
    dilation: int = 1
    axes: tuple[bool, bool] = BOTH
    formed: bool = False

    @cached_property
    def plane(self) -> Plane:
        """The tiles by axis."""
        rows, columns = self.axes
        forms = self.form if rows else ONE, self.form if columns else ONE
        return Plane(forms, (self.dilation if rows else 1, self.dilation if columns else 1))

    @property
    def rows(self) -> int:
        """Rows of tiles."""
        return -(-self.height // self.plane.spans[0])

    @property
    def columns(self) -> int:
        """Tiles of a row."""
        return -(-self.width // self.plane.spans[1])

    @property
    def along(self) -> int:
        """How chunks lie: they are rows of tiles, or columns where there is one row."""
        return ACROSS if self.rows == 1 else DOWN

    @property
    def length(self) -> int:
        """Tiles in that direction."""
        return self.columns if self.along == ACROSS else self.rows

    def chunks(self, size: int) -> list[Chunk]:
        """All tiles, in chunks of so many rows, or columns; the last may have fewer."""

        def chunk(first: int) -> Chunk:
            count = min(size, self.length - first)
            if self.along == ACROSS:
                return Chunk((0, first), (self.rows, count))
            return Chunk((first, 0), (count, self.columns))

        return [chunk(first) for first in range(0, self.length, size)]

    @property
    def components(self) -> int:
        """Of a tile, of one channel and slice."""
        return prod(form.window for form in self.plane.forms)

    @property
    def places(self) -> int:
        """Components of all tiles in a row of tiles, of one channel and slice."""
        return self._places(self.columns)

    def _places(self, columns: int) -> int:
        return self.components * prod(self.plane.dilations) * columns

    def cycles(self, size: int, threads: int = 1, calls: int = CALLS) -> float:
        """The cost in chunks of so many rows of tiles, or columns, for each of some threads that
        share them. calls: what comes on top for each chunk.
        """
        core, chunks = self.target.core, -(-self.length // size)
        points = self.places * self.rows * self.depth.slices
        pairs = self.outputs * self.inputs * self.depth.taps * self.plane.parts
        transformed = self.components * pairs
        work, weights = float(points * pairs), 4 * transformed
        if self.formed:
            work = work / FULL_BETWEEN + chunks * FORMING * transformed
            weights = 4 * self.form.taps**2 * pairs
        stream = core.memory_line + (chunks - 1) * _again(weights, core)
        last = self.length - (chunks - 1) * size
        between = (chunks - 1) * sum(self._between(size)) + sum(self._between(last))
        shared = hypot(
            work / _multiply_adds(self.target),
            weights / LINE * stream,
        ) + between / LINE * _held(between / chunks / threads, core)
        return shared / threads + chunks * calls

    def can_form(self) -> bool:
        """Whether the run can transform the weights on their way, and they are many: in whole
        blocks of channels, where one row of places, by what is multiplied there and what comes of
        it, stays in L1.
        """
        plain = self.groups == 1 and self.depth == IMAGE and self.form.stride == 1
        plain = plain and self.axes == BOTH
        blocks = self.inputs % BLOCK == 0 and self.outputs % (BLOCKS * BLOCK) == 0
        tiles = self.places * self.rows // self.form.window
        row = 4 * BLOCK * ((BLOCKS + 1) * tiles + BLOCKS * BLOCK * self.form.window)
        fits = self.target.lanes == BLOCK and row <= self.target.core.l1_bytes
        many = 4 * self.form.window**2 * self.outputs * self.inputs >= MANY_WEIGHTS
        return plain and blocks and fits and many

    def chunk(self, threads: int = 1, room: Room | None = None, least: int = 0) -> int:
        """The cheapest number of rows of tiles in a chunk, or of columns; of those that cost as
        much, or nearly, the smallest, which takes the least memory. Of several, V and M take
        `least` bytes if one more would not take more.

        Where these take more than there is room for, chunks that do not are taken, or those that
        take the least, if runs hardly notice.
        """
        most = min(self.length, MOST_OF_A_ROW) if self.along == ACROSS else self.length
        fewest = min(self.length, least // sum(self._between(1)))
        sizes = sorted({-(-self.length // chunks) for chunks in range(1, most + 1)})
        sizes = [size for size in sizes if size >= fewest]
        shares = min(threads, MOST_SHARES)
        costs = {size: self.cycles(size, shares) for size in sizes}
        cheapest = self._first(costs)
        if room is None or self._beyond(cheapest, room) <= room.free:
            return cheapest
        runs = {size: self.cycles(size, shares, LAUNCHES) for size in sizes}
        alike = [size for size in sizes if runs[size] * HARDLY_NOTICED <= runs[cheapest]]
        fitting = {n: costs[n] for n in alike if self._beyond(n, room) <= room.free}
        return self._first(fitting) if fitting else min(alike, key=lambda n: self._beyond(n, room))

    def _first(self, costs: Mapping[int, float]) -> int:
        """Of sizes of chunks the cheapest.

        All chunks are equal, for they share kernels, unless others cost much less, or no more and
        stay in a cache which equal ones leave: then the last has fewer.
        """
        found = _cheapest(costs)
        even = {n: cost for n, cost in costs.items() if self.length % n == 0}
        if not even:
            return found
        equal = _cheapest(even)
        small, large = (sum(self._between(size)) for size in (found, equal))
        stays = small <= self.target.core.l2_bytes < large
        return found if costs[found] < (1 if stays else UNEVEN) * costs[equal] else equal

    def _beyond(self, size: int, room: Room) -> int:
        """Bytes that chunks of that size take beside image and result.

        Where all is one chunk, V takes the place of an image that nobody reads afterwards, and the
        result that of V.
        """
        v, m = self._between(size)
        if size < self.length:
            return v + m
        return max(v - room.made, v + m - room.read - room.made, m - room.read)

    def _between(self, size: int) -> tuple[int, int]:
        """Bytes of V, and of M, of a chunk of so many rows of tiles, or columns."""
        v, m = self.groups * self.inputs * self.depth.reach, self.outputs * self.depth.slices
        rows, columns = (self.rows, size) if self.along == ACROSS else (size, self.columns)
        down, across = self.plane.read((rows, columns))
        return 4 * self._places(across) * down * v, 4 * self._places(columns) * rows * m


def least_held(tilings: Sequence[Tiling], threads: int) -> int:
    """The bytes of V and M of a chunk, at the least, in a network of these: the fewest by which it
    has at most `MOST_CHUNKS`.
    """
    alike = Counter(tilings)

    def chunks(least: int) -> int:
        sizes = {tiling: tiling.chunk(threads, least=least) for tiling in alike}
        return sum(count * -(-one.length // sizes[one]) for one, count in alike.items())

    return next((least for least in (0, *LARGER) if chunks(least) <= MOST_CHUNKS), LARGER[-1])


def _cheapest(costs: Mapping[int, float]) -> int:
    """The first that costs least, or nearly."""
    least = min(costs.values())
    return next(n for n, cost in costs.items() if cost <= ALIKE * least)


@cache
def tiling_of(
    outputs: int,
    inputs: int,
    height: int,
    width: int,
    target: Target,
    groups: int = 1,
    depth: Depth = IMAGE,
    dilation: int = 1,
    axes: tuple[bool, bool] = BOTH,
    taps: int = 3,
    stride: int = 1,
) -> Tiling | None:
    """The cheapest tiles of a convolution with windows of so many taps along each of some axes, and
    one along others; None where it is cheaper as it is.
    """
    fine = axes != BOTH or inputs * depth.taps <= FEW_SUMMED
    forms = [form for form in forms_of(taps, stride, axes) if fine or form is not F4_5]
    if not forms:
        return None
    tilings = [
        Tiling(form, outputs, inputs, height, width, target, groups, depth, dilation, axes)
        for form in forms
    ]
    best = _best(tilings)
    formed = [replace(tiling, formed=True) for tiling in tilings if tiling.can_form()]
    if formed and _cost(least := _best(formed)) * FEWER_BYTES < _cost(best):
        best = least
    weights = taps ** sum(axes) * outputs * inputs * depth.taps
    plain = _plain(weights, height * width * depth.slices, target)
    return best if _cost(best) < (1.0 if axes == BOTH else ROW_WORTH) * plain else None


def cycles_of(
    outputs: int,
    inputs: int,
    cells: Sequence[int],
    window: Sequence[int],
    target: Target,
    groups: int = 1,
) -> float:
    """The cost of a convolution of an image, of stride 1, in tiles where these are cheaper; of
    several groups, by the outputs of all and the inputs of one.
    """
    plain = plain_cycles(outputs, inputs, cells, window, target)
    taps, axes = max(window), (window[0] > 1, window[1] > 1)
    few = min(outputs // groups, inputs) < FEWEST_CHANNELS
    if few or min(window) not in (1, taps) or taps == 1:
        return plain
    rows, columns = cells
    tiling = tiling_of(outputs, inputs, rows, columns, target, groups, axes=axes, taps=taps)
    return plain if tiling is None else _cost(tiling)


def plain_cycles(
    outputs: int, inputs: int, cells: Sequence[int], window: Sequence[int], target: Target
) -> float:
    """The cost of a convolution as it is, which fills whole blocks of outputs."""
    return _plain(prod(window) * lanes_in(outputs) * inputs, prod(cells), target)


def _plain(weights: int, points: int, target: Target) -> float:
    return hypot(
        weights * points / _multiply_adds(target), 4 * weights / LINE * target.core.memory_line
    )


def _best(tilings: Sequence[Tiling]) -> Tiling:
    """The first that costs least."""
    return min(tilings, key=_cost)


def _cost(tiling: Tiling) -> float:
    return tiling.cycles(tiling.chunk())


def _multiply_adds(target: Target) -> float:
    return FULL * target.core.multiply_adds * target.lanes


def _again(weights: int, core: Core) -> float:
    """Cycles of a line of so many bytes of weights that are read once more."""
    if weights <= AGAIN_NEAR * core.l2_bytes:
        return 0.0
    return core.l3_line if weights <= AGAIN_FAR else core.memory_line


def _held(bytes: float, core: Core) -> float:
    """Cycles of a line of what lies between the steps, if it is so many bytes."""
    far = min(1.0, bytes / (HELD_NEAR * core.l2_bytes))
    behind = core.l3_line if bytes <= HELD_FAR else core.memory_line
    return (1 - far) * NEAR * core.l2_line + far * FAR * behind
