"""SDPA and RotaryEmbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.attention.scaled_dot_product import (
    MOST_PARTS,
    MOST_SCORES,
    attended_array,
    heads_at_once,
)
from ncc.dialects.ncnn.layer import LayerError
from tests.crossed import crossed

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]


@pytest.mark.layer("SDPA", "RotaryEmbed")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Results are what ncnn recorded.

    The wheel differs in the keys that it hands out and takes back: they are blocked for its own
    kernels. Attention over them is the same.
    """
    check_layer(case)


def column(*numbers: float) -> Array:
    """One head of rows of one feature."""
    return np.array(numbers, np.float32).reshape(1, -1, 1)


def test_equal_keys_mix_all_values(check_layer: Check) -> None:
    """Where all keys are equal, each row of the result is the mean of the values."""
    inputs = [column(1, 2), column(3, 3), column(2, 6)]
    check_layer("SDPA", {}, inputs, expected=[column(4, 4)])


@pytest.mark.parametrize("past", [(0,), (1, 0, 1), (1, 1, 1)])
def test_a_cache_comes_first(past: tuple[int, ...], check_layer: Check) -> None:
    """Keys and values of earlier runs stand before those of this one; an empty cache has none."""
    held = np.full(past, 9, np.float32)
    rows = held.reshape(-1).tolist()
    inputs = [column(0), column(3, 3), column(2, 6), held, held]
    values = [*rows, 2, 6]
    expected = [column(float(np.mean(values))), column(*rows, 3, 3), column(*values)]
    check_layer("SDPA", {"kv_cache": 1}, inputs, expected=expected)


@pytest.mark.parametrize("heads", [None, 1, 4])
def test_heads_share_keys_and_a_mask_hides(heads: int | None, check_layer: Check) -> None:
    """Two heads of the query ask each head of the keys; a mask is for all heads, or one a head."""
    q, k = np.zeros((4, 2, 1), np.float32), np.zeros((2, 2, 1), np.float32)
    v = np.array([[1, 2], [3, 4]], np.float32).reshape(2, 2, 1)
    mask = np.array([[0, -np.inf], [-np.inf, 0]], np.float32)
    expected = v[[0, 0, 1, 1]]
    shown = mask if heads is None else np.stack([mask] * heads)
    if heads == 4:
        shown[3] = shown[3][::-1]
        expected[3] = expected[3][::-1]
    check_layer("SDPA", {"attn_mask": 1}, [q, k, v, shown], expected=[expected])


@pytest.mark.parametrize(("rows", "masks"), crossed([250, 300, 512], [0, 1, 6]))
def test_many_scores_are_computed_in_parts(rows: int, masks: int, check_layer: Check) -> None:
    """Some heads that share keys, those of one such head, or rows of one: with the same results."""
    assert 4 * 250**2 < MOST_SCORES < 4 * 300**2 and 2 * 300**2 < MOST_SCORES < 2 * 512**2
    random = np.random.default_rng(rows)
    shapes = [(6, rows, 5), (3, rows, 5), (3, rows, 7)] + [(masks, rows, rows)] * bool(masks)
    inputs = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    q, k, v, *mask = inputs
    expected = attended_array(q, k, v, mask[0] if mask else None, 5**-0.5)
    check_layer("SDPA", {"attn_mask": int(masks > 0)}, inputs, expected=[expected])


def test_scales(check_layer: Check) -> None:
    """Products are divided by the root of the features, or multiplied by the scale."""
    q, k = np.ones((1, 1, 4), np.float32), np.zeros((1, 2, 4), np.float32)
    k[0, 1] = np.log(3) / 2
    v = column(0, 4)
    check_layer("SDPA", {}, [q, k, v], expected=[column(3)])
    check_layer("SDPA", {"scale": 0.5}, [q, k, v], expected=[column(3)])


@pytest.mark.parametrize(
    ("params", "shapes", "message"),
    [
        ({}, [(1, 2, 3)] * 4, "there are 3"),
        ({"kv_cache": 1}, [(1, 2, 3)] * 3, "there are 5"),
        ({}, [(2, 3)] * 3, "the query is"),
        ({}, [(1, 2, 3), (1, 2, 4), (1, 2, 3)], "differ in their features"),
        ({}, [(1, 2, 3), (1, 2, 3), (1, 4, 3)], "differ in their heads or rows"),
        ({}, [(3, 2, 3), (2, 2, 3), (2, 2, 3)], "cannot be shared by 3"),
        ({"attn_mask": 1}, [(1, 2, 3)] * 3 + [(2, 3)], r"must be \(2, 2\)"),
        ({"kv_cache": 1}, [(1, 2, 3)] * 4 + [(1, 3, 3)], "the caches .* differ in their rows"),
        ({"kv_cache": 1}, [(1, 2, 3)] * 4 + [(1, 2, 4)], r"must be \(1, rows, 3\)"),
        ({"kv_cache": 1}, [(1, 2, 3)] * 3 + [(2, 3)] * 2, r"must be \(1, rows, 3\)"),
    ],
)
def test_refuses(
    params: dict[str, int], shapes: Sequence[tuple[int, ...]], message: str, check_layer: Check
) -> None:
    """Counts and shapes that do not fit."""
    inputs = [np.zeros(shape, np.float32) for shape in shapes]
    with pytest.raises(LayerError, match=message):
        check_layer("SDPA", params, inputs, outputs=3 if params.get("kv_cache") else 1)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_turns_pairs(interleaved: int, check_layer: Check) -> None:
    """A quarter turn takes (x, y) to (-y, x)."""
    x = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 4)
    turned = [-2, 1, -4, 3] if interleaved else [-3, -4, 1, 2]
    cos, sin = np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32)
    expected = np.array(turned, np.float32).reshape(1, 1, 4)
    params = {"interleaved": interleaved}
    check_layer("RotaryEmbed", params, [x, cos, sin], expected=[expected])
    check_layer("RotaryEmbed", params, [x[0], cos, sin], expected=[expected[0]])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(1, 2, 3), (2, 1), (2, 1)], "pairs of features"),
        ([(1, 2, 4), (2, 4), (2, 2)], "the cosines are"),
        ([(1, 2, 4), (2, 2), (1, 2)], "the sines are"),
    ],
)
def test_rotary_refuses(
    shapes: Sequence[tuple[int, ...]], message: str, check_layer: Check
) -> None:
    """Features without a partner, angles that are not one a pair."""
    with pytest.raises(LayerError, match=message):
        check_layer("RotaryEmbed", {}, [np.zeros(shape, np.float32) for shape in shapes])


def test_many_heads_are_computed_in_few_parts() -> None:
    """However many scores each part has then."""
    assert heads_at_once(2 * MOST_PARTS + 1, MOST_SCORES) == 3
    assert heads_at_once(2 * MOST_PARTS + 1, MOST_SCORES // 4) == 4
