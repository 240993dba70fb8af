"""The numbers that passes over linalg compare with: how much a rewrite must save, from what size
on it pays, and some measured costs.

Each target has a `CostModel` (`Target.costs`) and a `Core`; a pass gets a target or a cost model.
The numbers choose plans, and so the order of sums, but nothing else in a result.
"""

from __future__ import annotations

from typing import NamedTuple


class GivenTiles(NamedTuple):
    """Tiles that every convolution takes that has some, whatever they cost.

    tile: elements of a tile along an axis, as in F(tile); a window without such a form takes its
    first one. rows: rows of tiles in a chunk, or columns; None: as many as cost least. formed:
    whether the run transforms the weights.
    """

    tile: int
    rows: int | None = None
    formed: bool = False


class CostModel(NamedTuple):
    """Numbers that decide which plan is taken. Every command makes this class: a dataclass of so
    many fields takes some milliseconds more.
    """

    # --- Winograd's convolution ---
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
    halves_worth: float = 0.97
    """Tiles with bf16x3 take at most this share of the cycles of the direct convolution with
    bf16x3: the model is not more precise, and V and M take memory."""
    uneven_chunks: float = 0.95
    """Unequal chunks take at most this part of the cycles of equal ones: the last chunk has
    kernels of its own."""
    forming_weight: float = 2.6
    """Multiply-adds in the time of transforming one weight and storing it."""

    # --- Other convolutions ---
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

    # --- Groups ---
    full_along_rows: float = 0.75
    """The share of a core's multiply-adds that sums along rows of a plain image reach."""
    most_large_groups: int = 4
    """The largest number of groups of whole blocks to separate: each group needs kernels."""
    most_ragged_groups: int = 16
    """The largest number of other groups to separate: they share the kernels of tiles."""
    group_weights_share: float = 0.5
    """The share of L2 that is left for weights."""

    # --- Layout ---
    bytes_per_multiply_add: float = 0.6
    """Bytes that can be moved in the time of one vectorized multiply-add."""
    bytes_per_lone_read: float = 32.0
    """Bytes that can be moved in the time of one read, of an element or a block, at a computed
    index."""
    bytes_per_gathered_read: float = 12.0
    """The same for an element that is read together with the others of a vector."""
    steps_apart: float = 20
    """Vectorized multiply-adds in the time of one on elements that lie apart, as with a stride."""
    steps_by_a_vector: float = 10
    """Vectorized multiply-adds in the time of one of a plain matrix by a vector."""
    steps_across_rows: float = 7
    """Vectorized multiply-adds in the time of one that sums channels of elements which do not lie
    side by side."""
    steps_of_lanes: float = 8
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

    # --- Reductions ---
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

    # --- Fusion ---
    most_in_epilogue: int = 32
    """Pointwise operations behind the sum of a kernel: the time of LLVM grows faster than their
    number."""

    # --- Memory ---
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

    # --- bf16x3 ---
    bf16_parts_worth: int = 2
    """How many times the traffic of sums in parts the traffic of whole sums is."""
    fewest_bf16_points: int = 8
    """Points of a sum on matrix tiles: a tile of fewer rows takes no less time."""
    filled_step: float = 0.4
    """The part of a step along the row of a window, at the least, that is no padding with zeros."""
    fewest_bf16_products: int = 32
    """Products of a number of a group that are worth splitting it."""

    # --- Other data types ---
    reached_multiply_adds: float = 0.85
    """The part of a core's peak of multiply-adds that contractions reach when nothing stalls
    them."""
    most_points_of_float16: int = 49
    """Points that share a weight of float16: an image of 7 x 7, in three or four tiles, is no
    slower, and its weights take half the memory."""
