"""The detections of an SSD: reference and compiled statements against ncnn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Detect = Callable[..., Array]


@pytest.mark.layer("DetectionOutput")
def test_recorded(case: Any, check_detections: Callable[[Any], None]) -> None:
    """Reference and compiled expansion find what ncnn recorded; its empty blob has no rows."""
    check_detections(case)


PRIORS = np.array([[0, 0, 2, 2], [0, 0, 2, 2.5], [4, 4, 6, 6]], np.float32)
VARIANCES = np.full((3, 4), 0.5, np.float32)
SSD = {"num_class": 3, "nms_threshold": 0.5, "confidence_threshold": 0.25}


def ssd_inputs(scores: Sequence[Sequence[float]]) -> list[Array]:
    both = np.stack([PRIORS.reshape(-1), VARIANCES.reshape(-1)])
    return [np.zeros(12, np.float32), np.array(scores, np.float32).reshape(-1), both]


def test_ssd_suppresses_each_class_by_itself(check_layer: Check, detect: Detect) -> None:
    """Two boxes overlap: of one class the worse is dropped, of two classes both stay."""
    inputs = ssd_inputs([[0, 0.9, 0.3], [0, 0.8, 0.1], [0, 0.2, 0.5]])
    expected = np.array(
        [[1, 0.9, 0, 0, 2, 2], [2, 0.5, 4, 4, 6, 6], [2, 0.3, 0, 0, 2, 2]], np.float32
    )
    check_layer("DetectionOutput", SSD, inputs, expected=[expected])
    np.testing.assert_allclose(detect("DetectionOutput", SSD, inputs), expected, rtol=1e-6)


def test_ssd_moves_and_scales_its_priors(check_layer: Check) -> None:
    """Centres move by variance * location * size, sizes grow by exp(variance * location)."""
    location, confidence, priors = ssd_inputs([[0, 0, 0], [0, 0, 0], [0, 0, 1]])
    location[8:] = [1, 0, 2 * np.log(2), 0]
    expected = np.array([[2, 1, 4, 4, 8, 6]], np.float32)
    check_layer("DetectionOutput", SSD, [location, confidence, priors], expected=[expected])


def test_of_equal_scores_the_first_class_comes_first(check_layer: Check, detect: Detect) -> None:
    """In a class the first prior, however many iterations share the work."""
    inputs = ssd_inputs([[0, 0.5, 0.75], [0, 0, 0], [0, 0.5, 0.5]])
    params = {**SSD, "nms_threshold": 0.4}
    found = detect("DetectionOutput", params, inputs)
    assert found[:, 0].tolist() == [2, 1, 1, 2]
    assert found[:, 2].tolist() == [0, 0, 4, 4]
    check_layer("DetectionOutput", params, inputs, expected=[found])


@pytest.mark.parametrize("classes", [1, 2, 40])
def test_turns_share_any_number_of_classes(
    classes: int, check_layer: Check, detect: Detect
) -> None:
    """Only the background, one, more than there are iterations; many equal scores among them."""
    rng = np.random.default_rng(classes)
    params = {**SSD, "num_class": classes, "nms_top_k": 3, "keep_top_k": 50}
    inputs = ssd_inputs((rng.integers(0, 9, (3, classes)) / 8).tolist())
    found = detect("DetectionOutput", params, inputs)
    assert (len(found) > 0) == (classes > 1)
    check_layer("DetectionOutput", params, inputs, expected=[found])


def test_turns_share_any_number_of_priors(check_layer: Check, detect: Detect) -> None:
    """More than there are iterations, all apart; those of a class keep their order, NaN is not
    found.
    """
    number, classes = 50, 21
    corners = np.arange(0, 4 * number, 4, dtype=np.float32)
    boxes = np.stack([corners, corners, corners + 2, corners + 2], axis=1)
    rng = np.random.default_rng(0)
    scores = (rng.integers(0, 9, (number, classes)) / 8).astype(np.float32)
    scores[7], scores[::3, 1] = np.nan, np.nan
    inputs = [
        np.zeros(4 * number, np.float32),
        scores.reshape(-1),
        np.stack([boxes.reshape(-1), np.ones(4 * number, np.float32)]),
    ]
    params = {**SSD, "num_class": classes, "keep_top_k": number * classes}
    found = detect("DetectionOutput", params, inputs)
    assert len(found) == (scores[:, 1:] > 0.25).sum()
    check_layer("DetectionOutput", params, inputs, expected=[found])


def test_ssd_keeps_the_best(check_layer: Check, detect: Detect) -> None:
    """nms_top_k counts in each class before suppression, keep_top_k what all classes gave."""
    inputs = ssd_inputs([[0, 0.9, 0.3], [0, 0.95, 0.4], [0, 0.5, 0.6]])
    params = {**SSD, "nms_top_k": 2, "keep_top_k": 2}
    found = detect("DetectionOutput", params, inputs)
    np.testing.assert_allclose(found[:, :2], [[1, 0.95], [2, 0.6]], rtol=1e-6)
    check_layer("DetectionOutput", params, inputs, expected=[found])


def test_nothing_found_has_no_rows(check_layer: Check, detect: Detect) -> None:
    """The result is (0, 6)."""
    inputs = ssd_inputs([[1, 0, 0]] * 3)
    check_layer("DetectionOutput", SSD, inputs, expected=[np.zeros((0, 6))])
    assert detect("DetectionOutput", SSD, inputs).shape == (0, 6)


def test_ssd_refuses(check_layer: Check) -> None:
    """Inputs of different numbers of priors, and a top k of nothing."""
    inputs = ssd_inputs([[0, 0, 0]] * 3)
    with pytest.raises(LayerError, match="do not fit 3 priors of 3 classes"):
        check_layer("DetectionOutput", SSD, [inputs[0][4:], *inputs[1:]])
    with pytest.raises(LayerError, match="keep_top_k is 0"):
        check_layer("DetectionOutput", {**SSD, "keep_top_k": 0}, inputs)
