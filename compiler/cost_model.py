"""The numbers that decisions compare: how much a rewrite must save, from what size on it pays, how
large a tile is, and some measured costs.

Each target has a `CostModel` (`Target.costs`) and a `Core`. Passes over linalg and strategies of
schedules get a target or a cost model; a test gives them another one. The numbers choose plans, and
so the order of sums, but nothing else in a result.

Every command makes these classes. So they are named tuples, which are made faster than dataclasses,
and their annotations are types: `NamedTuple` would compile each one that is a string.
"""

from typing import NamedTuple

FLAT_TENTHS = 9
"""`Tiles.flat` in tenths: code for rows that the run tells decides with integers, and has no target
at hand."""


class GivenTiles(NamedTuple):
    """Tiles that every convolution takes that has some, whatever they cost.

    tile: elements of a tile along an axis, as in F(tile); a window without such a form takes its
    first one. rows: rows of tiles in a strip, or columns; None: as many as cost least. formed:
    whether the run transforms the weights.
    """

    tile: int
    rows: int | None = None
    formed: bool = False


class Winograd(NamedTuple):
    """Which convolutions run in tiles, and the cycles of tiles."""

    given_tiles: GivenTiles | None = None
    """Tiles to try out; None: those that cost least."""
    fewest_tiled_channels: int = 16
    """Channels that a convolution in tiles reads, and makes, at the least."""
    few_summed: int = 64
    """The largest number of channels, times taps along the depth, for F(4) of 5x5: such sums round
    to 8e-6 of the largest result."""
    many_weights: int = 12 << 20
    """Bytes of transformed weights from which on the run may transform them: smaller ones stay in
    caches."""
    fewer_bytes: float = 0.9
    """The run transforms weights if this share of the cycles is less than with transformed weights:
    less memory is worth a few cycles."""
    row_worth: float = 0.85
    """Tiles for windows of one row, or one column, take at most this share of the cycles of the
    direct convolution, because their input needs a larger border."""
    open_worth: float = 0.9
    """Tiles take at most this share where the run tells how large the image is: small images need
    the weights of the direct convolution, too."""
    least_extent: int = 8
    """The rows, and columns, that tiles are chosen for at least, where the run tells them."""
    large_extent: int = 24
    """The same for a layer whose smaller images may have tiles of their own. The costs of these are
    compared for images up to this size."""
    many_open_weights: int = 1 << 18
    """A layer with at least so many bytes of weights, as the file has them, may have such tiles:
    small images take most of their time to read weights. For fewer, the code is not worth
    compiling."""
    own_worth: float = 0.8
    """Such tiles are made if they take less than this part of the cycles of others, for the image
    for which they save most."""
    bf16x3_worth: float = 0.97
    """Tiles with bf16x3 take at most this share of the cycles of the direct convolution with
    bf16x3: the model is not more precise, and V and M take memory."""
    forming_weight: float = 2.6
    """Multiply-adds in the time of transforming one weight and storing it."""
    full_between: float = 0.94
    """The part of the multiply-adds that is left where sums go to memory after each block of
    inputs."""
    near_line: float = 1.2
    """Writing and reading a line of V or M takes so many times as long as a line from L2."""
    far_line: float = 1.45
    """The same for a line from L3."""
    held_near: float = 2.0
    """The larger V and M of a strip, the more of them comes from L3: all, where they are so many
    times L2."""
    held_far: int = 16 << 20
    """Where they are more than so many bytes, they come from memory."""
    again_near: float = 0.5
    """Weights come from L2 for the next strip up to this part of it."""
    again_far: int = 16 << 20
    """They come from L3 up to so many bytes."""


