"""Schedules for extents that the run tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from ncc.compiler.cost_model import CostModel, RegisterTiles
from ncc.compiler.loops.kernel.kernel import SHORT, Access, Gap, Kernel
from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.loops.schedule import open_extents
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.chunks import chunk_count, is_coalesced
from ncc.compiler.loops.schedule.contraction import with_prefetches
from ncc.compiler.loops.schedule.matrix_tiles import even_rows
from ncc.compiler.loops.schedule.open_extents import for_any_size
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.target import AVX512, TWO_UNITS
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, form_of, hint, is_open
from ncc.dialects.tile import ROWS
from tests.compiler.linalg.operations import ones
from tests.compiler.loops.emit.layers import KernelOf, line_of
from tests.compiler.loops.emit.layers import convolution as of_planes


def for_the_hint(kernel: Kernel) -> Kernel:
    return open_extents.for_the_hint(kernel, CostModel().schedules)


def convolution(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(128, x.shape[0]))
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])


@pytest.fixture
def opened(kernel: KernelOf) -> Callable[[int], Kernel]:
    """A convolution of images of which the run tells how many points they have, by the hint."""

    def of(side: int) -> Kernel:
        points, found = Size.symbol("n", side), kernel(convolution, (64, 14, 14))
        extents = tuple(points if n == 14 * 14 else n for n in found.extents)
        return replace(found, extents=extents)

    return of


def changed_numbers(kernel: Kernel, sizes: dict[int, int]) -> Kernel:
    """The kernel with sizes in place of some extents and strides."""

    def replaced(access: Access) -> Access:
        return replace(access, coefficients=tuple(sizes.get(n, n) for n in access.coefficients))

    inputs = tuple(one if one is None else replaced(one) for one in kernel.anchor.inputs)
    return replace(
        kernel,
        extents=tuple(sizes.get(n, n) for n in kernel.extents),
        anchor=replace(kernel.anchor, inputs=inputs),
        store=replaced(kernel.store),
    )


def test_matrix_tiles_have_no_row_beyond_the_last_point() -> None:
    """There are as few as hold all points; where there are none, no number divides by 0."""
    for points in range(1, 100):
        rows = even_rows(points)
        assert rows <= min(points, ROWS)
        assert -(-points // rows) == -(-points // ROWS)
    assert even_rows(0) == 1


def test_no_stride_looks_like_another_one(kernel: KernelOf) -> None:
    """Rows of a hint of one column are not contiguous; a stride that is like no other is kept."""
    found = kernel(convolution, (64, 14, 14))
    fixed = {1, 0, *found.extents, *(n for a in found.accesses() for n in a.coefficients)}
    for side in (1, 64, 77):
        store = replace(found.store, coefficients=(Size.symbol("w", side),) * len(found.extents))
        hinted = for_the_hint(replace(found, store=store))
        stride = hinted.store.coefficients[0]
        assert stride not in fixed and (stride == side) == (side not in fixed)


@pytest.mark.parametrize("is_summed", [False, True])
def test_a_short_range_makes_no_short_loop(kernel: KernelOf, is_summed: bool) -> None:
    """A few values side by side are interleaved in registers, if their number is known."""

    def columns(b: Builder, x: Tensor) -> Tensor:
        i, j = b.loops_of(x.shape)
        return b.sum((i,), over=(j,), of=x[i, j]) if is_summed else b.map((j, i), x[i, j])

    found, few = kernel(columns, (99, 4)), Size.symbol("n", 4, 1, 4)
    assert choose(found, AVX512).strategy is Strategy.INTERLEAVED
    opened = changed_numbers(found, {4: few})
    assert choose(for_the_hint(opened), AVX512).strategy is not Strategy.INTERLEAVED


def test_costs_are_those_of_the_hint(opened: Callable[[int], Kernel]) -> None:
    """Loops are long for all else, and a tiny hint counts as SHORT."""
    for side, likely in ((2, SHORT), (20, 20), (100, 100)):
        kernel = opened(side)
        hinted = for_the_hint(kernel)
        told = [d for d, n in enumerate(kernel.extents) if isinstance(n, Size)]
        assert told
        assert {hinted.likely[d] for d in told} == {likely}
        assert {hinted.extents[d] for d in told} == {max(side, CostModel().schedules.long_extent)}


def test_tiles_of_short_rows_have_few_points(opened: Callable[[int], Kernel]) -> None:
    """Of twelve points or so, a large tile would leave many to a second one."""
    target = replace(AVX512, core=TWO_UNITS)
    schedules = {n: choose(for_the_hint(opened(n)), target) for n in (12, 400)}
    (loop,) = (d for d, n in enumerate(opened(12).extents) if isinstance(n, Size))
    assert schedules[12].points(loop) < schedules[400].points(loop)


def test_prefetches_have_strides_that_the_run_tells(kernel: KernelOf) -> None:
    """Those of the next row of an image; for the hint they are those of a known pitch."""
    closed = kernel(of_planes, (3, 114, 114))
    image, *others = closed.anchor.inputs
    assert image is not None
    pitch = Size.symbol("w", 114)
    strides = tuple(pitch if n == 114 else n for n in image.coefficients)
    inputs = (replace(image, coefficients=strides), *others)
    opened = replace(closed, anchor=replace(closed.anchor, inputs=inputs))
    hinted = choose(for_the_hint(opened), AVX512)
    schedule = for_any_size(opened, hinted, AVX512)
    (told,) = schedule.prefetch_l1
    assert told.argument == image.argument
    assert told.offset == image.offset + pitch
    assert pitch in told.coefficients
    assert changed(schedule, hint) == hinted


def test_tiles_go_on_to_the_next_row_in_narrow_images(kernel: KernelOf) -> None:
    """Where a row has fewer columns than two tiles: chunks have a tile of points of the image."""
    closed, names = kernel(of_planes, (3, 114, 114)), iter("hw")
    extents = tuple(Size.symbol(next(names), n) if n == 112 else n for n in closed.extents)
    opened = replace(closed, extents=extents)
    schedule = for_any_size(opened, choose(for_the_hint(opened), AVX512), AVX512)
    assert schedule.coalesced is not None
    column, row = schedule.coalesced
    assert (str(opened.extents[row]), str(opened.extents[column])) == ("[h]", "[w]")
    points, chunks = schedule.points(column), form_of(chunk_count(opened, schedule))
    one = form_of(is_coalesced(opened, schedule))
    assert points > 2 and row in schedule.order[: schedule.chunks]
    of_a_point = chunks.value({"h": 1, "w": 1})
    for height, width, wanted in (
        (112, 112, 0),
        (112, 1, 1),
        (1, 1, 1),
        (112, 2 * points - 1, 1),
        (112, 2 * points, 0),
        (3, 2, 1),
    ):
        assert one.value({"h": height, "w": width}) == wanted
        if wanted and column in schedule.order[: schedule.chunks]:
            tiles = -(-height * width // points)
            assert chunks.value({"h": height, "w": width}) == tiles * of_a_point
    assert chunks.value({"h": 112, "w": 112}) % 112 == 0


@pytest.mark.parametrize("columns", [1, 112])
def test_tiles_go_on_to_the_next_of_a_known_number_of_rows(kernel: KernelOf, columns: int) -> None:
    """As in the lines of a text, which are as high as a network wants them."""
    closed = kernel(of_planes, (3, 114, 114))
    row, column = (d for d, n in enumerate(closed.extents) if n == 112)
    extents = tuple(
        Size.symbol("w", columns) if d == column else n for d, n in enumerate(closed.extents)
    )
    opened = replace(closed, extents=extents)
    schedule = for_any_size(opened, choose(for_the_hint(opened), AVX512), AVX512)
    assert schedule.coalesced == (column, row)
    assert schedule.small == (columns == 1)
    if not schedule.small:
        one = form_of(is_coalesced(opened, schedule))
        assert [one.value({"w": n}) for n in (1, 112)] == [1, 0]


def test_tiles_with_gaps_between_rows_do_not_go_on(kernel: KernelOf) -> None:
    """A loop over all points of a plane, beside one over planes, knows where rows end by itself."""
    closed = kernel(of_planes, (3, 114, 114))
    _, column = (d for d, n in enumerate(closed.extents) if n == 112)
    extents = tuple(Size.symbol("w", n) if d == column else n for d, n in enumerate(closed.extents))
    image, *others = closed.anchor.inputs
    assert image is not None
    inputs = (replace(image, gap=Gap(column, 8, 4)), *others)
    opened = replace(closed, extents=extents, anchor=replace(closed.anchor, inputs=inputs))
    schedule = choose(for_the_hint(replace(closed, extents=extents)), AVX512)
    assert for_any_size(opened, schedule, AVX512).coalesced is None


def test_tiles_for_small_images(kernel: KernelOf) -> None:
    """A kernel for small images has the tile that suits these, whatever the hint has."""
    closed = kernel(of_planes, (3, 114, 114))
    row, column = (d for d, n in enumerate(closed.extents) if n == 112)

    def chosen(rows: int, columns: int) -> tuple[Schedule, Schedule]:
        sizes = {row: Size.symbol("h", rows), column: Size.symbol("w", columns)}
        extents = tuple(sizes.get(d, n) for d, n in enumerate(closed.extents))
        opened = replace(closed, extents=extents)
        schedule = choose(for_the_hint(opened), AVX512)
        return schedule, for_any_size(opened, schedule, AVX512)

    tiles = {chosen(1, columns)[1].tile for columns in (1, 7, 14, 112)}
    assert len(tiles) == 1
    ((column_again, points),) = (one for one in tiles.pop() if one[0] == column)
    assert column_again == column and 1 < points <= CostModel().schedules.small_points
    before, after = chosen(112, 112)
    assert after.tile == before.tile


@pytest.mark.parametrize("l2_share", [0, 1])
def test_points_of_small_images_are_outermost(kernel: KernelOf, l2_share: int) -> None:
    """If weights stay in L2; else the loop over weights stays where it is."""
    closed = kernel(of_planes, (3, 114, 114))
    row, column = (d for d, n in enumerate(closed.extents) if n == 112)
    sizes = {row: Size.symbol("h", 1), column: Size.symbol("w", 112)}
    extents = tuple(sizes.get(d, n) for d, n in enumerate(closed.extents))
    costs = CostModel(tiles=RegisterTiles(l2_share=l2_share))
    target, opened = replace(AVX512, costs=costs), replace(closed, extents=extents)
    chosen = choose(for_the_hint(opened), target)
    found = for_any_size(opened, chosen, target)
    wanted = (row, column) if l2_share else chosen.order[:2]
    assert found.order[:2] == wanted and chosen.order[:2] != (row, column)
    assert found.chunks >= 2


def test_small_images_do_not_prefetch_what_stays_in_l2(kernel: KernelOf) -> None:
    """Their weights are few, and so are their points."""
    closed = kernel(of_planes, (3, 114, 114))
    row, column = (d for d, n in enumerate(closed.extents) if n == 112)
    for rows in (1, 112):
        sizes = {row: Size.symbol("h", rows), column: Size.symbol("w", 112)}
        extents = tuple(sizes.get(d, n) for d, n in enumerate(closed.extents))
        opened = replace(closed, extents=extents)
        schedule = for_any_size(opened, choose(for_the_hint(opened), AVX512), AVX512)
        assert any([schedule.prefetch_l1, schedule.prefetch_l2]) == (rows > 1)


def deep_convolution(b: Builder, x: Tensor) -> Tensor:
    """One with the taps of its weights outside of the inputs."""
    w = b.weight(ones(512, 3, 3, x.shape[0]))
    o, y, z, k, m, i = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m i")
    return b.sum((o, y, z), over=(k, m, i), of=x[i, y + k, z + m] * w[o, k, m, i])


@pytest.mark.parametrize(
    ("rows", "columns", "taps"), [(1, 4, (1, 3)), (2, 2, (3, 3)), (4, 4, (3, 3)), (13, 2, (3, 2))]
)
def test_tiles_of_small_images_share_the_taps_of_the_next_vectors(
    kernel: KernelOf, rows: int, columns: int, taps: tuple[int, int]
) -> None:
    """All tiles of the image that prefetch, together: all lines of the taps that it sees, and few
    others.
    """
    closed = kernel(deep_convolution, (512, 9, 9))
    image = [d for d, n in enumerate(closed.extents) if n == 7]
    windows = [d for d, n in enumerate(closed.extents) if n == 3]
    names = dict(zip([*image, *windows], "hwkm", strict=True))
    told = {d: Size.symbol(names[d], 3 if d in windows else 1) for d in names}
    extents = tuple(told.get(d, n) for d, n in enumerate(closed.extents))
    opened = replace(closed, extents=extents)
    schedule = for_any_size(opened, choose(for_the_hint(opened), AVX512), AVX512)
    assert schedule.small and schedule.coalesced == (image[1], image[0])
    assert schedule.prefetch_l2 and not schedule.prefetch_l1

    sizes = dict(zip("hwkm", (rows, columns, *taps), strict=True))
    schedule = changed(schedule, lambda n: form_of(n).value(sizes))
    opened = changed(opened, lambda n: form_of(n).value(sizes))
    _, weights = opened.anchor.reads
    (blocks,) = (d for d in opened.parallel if weights.coefficients[d] > 1)
    points, count = schedule.points(image[1]), schedule.points(blocks)
    asked, wanted = set[int](), set[int]()
    for indices in product(*(range(opened.extents[d]) for d in opened.reduced)):
        iteration = dict(zip(opened.reduced, indices, strict=True))
        wanted |= {line_of(weights, {**iteration, blocks: n}) for n in range(count, 2 * count)}
        for first in range(0, rows * columns - schedule.unprefetched, points):
            place = dict(zip(image, divmod(first, columns), strict=True))
            asked |= {line_of(access, {**iteration, **place}) for access in schedule.prefetch_l2}
    assert asked >= wanted and len(asked) < 1.1 * len(wanted)


def test_tiles_share_the_next_vectors(opened: Callable[[int], Kernel]) -> None:
    """However many tiles the run finds, all together prefetch one tile of vectors: of many, each
    has a smaller share.
    """
    found = opened(20)
    schedule = for_any_size(found, choose(for_the_hint(found), AVX512), AVX512)
    (loop,) = (d for d, n in enumerate(found.extents) if isinstance(n, Size))
    (weights,) = {access.argument for access in schedule.prefetch_l2}
    moves = next(a for a in found.accesses() if a.argument == weights).coefficients
    (blocks,) = (d for d in found.parallel if moves[d] > 1)
    wanted = schedule.points(blocks) * moves[blocks]
    move = form_of(schedule.prefetch_l2[0].coefficients[loop])
    shares = [move.value({"n": points}) for points in (20, 100, 400)]
    assert shares[0] > shares[1] >= shares[2]
    for share, points in zip(shares, (20, 100, 400), strict=True):
        assert share * points >= wanted // 2


def test_streams_are_fewer_where_shares_shrink(opened: Callable[[int], Kernel]) -> None:
    """One has a line for the hint, where it has half a line of a share that is known."""
    found = opened(20)
    schedule = for_any_size(found, choose(for_the_hint(found), AVX512), AVX512)
    points = [(d, 20) for d, n in enumerate(found.extents) if is_open(n)]
    known = replace(found, extents=for_the_hint(found).extents, about=tuple(points))
    halves = with_prefetches(known, AVX512, schedule).prefetch_l2
    assert 0 < len(schedule.prefetch_l2) < len(halves)
