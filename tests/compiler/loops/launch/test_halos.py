"""Every cell of a border is in one box, and no cell of the value is in any."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import f32

from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.loops.launch.halos import Box, boxes
from ncc.compiler.plan import Buffer, Halo, Kind, Subview
from ncc.dialects.size import Size, assuming, form_of
from ncc.dialects.structured import empty


def halo_of(
    shape: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...], gap: int = 0
) -> Halo:
    """A frame in memory of its own, each row `gap` cells longer than it need be."""
    value = empty(shape, f32).tensor
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n + gap)
    buffer = Buffer(Kind.ARENA, 4 + strides[0] * shape[0], 4, 0, value)
    return Halo(Subview(buffer, 2, tuple(strides)), shape, low, high, 0.0)


def at(box: Box, h: int, w: int) -> Box:
    """The box in a network of that size."""
    return changed(box, lambda size: size.form.value({"h": h, "w": w}))


def counted(halo: Halo, found: Iterable[Box]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """How many boxes each cell is in; memory beside the frame is in none."""
    memory = np.zeros(halo.subview.buffer.elements, np.int64)
    for box in found:
        strides = [8 * n for n in box.subview.strides]
        as_strided(memory[box.subview.offset :], box.extents, strides)[...] += 1
    inside = as_strided(
        memory[halo.subview.offset :], halo.shape, [8 * n for n in halo.subview.strides]
    )
    assert memory.sum() == inside.sum()
    return inside.copy()


@pytest.mark.parametrize("seed", range(60))
def test_every_cell_once(seed: int) -> None:
    """Of random frames, dense ones and others."""
    draw = random.Random(seed)
    rank = draw.randint(1, 4)
    low = tuple(draw.choice([0, 0, 1, 2]) for _ in range(rank))
    high = tuple(draw.choice([0, 0, 1, 3]) for _ in range(rank))
    own = [draw.randint(1, 4) for _ in range(rank)]
    shape = tuple(map(sum, zip(low, own, high, strict=True)))
    halo = halo_of(shape, low, high, draw.choice([0, 0, 5]))
    expected = np.ones(shape, np.int64)
    expected[tuple(slice(lo, lo + n) for lo, n in zip(low, own, strict=True))] = 0
    np.testing.assert_array_equal(counted(halo, boxes(halo)), expected)


H, W = Size.symbol("h", 9), Size.symbol("w", 5)


@pytest.mark.parametrize("seed", range(60))
def test_boxes_for_all_sizes(seed: int) -> None:
    """Of random frames whose sizes depend on the inputs, also where a side has no border then."""
    draw = random.Random(seed)
    rank = draw.randint(1, 4)
    low = [draw.choice([0, 0, 1, 2, W - 1]) for _ in range(rank)]
    high = [draw.choice([0, 0, 1, W // 2, H]) for _ in range(rank)]
    own = [draw.choice([1, 3, H, W, (H + 1) // 2]) for _ in range(rank)]
    shape = [sum(sides) for sides in zip(low, own, high, strict=True)]
    gap = draw.choice([0, 0, 5])
    with assuming() as assumed:
        found = list(boxes(halo_of(tuple(shape), tuple(low), tuple(high), gap)))
    assert not assumed
    for h, w in ((1, 1), (2, 1), (3, 4)):
        rows, before, behind, inside = (
            tuple(form_of(n).value({"h": h, "w": w}) for n in numbers)
            for numbers in (shape, low, high, own)
        )
        halo, expected = halo_of(rows, before, behind, gap), np.ones(rows, np.int64)
        inner = zip(before, inside, strict=True)
        expected[tuple(slice(lo, lo + n) for lo, n in inner)] = 0
        boxes_here = [at(box, h, w) for box in found]
        np.testing.assert_array_equal(counted(halo, boxes_here), expected)


def test_neighbouring_rows_share_a_run() -> None:
    """Between rows, between planes, and both ends: no more boxes."""
    halo = halo_of((5, 6, 6, 16), (0, 1, 1, 0), (0, 1, 1, 0))
    found = [box.extents for box in boxes(halo)]
    assert found == [(5, 3, 32), (4, 224), (112,), (112,)]