class Strips(NamedTuple):
    """How many tiles of Winograd are computed together."""

    uneven_worth: float = 0.95
    """Unequal strips take at most this part of the cycles of equal ones: the last strip has
    kernels of its own."""
    calls: int = 19_000
    """Cycles for the three launches of a strip and their barriers, with a preference for few
    strips."""
    launches: int = 1_500
    """Cycles for the launches and barriers alone."""
    iteration: int = 4_000
    """Cycles for the calls of an iteration of one thread."""
    alike: float = 1.005
    """Costs that differ by less count as equal: the model is no finer."""
    fewest_tiles: int = 12
    """Tiles of a strip of one thread: so many points a tile of registers has."""
    constants_beside: int = 1 << 14
    """Bytes of constants beside the weights, at the most."""
    most_threads: int = 4
    """Threads for which a strip that they share grows: more have enough barriers to share the
    rest."""
    larger_sides: int = 4
    """How much higher and wider an image is that has several strips, where that of the hint is
    one."""
    longest: int = 1 << 16
    """Tiles of a length beyond which strips are no larger: there are only more of them."""
    hardly_noticed: float = 0.8
    """Smaller strips, for which memory has room, leave at least this part of the cycles to larger
    ones: the cycles that are counted for weights that come again are some three times those of
    runs."""


class Convolutions(NamedTuple):
    """How other convolutions and windows are rewritten."""

    fewest_empty_lanes: float = 0.02
    """The smallest share of empty lanes in vectors along a sequence for which blocks of channels
    are better."""
    joined_phases_worth: float = 0.75
    """Joined phases take at most this share of the cycles of single ones if windows are one
    element, because results are copied to their rows and columns. With larger windows, single
    phases read weights in strides, which is as slow as the copy."""
    phases_apart_worth: float = 0.9
    """Convolutions of single phases take at most this share of the cycles of one for all phases:
    each of them reads the image."""
    most_phases: int = 1 << 16
    """The largest number of phases, and of elements of a window for all phases. With more, most
    phases have no tap, or most elements of a window have none."""
    moved_to_phase: float = 1.5
    """Cycles of moving an element of the image to its phase."""
    phases_worth: float = 0.75
    """A convolution of the phases of an image takes at most this share of the cycles: it cannot
    read the input of a network in place."""
    most_peeled_work: int = 256
    """Multiply-adds for each element of the input: with more, a copy costs less than the kernels of
    four borders."""
    trimmed_worth: float = 0.8
    """The largest share of products that may be left: each part is a kernel, and shares loads
    among fewer sums."""
    fewest_trimmed_elements: int = 12
    """Elements of the smallest of several parts: a register tile has so many, and reads weights
    once for them."""
    single_row_share: int = 8
    """The input has at least so many times the rows of an image, or its columns, if the run tells
    which taps see it: other images seldom have one row, and loops over such taps take time of the
    compiler."""
    between_windows: float = 2.0
    """Elements of a window that are reduced in the time of a store and a load between two axes."""
    separate_windows_worth: float = 0.8
    """The largest share of a window's elements that may be left: windows that overlap share
    elements in registers."""
    most_small_elements: int = 64
    """The largest image that small images are compared with: larger ones run in tiles."""
    small_fill: float = 0.7
    """The part of the register tiles of a direct convolution that the points of a small image fill,
    where the run tells how large it is."""


class Groups(NamedTuple):
    """Which groups of convolutions are separated."""

    full_along_rows: float = 0.75
    """The share of a core's multiply-adds that sums along rows of a plain image reach."""
    most_large_groups: int = 4
    """The largest number of groups of whole blocks to separate: each group needs kernels."""
    most_ragged_groups: int = 16
    """The largest number of other groups to separate: they share the kernels of tiles."""
    group_weights_share: float = 0.5
    """The share of L2 that is left for weights."""


