"""ArgMax: where the largest values are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.code import CodeOp
from ncc.dialects.ncnn.layer import LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Expand = Callable[..., Sequence[Any]]
RunCode = Callable[..., list[Array]]


@pytest.mark.layer("ArgMax")
def test_recorded(case: Any, check_layer: Check) -> None:
    """ArgMax is what ncnn recorded."""
    check_layer(case)


X = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], np.float32)


def row(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize("topk", [1, 2, 4])
def test_places_of_the_largest(topk: int, check_layer: Check) -> None:
    """In falling order; of equal values the last one comes first."""
    values, places = row(9, 6, 5, 5)[:topk], row(5, 7, 8, 4)[:topk]
    check_layer("ArgMax", {"topk": topk}, [X], expected=[places[None]])
    params = {"topk": topk, "out_max_val": 1}
    check_layer("ArgMax", params, [X], expected=[np.stack([values, places])])


@pytest.mark.parametrize("out_max_val", [0, 1])
def test_many_are_sorted(
    out_max_val: int, check_layer: Check, expand: Expand, run_code: RunCode
) -> None:
    """All ten of ten, as statements."""
    params = {"topk": 10, "out_max_val": out_max_val}
    rows = np.stack([row(9, 6, 5, 5, 4, 3, 3, 2, 1, 1), row(5, 7, 8, 4, 2, 9, 0, 6, 3, 1)])
    expected = rows if out_max_val else rows[1:]
    check_layer("ArgMax", params, [X], expected=[expected])
    code = next(op for op in expand("ArgMax", params, [X.shape]) if isinstance(op, CodeOp))
    (found,) = run_code(code, [X, np.arange(10)])
    np.testing.assert_array_equal(found, expected)


def test_values_of_minus_infinity_have_places(check_layer: Check) -> None:
    """They are the smallest, but they are values."""
    x = np.full(3, -np.inf, np.float32)
    check_layer("ArgMax", {"topk": 3}, [x], expected=[row(2, 1, 0)[None]])


def test_channels_begin_at_multiples_of_four(check_layer: Check) -> None:
    """Places in (c, h, w) count the gaps that ncnn has behind a channel; a matrix has none."""
    x = np.zeros((2, 3, 3), np.float32)
    x[1, 2, 0], x[0, 0, 1] = 2, 1
    check_layer("ArgMax", {"topk": 2}, [x], expected=[row(12 + 6, 1)[None]])
    check_layer("ArgMax", {"topk": 2}, [x.reshape(2, 9)], expected=[row(9 + 6, 1)[None]])


def test_refuses_more_than_there_are(check_layer: Check) -> None:
    """topk is at least one, and at most all."""
    for topk in (0, 11):
        with pytest.raises(LayerError) as caught:
            check_layer("ArgMax", {"topk": topk}, [X])
        assert caught.value.param == "topk"
