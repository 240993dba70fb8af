"""MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.attention.scaled_dot_product import MOST_SCORES
from ncc.dialects.ncnn.layer import LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]


@pytest.mark.layer("MultiHeadAttention")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Attention is what ncnn recorded; caches have the layout of the release."""
    check_layer(case)


def identity(size: int) -> list[Array]:
    """Weights that leave rows as they are: four matrices, each with a bias."""
    return [np.eye(size, dtype=np.float32), np.zeros(size, np.float32)] * 4


PARAMS = {"embed_dim": 2, "weight_data_size": 4}


def test_equal_keys_mix_all_values(check_layer: Check) -> None:
    """Where all keys are equal, each row of the result is the mean of the values."""
    q, v = np.ones((3, 2), np.float32), np.array([[1, 2], [3, 6]], np.float32)
    k = np.zeros((2, 2), np.float32)
    expected = np.tile(np.array([2, 4], np.float32), (3, 1))
    check_layer("MultiHeadAttention", PARAMS, [q, k, v], identity(2), expected=[expected])


@pytest.mark.parametrize("rows", [2, isqrt(MOST_SCORES) + 2])
@pytest.mark.parametrize("heads", [None, 1, 2])
def test_a_mask_hides(heads: int | None, rows: int, check_layer: Check) -> None:
    """Minus infinity hides a key; the mask is one for all heads or one a head.

    So it is where some rows of a head are computed by themselves.
    """
    x, v = np.zeros((rows, 2), np.float32), np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
    mask = np.where(np.eye(rows), np.float32(0), np.float32(-np.inf))
    mask = mask if heads is None else np.stack([mask] * heads)
    params = {**PARAMS, "num_heads": 2, "attn_mask": 1}
    check_layer("MultiHeadAttention", params, [x, x, v, mask], identity(2), expected=[v])


def test_heads_see_their_own_features(check_layer: Check) -> None:
    """Two heads of one feature: each asks with its own, by the scale that is given."""
    x = np.array([[1, 0], [0, 1]], np.float32)
    scale = float(np.log(3))
    expected = np.array([[0.75, 0.5], [0.5, 0.75]], np.float32)
    params = {**PARAMS, "num_heads": 2, "scale": scale}
    check_layer("MultiHeadAttention", params, [x], identity(2), expected=[expected])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"embed_dim": 0}, "embed_dim is 0"),
        ({"num_heads": 3}, "not divisible by num_heads 3"),
        ({"weight_data_size": 5}, "not a multiple of embed_dim"),
        ({"quantize_term": 500}, "quantize_term 500 is no form"),
        ({"kv_cache": 1}, "there are 3 to 5"),
        ({"attn_mask": 1}, "there are 2 to 4"),
    ],
)
def test_refuses_params(params: dict[str, int], message: str, check_layer: Check) -> None:
    """Sizes that do not divide, a mask that is missing, what is not there yet."""
    with pytest.raises(LayerError, match=message):
        check_layer("MultiHeadAttention", {**PARAMS, **params}, [np.zeros((2, 2))], identity(2))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3)], r"the query is \(2, 3\)"),
        ([(2, 2), (3, 2), (4, 2)], "differ in their rows"),
    ],
)
def test_refuses_shapes(shapes: Any, message: str, check_layer: Check) -> None:
    """Features or rows that do not fit."""
    with pytest.raises(LayerError, match=message):
        check_layer("MultiHeadAttention", PARAMS, [np.zeros(s) for s in shapes], identity(2))