class Layout(NamedTuple):
    """Which values are in blocks of channels, and which elements move."""

    bytes_per_multiply_add: float = 0.6
    """Bytes that can be moved in the time of one vectorized multiply-add."""
    bytes_per_lone_read: float = 32.0
    """Bytes that can be moved in the time of one read, of an element or a block, at a computed
    index."""
    bytes_per_gathered_read: float = 12.0
    """The same for an element that is read together with the others of a vector."""
    products_apart: float = 20
    """Vectorized multiply-adds in the time of one on elements that lie apart, as with a stride."""
    products_by_a_vector: float = 10
    """Vectorized multiply-adds in the time of one of a plain matrix by a vector."""
    products_across_rows: float = 7
    """Vectorized multiply-adds in the time of one that sums channels of elements which do not lie
    side by side."""
    products_of_lanes: float = 8
    """Vectorized multiply-adds in the time of adding the lanes of a vector."""
    fewest_uses_of_transposed: int = 24
    """Products of an element that outweigh moving it: with vectors, they take a third of the time
    of sums over lanes."""
    fewest_transposed_rows: int = 128
    """Rows of a few elements to transpose that outweigh two more kernels."""
    moves_per_multiply_add: float = 0.075
    """Elements that a transpose moves in the time of one vectorized multiply-add."""
    most_gathered_channels: int = 1 << 16
    """Channels of a gather, which is a list of them."""
    most_joined_parts: int = 16
    """The most parts of a concat that gathers read: a gather that is stored puts its blocks
    together of all of them."""


class Reductions(NamedTuple):
    """How sums are split, and where softmax is fused."""

    operand_share: float = 1 / 2
    """The most of the cache that an operand may take and still be there when it is read
    again."""
    reduction_part_share: float = 1 / 3
    """The most of the cache that a part takes: results pass through it, and the other
    operand."""
    parts_worth: int = 2
    """Sums are cut where whole ones have more than so many times the traffic that parts
    have."""
    halved_times_larger: int = 3
    """How many times the sums are what is summed, where that is worth staying in its core's
    cache."""
    fewest_halved_bytes: int = 1 << 16
    """Bytes of what is summed: less comes from another core in the time of one more launch."""
    most_halved_sums: int = 3 << 16
    """Bytes of the sums of both halves: more would evict other values."""
    fewest_bytes_by_rows: int = 1 << 17
    """Bytes of a block of channels, or of a plain one, that is summed row by row: where it
    has less, there are blocks enough for all threads, or the image stays in a cache as it
    is."""
    times_scaled_image: int = 2
    """How many times as large as the weights the image must be: weights come from memory, and
    the image from a cache."""
    prefetched_worth: int = 4
    """How many times faster elements that lie side by side are read than others: they are
    prefetched."""
    few_outputs_on_tiles: int = 32
    """Outputs that vectors multiply sooner than an image is scaled and tiles multiply: 16 and 24
    take 0.4 to 0.75 of that time, 40 as long."""
    fewest_folded: int = 8
    """Inputs of a sum that takes several of them at once, and its points: with fewer, sums wait for
    themselves."""
    fewest_softmax_row: int = 48
    """Elements of a row that fill vectors well in a fused softmax."""
    fewest_softmax_columns: int = 64
    """Columns side by side that do."""
    most_blocks_in_place: int = 8
    """Blocks of results for which every lane is read: with more of them, tables are read more
    often than a gather would be."""
    tile_points: int = 12
    """Points of the register tile by which traffic is counted: it reads an element of weights once
    for so many."""
    tile_channels: int = 32
    """Channels of that tile: it reads an element of the image once for so many."""
    softmax_elements: int = 1024
    """Elements of an iteration of a fused softmax along rows, in whole rows."""
    most_softmax_rows: int = 8
    """The most rows of such an iteration. It has several, so that it reads the next row while it
    combines the lanes of one."""
    most_softmax_columns: int = 512
    """The most columns of an iteration of a fused softmax of columns: their maxima and sums stay in
    a first-level cache."""


class Fusion(NamedTuple):
    """Which operations share a kernel."""

    most_in_epilogue: int = 32
    """Pointwise operations behind the sum of a kernel: the time of LLVM grows faster than their
    number."""


