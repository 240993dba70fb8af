"""Sorting candidates and suppressing those that overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.dialects.test import TestOp

from ncc.dialects.comprehension import Tensor
from ncc.dialects.imperative import Code
from ncc.dialects.ncnn.suppression import Sorter, by_score, kept_of, suppress

RunCode = Callable[..., list[np.ndarray[Any, Any]]]


def operand(*shape: int) -> Tensor:
    return Tensor(TestOp(result_types=[TensorType(f32, shape)]).results[0], shape)


def test_overlap_is_intersection_over_union() -> None:
    """A third of two boxes is shared: kept at a threshold of 0.5, dropped at 0.3."""
    boxes = np.array([[0, 0, 2, 1], [1, 0, 3, 1], [5, 5, 6, 6]], np.float32)
    assert kept_of(boxes, 0.5).tolist() == [0, 1, 2]
    assert kept_of(boxes, 0.3).tolist() == [0, 2]


def test_what_was_dropped_drops_nothing() -> None:
    """Only boxes that were kept suppress others."""
    boxes = np.array([[0, 0, 4, 1], [1, 0, 5, 1], [3.5, 0, 7.5, 1]], np.float32)
    assert kept_of(boxes, 0.2).tolist() == [0, 2]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 33])
def test_statements_sort_as_numpy_does(count: int, run_code: RunCode) -> None:
    """By falling score, equal scores in their order, any number of candidates."""
    scores = np.random.default_rng(count).integers(0, 9, 40).astype(np.float32)
    code = Code([operand(40)], [((40,), i64)])
    sorter = Sorter(code, 40)
    sorter.sort(code.inputs[0], code.variable(count).value)
    with code.range(count) as i:
        code.results[0][i] = sorter.order[i]
    (order,) = run_code(code.operation(), [scores])
    assert order[:count].tolist() == by_score(scores[:count]).tolist()


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.7])
def test_statements_suppress_as_numpy_does(threshold: float, run_code: RunCode) -> None:
    """The same boxes are kept."""
    generator = np.random.default_rng(5)
    low = generator.random((30, 2))
    boxes = np.concatenate([low, low + generator.random((30, 2))], 1).astype(np.float32)
    code = Code([operand(30, 4)], [((30,), i64), ((1,), i64)])
    order = code.scratch((30,), i64)
    with code.range(30) as i:
        order[i] = i
    count = code.variable(30).value
    kept = suppress(code, code.inputs[0], order, count, code.results[0], threshold)
    code.results[1][0] = kept.value
    picked, number = run_code(code.operation(), [boxes])
    assert picked[: number[0]].tolist() == kept_of(boxes, threshold).tolist()


def test_boxes_without_an_area_hide_nothing(run_code: RunCode) -> None:
    """Two of them overlap by 0 / 0, which is above no threshold."""
    boxes = np.array([[1, 1, 1, 1], [0, 0, 4, 1], [1, 1, 1, 1], [0, 0, 4, 2]] * 5, np.float32)
    code = Code([operand(20, 4)], [((18,), i64), ((1,), i64)])
    order = code.scratch((20,), i64)
    with code.range(20) as i:
        order[i] = i
    count = code.variable(20).value
    kept = suppress(code, code.inputs[0], order, count, code.results[0], 0.4)
    code.results[1][0] = kept.value
    picked, number = run_code(code.operation(), [boxes])
    expected = [0, 1, *range(2, 20, 2)]
    assert kept_of(boxes, 0.4).tolist() == expected
    assert picked[: number[0]].tolist() == expected


def test_statements_stop_where_enough_is_kept(run_code: RunCode) -> None:
    """As many as there is memory for, though none hides another."""
    boxes = np.arange(30, dtype=np.float32)[:, None] * 2 + np.array([0, 0, 1, 1], np.float32)
    code = Code([operand(30, 4)], [((19,), i64), ((1,), i64)])
    order = code.scratch((30,), i64)
    with code.range(30) as i:
        order[i] = 29 - i
    count = code.variable(30).value
    kept = suppress(code, code.inputs[0], order, count, code.results[0], 0.4)
    code.results[1][0] = kept.value
    picked, number = run_code(code.operation(), [boxes])
    assert number[0] == 19
    assert picked.tolist() == list(range(29, 10, -1))


def test_extreme_scores_have_their_places(run_code: RunCode) -> None:
    """Infinities at the ends, zeros of both signs are equal, NaN of both signs come last."""
    scores = np.array(
        [np.nan, -0.0, 1, -np.inf, 0.0, -1, np.inf, np.nan, -3e38, 1e-30, -1e-30, 3e38, -0.0],
        np.float32,
    )
    scores[7] = np.copysign(np.float32(np.nan), np.float32(-1))
    code = Code([operand(13)], [((13,), i64)])
    sorter = Sorter(code, 13)
    sorter.sort(code.inputs[0], code.variable(13).value)
    with code.range(13) as i:
        code.results[0][i] = sorter.order[i]
    (order,) = run_code(code.operation(), [scores])
    assert order.tolist() == [6, 11, 2, 9, 1, 4, 12, 10, 5, 8, 3, 0, 7]
    assert order.tolist() == by_score(scores).tolist()
