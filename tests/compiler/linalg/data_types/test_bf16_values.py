"""Halves of values: two bfloat16 that add up to them, in the order that matrix tiles read."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.data_types.bf16_values import Bf16Values, Channels
from ncc.compiler.linalg.rewrite.insert import tensor_of
from ncc.dialects.bfloat16 import bf16_pairs, from_bfloat16
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.tile import TILE_K
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu
from tests.structured.evaluate import evaluate_value

BLOCKS, ROWS, PLANES = Channels.BLOCKS, Channels.ROWS, Channels.PLANES


def bf16_pairs_of(array: Array, channels: Channels, count: int) -> Array:
    """What is made of a constant, as numbers (k_tiles, points .., 2, 32)."""
    x = Builder(Block()).weight(WeightAttr.of(array))
    found = evaluate_value(Bf16Values().of(x.value, channels, count).value)
    return from_bfloat16(found) if found.dtype == np.uint16 else found.astype(np.float32)


@pytest.mark.parametrize("count", [64, 48, 40], ids=["pairs", "a block alone", "half a block"])
@pytest.mark.parametrize("channels", [BLOCKS, ROWS, PLANES], ids=lambda channels: channels.name)
def test_the_order_of_bf16_pairs(channels: Channels, count: int) -> None:
    """Channel by channel, however they lie; behind the last one are zeros."""
    image = np.random.default_rng(0).standard_normal((5, count)).astype(np.float32)
    whole = np.zeros((5, -(-count // TILE_K) * TILE_K), np.float32)
    whole[:, :count] = image
    if channels is BLOCKS:  # what blocks hold past their channels may be anything
        filled = np.full((5, -(-count // 16) * 16), 9.0, np.float32)
        filled[:, :count] = image
        given = np.ascontiguousarray(filled.reshape(5, -1, 16).transpose(1, 0, 2))
    else:
        given = image if channels is ROWS else np.ascontiguousarray(image.T)
    parts = np.stack([from_bfloat16(half) for half in bf16_pairs(whole)], 1)
    expected = parts.reshape(5, 2, -1, TILE_K).transpose(2, 0, 1, 3)
    np.testing.assert_array_equal(bf16_pairs_of(given, channels, count), expected)


@pytest.mark.parametrize("border", [0.0, 1.0])
def test_rows_of_windows(border: float) -> None:
    """Channels of an element side by side, with borders of zeros or of other numbers; behind a row
    are zeros, as many as a product sums over.
    """
    planes = np.random.default_rng(0).standard_normal((3, 4, 7)).astype(np.float32)
    b = Builder(Block())
    x = b.pad(b.weight(WeightAttr.of(planes)), [0, 1, 2], [0, 0, 1], border)
    found = from_bfloat16(evaluate_value(Bf16Values().of(x.value, Channels.WINDOW_ROWS, 3).value))
    image = np.pad(planes, [(0, 0), (1, 0), (2, 1)], constant_values=border)
    rows = np.pad(image.transpose(1, 2, 0).reshape(5, 30), [(0, 0), (0, TILE_K)])
    expected = np.stack([from_bfloat16(half) for half in bf16_pairs(rows)], 1)
    np.testing.assert_array_equal(found, expected)


def test_what_is_not_finite_stays_so() -> None:
    """So does what is rounded to infinity: no finite number is made of any of them."""
    row = np.zeros((1, TILE_K), np.float32)
    row[0, :4] = np.inf, -np.inf, 3.4e38, np.nan
    high, rest = bf16_pairs_of(row, ROWS, TILE_K)[0, 0]
    np.testing.assert_array_equal(high[:4], [np.inf, -np.inf, np.inf, np.nan])
    assert not np.isfinite(rest[:4]).any() and not rest[4:].any()


def test_a_nan_of_all_bits_stays_one() -> None:
    """Rounded by an addition to its bits, it is a number; what that leaves is none."""
    row = np.full((1, TILE_K), -1, np.int32).view(np.float32)
    _, rest = bf16_pairs_of(row, ROWS, TILE_K)[0, 0]
    assert np.isnan(rest).all()


def test_half_a_unit_is_rounded_up() -> None:
    """Away from zero, where a conversion would round to even; both leave as much."""
    row = np.zeros((1, TILE_K), np.float32)
    row[0, :2] = 1 + 2**-8, -1 - 2**-8
    high, rest = bf16_pairs_of(row, ROWS, TILE_K)[0, 0]
    assert high[:2].tolist() == [1 + 2**-7, -1 - 2**-7] and rest[:2].tolist() == [-(2**-8), 2**-8]


def blocks(*extents: int) -> tuple[Builder, Tensor]:
    """A computed image of blocks of channels."""
    block = Block(arg_types=[TensorType(f32, [*extents, 16])])
    b = Builder(block)
    return b, relu(b, tensor_of(block.args[0]))


def makers(b: Builder) -> list[GenericOp]:
    """What makes bf16 pairs."""
    return [op for op in b.block.ops if isinstance(op, GenericOp) and LinalgOp(op).bf16_split]


def test_halves_are_made_once() -> None:
    """For all who read the value so."""
    _, x = blocks(2, 3)
    split = Bf16Values()
    assert split.of(x.value, BLOCKS, 32) is split.of(x.value, BLOCKS, 32)
    assert split.of(x.value, BLOCKS, 30) is not split.of(x.value, BLOCKS, 32)


def test_halves_are_made_where_the_value_is() -> None:
    """In front of the pads, concats and slices of its image, which are those of bf16 pairs then."""
    b, x = blocks(2, 3)
    padded = b.concat([b.pad(x, (0, 1, 0), (0, 2, 0)), b.slice(x, (0, 1, 0), (2, 2, 16))], 1)
    made = Bf16Values().of(padded.value, BLOCKS, 32)
    assert made.shape == (1, 8, 2, TILE_K)
    views = [type(operand.owner) for operand in made.value.owner.operands]  # type: ignore[union-attr]
    assert views == [tensor.PadOp, tensor.ExtractSliceOp]


def test_a_border_of_an_odd_block() -> None:
    """The last block has zeros for another one, in front of the pad of its image."""
    b, x = blocks(3, 4)
    made = Bf16Values().of(b.pad(x, (0, 1, 0), (0, 1, 0)).value, BLOCKS, 44)
    assert made.shape == (2, 6, 2, TILE_K) and isinstance(made.value.owner, tensor.PadOp)
    (owner,) = makers(b)
    split, axis = LinalgOp(owner).bf16_source
    completed = split.value.owner
    assert isinstance(completed, tensor.PadOp) and completed.source is x.value and axis == 0


@pytest.mark.parametrize(
    "what", ["another number", "half a pair", "more blocks", "some of the blocks"]
)
def test_views_that_halves_cannot_show(what: str) -> None:
    """A border of ones has bf16 pairs of its own; a single block is half a k-tile."""
    b, x = blocks(1 if what == "half a pair" else 4, 3)
    linalg_op = {
        "another number": lambda: b.pad(x, (0, 1, 0), (0, 1, 0), 1.0),
        "more blocks": lambda: b.pad(x, (1, 0, 0), (1, 0, 0)),
        "half a pair": lambda: b.concat([x, x], 0),
        "some of the blocks": lambda: b.slice(x, (1, 0, 0), (2, 3, 16)),
    }[what]()
    made = Bf16Values().of(linalg_op.value, BLOCKS, linalg_op.shape[0] * 16)
    (owner,) = makers(b)
    assert owner.inputs[0] is linalg_op.value and made.shape == (
        linalg_op.shape[0] // 2,
        *linalg_op.shape[1:2],
        2,
        TILE_K,
    )


@pytest.mark.parametrize("count", [64, 80, 40, 20], ids=["pairs", "odd", "ragged", "a pair"])
@pytest.mark.parametrize("linalg_op", ["none", "concat", "border of a concat"])
def test_groups_of_blocks(count: int, linalg_op: str) -> None:
    """The k-tiles of each begin anew; behind its channels are zeros, whatever its blocks hold.
    Where groups are an axis of what is computed, and joined behind, bf16 pairs are made of that.
    """
    size, channels = -(-count // 16), np.arange(count)
    given = np.full((3, size * 16, 5), np.nan, np.float32)
    given[:, :count] = np.random.default_rng(0).standard_normal((3, count, 5))
    image = given.reshape(3, size, 16, 5).transpose(0, 1, 3, 2)
    b = Builder(Block())
    if linalg_op == "none":
        x = b.weight(WeightAttr.of(image.reshape(-1, 5, 16)))
    else:
        x = b.collapse(relu(b, b.weight(WeightAttr.of(image))), [[0, 1], [2], [3]])
        given = np.where(given < 0, 0, given)
    if linalg_op == "border of a concat":
        x = b.pad(x, (0, 1, 0), (0, 0, 0))
        given = np.pad(given, [(0, 0), (0, 0), (1, 0)])
    made = Bf16Values().of(x.value, BLOCKS, count, 3)
    points, k_tiles = given.shape[2], -(-count // TILE_K)
    whole = np.zeros((3, points, k_tiles * TILE_K), np.float32)
    whole[:, :, channels] = given[:, channels].transpose(0, 2, 1)
    parts = np.stack([from_bfloat16(half) for half in bf16_pairs(whole)], 2)
    expected = parts.reshape(3, points, 2, k_tiles, TILE_K).transpose(0, 3, 1, 2, 4)
    found = from_bfloat16(evaluate_value(made.value))
    np.testing.assert_array_equal(found, expected.reshape(-1, *found.shape[1:]))
    apart = linalg_op != "none" or (size % 2 == 1)
    assert [LinalgOp(owner).bf16_source[1] for owner in makers(b)] == [int(apart)]


def test_groups_of_whole_pairs_are_k_tiles_like_any() -> None:
    """For who reads all channels at once, too; half a pair of a group would not be."""
    block = Block(arg_types=[TensorType(f32, [2, 4, 3, 16]), TensorType(f32, [2, 3, 3, 16])])
    b = Builder(block)
    even, odd = (b.collapse(relu(b, tensor_of(x)), [[0, 1], [2], [3]]) for x in block.args)
    split = Bf16Values()
    assert split.of(even.value, BLOCKS, 128).shape == (4, 3, 2, TILE_K)
    assert split.of(odd.value, BLOCKS, 96).shape == (3, 3, 2, TILE_K)
    assert [LinalgOp(owner).bf16_source[1] for owner in makers(b)] == [1, 0]