class Memory(NamedTuple):
    """Where the arena has its buffers."""

    most_on_stack: int = 16384
    """Bytes of one piece of scratch memory of a kernel: larger ones are in the arena."""
    arena_tries: int = 24
    """Orders of buffers that are tried behind each first one. Nearly all benchmark networks come to
    their least arena within 22 behind the largest-first order, and two more within 13 behind the
    other one."""
    near_steps: int = 8
    """Steps between two buffers that share an offset: after more, the cache has lost the first."""
    near_steps_of_threads: int = 24
    """The same where threads share steps: another value in between would be shared out differently,
    so that cores would write lines that are in other cores' caches."""
    steps_together: int = 16
    """Steps of a stretch: more of them hold more buffers that are never alive together, fewer cut
    more lifetimes. Only the time of planning depends on it."""
    most_shift: float = 1 / 8
    """How far two buffers may be shifted against each other, as a share of one: the extra
    memory."""
    little_more: float = 1.08
    """The memory that a network may take for larger strips, as a multiple of its peak."""


class DataTypes(NamedTuple):
    """Which sums run in bf16x3 on matrix tiles, and which weights are narrow."""

    bf16_parts_worth: int = 2
    """How many times the traffic of sums in parts the traffic of whole sums is."""
    fewest_bf16_points: int = 8
    """Points of a sum on matrix tiles: a tile of fewer rows takes no less time."""
    filled_k_tile: float = 0.4
    """The part of a k-tile along the row of a window, at the least, that is no padding with
    zeros."""
    fewest_bf16_products: int = 32
    """Products of a number of a group that are worth splitting it."""
    reached_multiply_adds: float = 0.85
    """The part of a core's peak of multiply-adds that contractions reach when nothing stalls
    them."""
    most_points_of_float16: int = 49
    """Points that share a weight of float16: an image of 7 x 7, in three or four tiles, is no
    slower, and its weights take half the memory."""
    split_line: float = 3.0
    """Additional cycles of a cache line that is written as bfloat16 parts, and of one of sums,
    which comes through the memory of tiles."""


class RegisterTiles(NamedTuple):
    """The cycles of a register tile, as measured, beside those of a `Core`."""

    l1_share: float = 3 / 4
    """The vectors of a tile stay in L1 until they are read again if they fill at most this share of
    it."""
    l2_share: float = 1 / 2
    """The same for L2."""
    latency: int = 8
    """Independent accumulators that hide the latency of multiply-adds."""
    depth: float = 4.0
    """Cycles from one multiply-add to the next of its sum, on cores whose loads are
    instructions."""
    counting: float = 5.0
    """Instructions that count and move addresses, on such cores, once for all unrolled
    iterations."""
    paired: float = 0.5
    """Instructions of a load of a vector, on such cores, if one instruction loads it and its
    neighbour."""
    point: float = 0.5
    """Cycles of a broadcast from L1."""
    point_from_l2: float = 4.0
    """Cycles of a broadcast from L2, if points evict each other from a set of L1."""
    vector_in_l1: float = 1.0
    """Cycles of loading a vector from L1."""
    stray: float = 0.25
    """How much longer a line takes, as a part, in streams beyond those that a core prefetches."""
    iteration: float = 0.5
    """Cycles of an iteration besides its loads and multiply-adds, on a core with one unit."""
    unlike: float = 0.17
    """Extra cycles of a broadcast for one whole vector and a short one."""
    store: float = 2.0
    """Cycles of storing a vector of results."""
    start: float = 10.0
    """Cycles of starting a tile."""
    crowd: float = 4.0
    """Cycles of each accumulator beyond `Core.sums`: nothing overlaps with its start and store."""
    flat: float = FLAT_TENTHS / 10
    """Matrix tiles go on from row to row of points if they take at most this part of the products,
    with those between the rows: storing their rows takes longer."""


