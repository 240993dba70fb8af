"""Every cell of a border is in one box, and no cell of the value is in any."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, f32

from ncc.compiler.loops.launch.halos import boxes
from ncc.compiler.plan import Buffer, Halo, Kind, Subview


def halo_of(
    shape: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...], gap: int = 0
) -> Halo:
    """A frame in memory of its own, each row `gap` cells longer than it need be."""
    value = tensor.EmptyOp([], TensorType(f32, shape)).tensor
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n + gap)
    buffer = Buffer(Kind.ARENA, 4 + strides[0] * shape[0], 4, 0, value)
    return Halo(Subview(buffer, 2, tuple(strides)), shape, low, high, 0.0)


def counted(halo: Halo) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """How many boxes each cell is in; memory beside the frame is in none."""
    memory = np.zeros(halo.subview.buffer.elements, np.int64)
    for box in boxes(halo):
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
    np.testing.assert_array_equal(counted(halo), expected)


def test_neighbouring_rows_share_a_run() -> None:
    """Between rows, between planes, and both ends: no more boxes."""
    halo = halo_of((5, 6, 6, 16), (0, 1, 1, 0), (0, 1, 1, 0))
    found = [box.extents for box in boxes(halo)]
    assert found == [(5, 3, 32), (4, 224), (112,), (112,)]
