"""What the passes over computations compare with: how much less something must cost, from what size
on it pays, and what the models of `linalg` have measured.

A target has one (`Target.costs`), beside the core that cycles are counted for; passes without a
target are given it. No result depends on it beyond the order of sums that plans choose.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GivenTiles:
    """Tiles that every convolution takes that has some, whatever they cost.

    tile: elements of a tile along an axis, as in F(tile); a window without such a form takes its
    first one. rows: rows of tiles in a chunk, or columns; None: as many as cost least. formed:
    whether the run transforms the weights.
    """

    tile: int
    rows: int | None = None
    formed: bool = False


@dataclass(frozen=True)
class CostModel:
    """Numbers that decide which plan is taken."""

    # --- Winograd's convolution ---
    given_tiles: GivenTiles | None = None
    """Tiles to try out; None: those that cost least."""
    fewest_tiled_channels: int = 16
    """Channels that a convolution in tiles reads, and makes, at the least."""
    few_summed: int = 64
    """The most channels, times taps along the depth, that F(4) for 5x5 sums: so many round by
    8e-6 of the largest result."""
    many_weights: int = 12 << 20
    """Bytes of transformed weights from which on the run transforms them: fewer stay in
    caches."""
    fewer_bytes: float = 0.9
    """The run transforms weights if this part of the cycles is less than by transformed ones:
    memory is worth the rest."""
    row_worth: float = 0.85
    """Tiles of windows of one row, or one column, take at most this part of the cycles of the
    direct convolution: what they read is written into frames of its own."""
    halves_worth: float = 0.97
    """Tiles by halves take at most this part of the cycles of the direct convolution by
    halves: the model is no finer, and V and M take memory."""
    uneven_chunks: float = 0.95
    """Unequal chunks take at most this part of the cycles of equal ones: the last chunk has
    kernels of its own."""
    most_chunks: int = 1024
    """Chunks of a network from which on they are larger: each is compiled by itself, in some
    two milliseconds."""
    forming_weight: float = 2.6
    """Multiply-adds in the time of transforming one weight and storing it."""

    # --- Other convolutions ---
    fewest_empty_lanes: float = 0.02
    """Empty lanes of vectors along a sequence, as a share of its elements, from which on blocks of
    channels are better."""
    joined_phases_worth: float = 0.75
    """Joined phases take at most this part of the cycles of single ones where windows are one
    cell, since results are moved apart behind them. Wider windows of single phases read
    weights in strides, which is as slow."""
    phases_apart_worth: float = 0.9
    """Convolutions of single phases take at most this part of the cycles of one for all phases:
    each of them reads the image."""
    most_phases: int = 1 << 16
    """The most phases, and elements that a window reaches: beyond, most phases have no tap, or most
    elements of a window are none."""
    moved_to_phase: float = 1.5
    """Cycles of moving an element of the image to its phase."""
    phases_worth: float = 0.75
    """A convolution of the phases of an image takes at most this part of the cycles: the input of a
    network is no longer read where the caller has it."""
    most_peeled_work: int = 256
    """Multiply-adds a cell of the input: beyond, a copy costs less than the kernels of four
    borders."""
    trimmed_worth: float = 0.8
    """The most products that are left, of all: parts are a kernel each, of less to share a
    load."""
    fewest_trimmed_points: int = 12
    """Cells of the smallest of several parts: those of a register tile, for which weights are
    read."""
    between_windows: float = 2.0
    """Elements of a window that are folded in the time of writing and reading what lies between two
    axes."""
    separate_windows_worth: float = 0.8
    """The most that is left of the cells: those of windows that overlap are read once for
    several."""

    # --- Row tiles ---
    large_value: float = 0.75
    """A value that takes at least this share of a second-level cache does not stay there by
    itself."""
    strip_share: float = 0.75
    """The most of that cache that what one strip hands on may take, for each thread."""
    strip_weights: int = 1 << 17
    """Bytes of weights that may be read again for every strip."""

    # --- Groups ---
    full_along_rows: float = 0.75
    """The part of a core's multiply-adds that is reached along rows of a plain image."""
    most_large_groups: int = 4
    """Groups of whole blocks that are separated, at the most: each has kernels of its own."""
    most_ragged_groups: int = 16
    """Groups of other channels that are separated, at the most: they share kernels of tiles."""
    group_weights_share: float = 0.5
    """The part of L2 that is left to weights beside what is computed with them."""

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
    most_blocks_in_place: int = 8
    """Blocks of results for which every lane is read: with more of them, tables are read more
    often than a selection would be."""

    # --- bf16x3 ---
    bf16_parts_worth: int = 2
    """How many times the traffic of sums in parts the traffic of whole sums is."""
