"""Sorting candidates and suppressing those that overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.dialects.test import TestOp

from ncc.dialects.index_notation import Tensor
from ncc.dialects.ncnn.detection.suppression import Found, Sorter, by_score, kept_of, suppress
from ncc.dialects.statements import Code, Value

Array = np.ndarray[Any, Any]
RunCode = Callable[..., list[Array]]


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


def suppressed(run_code: RunCode, boxes: Array, threshold: float, most: int) -> Array:
    """The ranks of the sorted boxes that statements keep; their corners are kept beside them."""
    kinds = [((most,), i64), ((4, most), f32), ((1,), i64)]
    code = Code([operand(*boxes.shape)], kinds)
    picked, corners, number = code.results

    def box_of(rank: Value) -> list[Value]:
        return [code.inputs[0][rank, side] for side in range(4)]

    count = code.variable(len(boxes)).value
    number[0] = suppress(code, box_of, count, picked, corners, threshold).value
    ranks, sides, (kept,) = run_code(code.operation(), [boxes])
    np.testing.assert_array_equal(sides[:, :kept].T, boxes[ranks[:kept]])
    return ranks[:kept]


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.7])
def test_statements_suppress_as_numpy_does(threshold: float, run_code: RunCode) -> None:
    """The same boxes are kept."""
    generator = np.random.default_rng(5)
    low = generator.random((30, 2))
    boxes = np.concatenate([low, low + generator.random((30, 2))], 1).astype(np.float32)
    picked = suppressed(run_code, boxes, threshold, most=30)
    assert picked.tolist() == kept_of(boxes, threshold).tolist()


def test_boxes_without_an_area_hide_nothing(run_code: RunCode) -> None:
    """Two of them overlap by 0 / 0, which is above no threshold."""
    boxes = np.array([[1, 1, 1, 1], [0, 0, 4, 1], [1, 1, 1, 1], [0, 0, 4, 2]] * 5, np.float32)
    expected = [0, 1, *range(2, 20, 2)]
    assert kept_of(boxes, 0.4).tolist() == expected
    assert suppressed(run_code, boxes, 0.4, most=18).tolist() == expected


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_boxes_that_are_no_boxes_are_as_in_numpy(odd: float, run_code: RunCode) -> None:
    """One side is no number, or infinite: the same boxes are kept."""
    boxes = np.array([[0, 0, 4, 4], [1, 0, 5, 4]] * 20, np.float32)
    boxes[np.arange(20, 36, 2), np.arange(8) % 4] = odd
    boxes[np.arange(5, 13, 2), np.arange(4)] = odd
    with np.errstate(invalid="ignore"):
        expected = kept_of(boxes, 0.5).tolist()
    assert suppressed(run_code, boxes, 0.5, most=40).tolist() == expected


def test_statements_stop_where_enough_is_kept(run_code: RunCode) -> None:
    """As many as there is memory for, though none hides another."""
    boxes = np.arange(30, dtype=np.float32)[:, None] * 2 + np.array([0, 0, 1, 1], np.float32)
    assert suppressed(run_code, boxes, 0.4, most=19).tolist() == list(range(19))


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


def test_what_turns_found_is_joined(run_code: RunCode) -> None:
    """By score, then by iteration. Memory after an iteration's detections is not read."""
    scores = np.array([3, 5, 9, 9, 9, 9, 5, 3, 7], np.float32)
    counts = np.array([2, 0, 3])
    whole = Tensor(TestOp(result_types=[TensorType(i64, [3])]).results[0], (3,))
    code = Code([operand(9), whole], [((9,), i64), ((1,), i64)])
    found = Found(code, *code.inputs)
    with code.range(found.count) as rank:
        code.results[0][rank] = found[rank]
    code.results[1][0] = found.count
    places, (number,) = run_code(code.operation(), [scores, counts])
    assert places[:number].tolist() == [8, 1, 6, 0, 7]