class Schedules(NamedTuple):
    """How large tiles of other kernels are, and how far their loops are unrolled."""

    most_unrolled_taps: int = 9
    """The most taps of a window that is unrolled, so that neighbouring points share loads."""
    most_unrolled_row: int = 7
    """The most taps of a row that is unrolled in a larger window."""
    most_points: int = 7
    """Points of a register tile of windows, with 32 registers. One row of so many leaves some of 16
    registers for the loads of a row of a window."""
    few_points: int = 4
    """The same with fewer registers, or if points share no loads."""
    most_vectors: int = 8
    """Vectors of a register tile along the lane: half of 16 registers."""
    fewest_scattered: int = 4
    """The fewest results of a vector whose lanes are stored one by one."""
    least_square: int = 4
    """The shortest side of a square that is transposed in registers."""
    most_shared: int = 4
    """Channels, or blocks of them, that are read at the same computed coordinates in one
    iteration."""
    most_at_once: int = 16
    """The most iterations of a sum that are unrolled: a block of channels."""
    most_prefetches: int = 32
    """The most prefetches of an iteration: more of them would cost more than they save."""
    most_prefetching_groups: int = 8
    """The most groups of points on matrix tiles that share the prefetches of weights."""
    most_read_again: float = 1.5
    """Threads share points on matrix tiles if the weights are at most so many times as large as the
    data. Then each thread reads all weights, from the third level of cache, and less of the data
    from another core."""
    most_short_blocks: int = 16
    """The most blocks whose last one has its own code if half of it is padding."""
    long_extent: int = 61
    """How long a loop is taken to be at least whose extent the run tells: no divisor of it, and no
    short loop, makes a schedule that fits one size only."""
    small_points: int = 36
    """The points of a small image that a tile is chosen for."""
    unprefetched_points: int = 3
    """The most points of a tile of a small image that prefetches nothing. A core runs ahead to the
    weights of many more iterations, and a prefetch takes the place of one of these loads."""
    most_rivals: int = 12
    """The most schedules of a kernel that `ncc tune` times."""
    rival_cycles: float = 1.5
    """How many times the cycles of the cheapest schedule these may take."""


class Threads(NamedTuple):
    """How threads share a kernel, or the iterations of a loop."""

    chunks: int = 16
    """Chunks of a kernel: several threads share so many evenly, even if one of them comes late."""
    even_chunks: int = 32
    """Chunks of a contraction: with so many, it costs little if one thread takes one more than
    another. A chunk may be a single tile, which is work enough."""
    least_part: int = 4096
    """The fewest iterations of a part of the lane, on average: then the call of a chunk costs
    little."""
    long_loop: int = 4096
    """Iterations of a loop that threads share if it is alone."""
    loop_parts: int = 16
    """About how many parts it has then."""
    fewest_part_iterations: int = 1024
    """The fewest iterations of a part that does not end with a whole vector."""
    fewest_iterations: int = 2
    """Iterations of a loop for each thread."""
    most_uneven: float = 1.2
    """The most that a thread may have to do, as a multiple of an equal share of the iterations."""
    stays: float = 0.9
    """The part of a second-level cache that weights and the values between calls may fill."""
    short_step: float = 16.0
    """The most estimated microseconds of one thread in a short step."""
    operations: float = 1e5
    """Operations of vectors in a microsecond."""
    products: float = 1.5e6
    """Operations of matrix tiles in a microsecond."""
    data: float = 5e4
    """Bytes in a microsecond, from the second-level cache."""
    weights: float = 2e4
    """Bytes in a microsecond, from beyond."""


class CostModel(NamedTuple):
    """All numbers that decide which plan is taken."""

    winograd: Winograd = Winograd()
    strips: Strips = Strips()
    convolutions: Convolutions = Convolutions()
    groups: Groups = Groups()
    layout: Layout = Layout()
    reductions: Reductions = Reductions()
    fusion: Fusion = Fusion()
    memory: Memory = Memory()
    data_types: DataTypes = DataTypes()
    tiles: RegisterTiles = RegisterTiles()
    schedules: Schedules = Schedules()
    threads: Threads = Threads()
