"""Weights made of others hold the numbers that they promise."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import bf16

from ncc.dialects.bfloat16 import from_bfloat16, to_bfloat16
from ncc.dialects.weights.derived import (
    Bf16Pairs,
    Bits,
    Blocked,
    Folded,
    Joined,
    OfRows,
    Paired,
    Phases,
    Surplus,
    Taken,
    Transposed,
    Unstrided,
)
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.stored import Encoding, Stored
from ncc.dialects.weights.weight import WeightAttr


@pytest.mark.parametrize("columns", [1, 4, 5])
def test_paired(columns: int) -> None:
    """Columns become rows, the halves of which share an int32; zeros where one is missing."""
    values = np.random.default_rng(0).integers(-128, 128, (2, 3, columns)).astype(np.int8)
    plain = WeightAttr.of(values).data
    paired = Paired(plain).weights
    half = (columns + 1) // 2
    assert (str(plain.dtype), str(paired.dtype)) == ("int8", "int32")
    assert paired.shape == (2, half, 3)
    held = paired.array()
    assert held.dtype == np.int32
    halves = np.ascontiguousarray(held).view(np.int16).reshape(2, half, 3, 2)
    both = np.concatenate([halves[..., 0], halves[..., 1]], axis=1)
    turned = np.pad(values.swapaxes(1, 2), [(0, 0), (0, 2 * half - columns), (0, 0)])
    np.testing.assert_array_equal(both, turned)


def test_bits() -> None:
    """The same bytes, as another type."""
    words = np.array([[3, -1]], np.int32)
    bits = Bits(WeightAttr.of(words.view(np.float32)).data).weights
    assert bits.dtype.name == "int32"
    np.testing.assert_array_equal(bits.array(), words)


@pytest.mark.parametrize("times", [2, 4])
def test_folded(times: int) -> None:
    """The same numbers, but in memory rows of the last block of outputs are side by side."""
    values = np.random.default_rng(0).standard_normal((3, 20, 24)).astype(np.float32)
    blocks = Blocked(WeightAttr.of(values).data, (2, 1), 16).weights
    folded = Folded(blocks, times).weights
    assert folded.shape == blocks.shape == (3, 2, 2, 16, 16)
    np.testing.assert_array_equal(folded.array(), blocks.array())
    out = np.full(folded.shape, np.nan, np.float32)
    folded.write(out)
    np.testing.assert_array_equal(out[:, 0], blocks.array()[:, 0])
    for k in range(24):
        row = out[:, 1, k // 16, k % 16 // times, k % times :: times]
        np.testing.assert_array_equal(row[:, :4], values[:, 16:, k])
    assert not out[:, 1, :, 16 // times :].any()


def test_only_blocks_of_both_are_folded() -> None:
    """Of outputs alone, there are no inputs to put side by side."""
    blocks = Blocked(WeightAttr.of(np.ones((20, 24), np.float32)).data, (0,), 16).weights
    with pytest.raises(TypeError, match="inputs and outputs"):
        Folded(blocks, 2).weights.write(np.zeros(blocks.shape, np.float32))


def test_surplus() -> None:
    """What 128 in place of the other factors comes to; of blocks what it is of plain weights."""
    values = np.random.default_rng(0).integers(-128, 128, (5, 3, 2, 700)).astype(np.int8)
    plain = WeightAttr.of(values).data
    surplus = Surplus(plain, (0,)).weights
    expected = -128 * values.astype(np.int64).sum(axis=(1, 2, 3))
    assert surplus.shape == (5,) and surplus.array().dtype == np.int32
    np.testing.assert_array_equal(surplus.array(), expected)
    blocks = Surplus(Blocked(plain, (1, 0), 4).weights, (0, 5)).weights.array()
    np.testing.assert_array_equal(blocks.ravel(), [*expected, 0, 0, 0])


def test_taken() -> None:
    """Rows in another order, and more often, of the same type; in blocks as well."""
    values = np.arange(12, dtype=np.int8).reshape(3, 2, 2)
    taken = Taken(WeightAttr.of(values).data, (2, 0, 2, 1)).weights
    assert taken.shape == (4, 2, 2) and taken.dtype == np.int8
    np.testing.assert_array_equal(taken.array(), values[[2, 0, 2, 1]])
    blocks = Blocked(taken, (0,), 3).weights.array()
    np.testing.assert_array_equal(blocks[0, ..., 0], values[2])
    np.testing.assert_array_equal(blocks[1, ..., 1], 0)
    stored = Weights(values.shape, Stored("net.bin", 0, Encoding.FP32))
    for axis, parts in ((0, 1), (1, 3)):  # a file holds the rows that stay rows
        assert len(Taken(stored, (1, 0), axis).weights.parts(most=1)) == parts


def test_transposed() -> None:
    """Rows that a file holds one behind the other are read one by one, if they stay rows."""
    values = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    blocks = Blocked(Weights(values.shape, Stored("net.bin", 0, Encoding.FP32)), (0,), 2).weights
    for order, parts in (((0, 2, 1, 3), 2), ((1, 0, 2, 3), 1)):
        made = Transposed(WeightAttr.of(values.reshape(4, 3, 2, 1)).data, order).weights
        assert made.shape == made.array().shape
        np.testing.assert_array_equal(made.array(), values.reshape(4, 3, 2, 1).transpose(order))
        assert len(Transposed(blocks, order).weights.parts(most=1)) == parts


def test_joined() -> None:
    """Groups of a joined one lie along its diagonal, and zeros beside them."""
    values = np.arange(1, 25, dtype=np.float32).reshape(4, 1, 2, 3)
    joined = Joined(WeightAttr.of(values).data, 2).weights
    assert joined.shape == (2, 2, 4, 3)
    made = joined.array()
    np.testing.assert_array_equal(made[1, 0], [*values[2, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(made[1, 1], [[0, 0, 0], [0, 0, 0], *values[3, 0]])


def test_phases() -> None:
    """Taps of phases are windows of channels; a place without one holds a zero."""
    values = np.arange(1, 25, dtype=np.float32).reshape(2, 2, 3, 2)
    phases = Phases(WeightAttr.of(values).data, (((2, 0), (1, -1)), ((1, 0),))).weights
    assert phases.shape == (4, 2, 2, 2)
    made = phases.array().reshape(2, 2, 2, 2, 2)
    np.testing.assert_array_equal(made[:, 0], values[:, :, ::-2, ::-1])
    np.testing.assert_array_equal(made[:, 1, :, 0], values[:, :, 1, ::-1])
    np.testing.assert_array_equal(made[:, 1, :, 1], 0)


def test_unstrided() -> None:
    """A channel of each phase of an input, with zeros for taps that the window has not."""
    values = np.arange(1, 51, dtype=np.float32).reshape(2, 1, 5, 5)
    unstrided = Unstrided(WeightAttr.of(values).data, 2).weights
    assert unstrided.shape == (2, 4, 3, 3)
    made = unstrided.array()
    np.testing.assert_array_equal(made[:, 0], values[:, 0, ::2, ::2])
    np.testing.assert_array_equal(made[:, 1, :, :2], values[:, 0, ::2, 1::2])
    np.testing.assert_array_equal(made[:, 2, :2], values[:, 0, 1::2, ::2])
    np.testing.assert_array_equal(made[:, 1, :, 2], 0)
    np.testing.assert_array_equal(made[:, 2, 2], 0)


def test_of_rows() -> None:
    """All inputs of a cell side by side, cell by cell of a window's row."""
    values = np.random.default_rng(0).standard_normal((4, 3, 2, 5)).astype(np.float32)
    made = OfRows(WeightAttr.of(values).data).weights
    assert made.shape == (4, 2, 15)
    for channel in range(3):
        np.testing.assert_array_equal(made.array()[..., channel::3], values[:, channel])


def test_halves() -> None:
    """Each value as two bfloat16, one behind the other in front of the last three axes."""
    values = np.random.default_rng(0).standard_normal((3, 4, 5, 2)).astype(np.float32)
    plain = WeightAttr.of(values).data
    halves = Bf16Pairs(plain).weights
    assert WeightAttr(halves).element_type == bf16 and halves.shape == (3, 2, 4, 5, 2)
    both = from_bfloat16(halves.array())
    np.testing.assert_allclose(both.sum(axis=1), values, rtol=2.0**-17, atol=0)
    np.testing.assert_array_equal(both[:, 0], from_bfloat16(to_bfloat16(values)))
