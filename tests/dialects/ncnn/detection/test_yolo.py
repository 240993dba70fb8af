"""The detections of YOLO: references and compiled statements against ncnn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Detect = Callable[..., Array]


YOLO = {"num_class": 1, "num_box": 1, "biases": (1.0, 1.0)}


@pytest.mark.layer("YoloDetectionOutput", "Yolov3DetectionOutput")
def test_recorded(case: Any, check_detections: Callable[[Any], None]) -> None:
    """Reference and compiled expansion find what ncnn recorded; its empty blob has no rows."""
    check_detections(case)


def test_yolo_3_is_surer_than_the_product(check_layer: Check) -> None:
    """The confidence is 1 / (1 + e^-b (1 + e^-c)): 1/3 of two logits of 0, not 1/4."""
    params = {
        "num_class": 1, "num_box": 1, "biases": (8.0, 4.0), "mask": (0.0,), "anchors_scale": (8.0,),
    }  # fmt: skip
    expected = np.array([[1, 1 / 3, 0, 0.25, 1, 0.75]], np.float32)
    zeros = np.zeros((6, 1, 1), np.float32)
    check_layer("Yolov3DetectionOutput", params, [zeros], expected=[expected])


@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_yolo_3_asks_for_the_best_class_that_is_known(
    unknown: int, check_layer: Check, detect: Detect
) -> None:
    """A class that is NaN is none; where all are, nothing is found."""
    params = {
        "num_class": 2, "num_box": 1, "biases": (8.0, 4.0), "mask": (0.0,), "anchors_scale": (8.0,),
    }  # fmt: skip
    for classes in (slice(5, 5 + unknown), slice(7 - unknown, 7)):
        x = np.full((7, 1, 1), 3, np.float32)
        x[classes] = np.nan
        found = detect("Yolov3DetectionOutput", params, [x])
        assert len(found) == (unknown < 2)
        check_layer("Yolov3DetectionOutput", params, [x], expected=[found])


def test_nothing_found_has_no_rows(check_layer: Check, detect: Detect) -> None:
    """The result is (0, 6)."""
    empty = np.full((6, 2, 2), -9, np.float32)
    check_layer("YoloDetectionOutput", YOLO, [empty], expected=[np.zeros((0, 6))])
    assert detect("YoloDetectionOutput", YOLO, [empty]).shape == (0, 6)


@pytest.mark.parametrize("type", ["YoloDetectionOutput", "Yolov3DetectionOutput"])
def test_rows_longer_than_a_vector_are_searched(type: str, check_layer: Check) -> None:
    """Cells of a row are rated together, in rows where one of them may be sure: here in one."""
    params = {
        "num_class": 3, "num_box": 2, "biases": (1.0, 2.0, 2.0, 1.0), "mask": (0.0, 1.0),
        "anchors_scale": (8.0,), "confidence_threshold": 0.4, "nms_threshold": 1.0,
    }  # fmt: skip
    if type == "YoloDetectionOutput":
        params = {name: params[name] for name in params if name not in ("mask", "anchors_scale")}
    random = np.random.default_rng(0)
    x = random.normal(0, 2, (16, 3, 37)).astype(np.float32)
    x[[4, 12]] = -9
    x[12, 1] = random.permutation(np.linspace(-9, 9, 37)).astype(np.float32)
    check_layer(type, params, [x])


@pytest.mark.parametrize(
    ("type", "params", "shapes", "param"),
    [
        ("YoloDetectionOutput", {"num_class": 0}, [(6, 1, 1)], "num_class"),
        ("YoloDetectionOutput", {"biases": (1.0,)}, [(6, 1, 1)], "biases"),
        ("YoloDetectionOutput", {}, [(7, 1, 1)], None),
        ("Yolov3DetectionOutput", {}, [(6, 1, 1)], "mask"),
        ("Yolov3DetectionOutput", {"mask": (3.0,)}, [(6, 1, 1)], "mask"),
        ("Yolov3DetectionOutput", {"mask": (float("nan"),)}, [(6, 1, 1)], "mask"),
        ("Yolov3DetectionOutput", {"mask": (0.0,)}, [(6, 1, 1)], "anchors_scale"),
        (
            "Yolov3DetectionOutput",
            {"mask": (0.0,), "anchors_scale": (float("inf"),)},
            [(6, 1, 1)],
            "anchors_scale",
        ),
        (
            "Yolov3DetectionOutput",
            {"mask": (0.0,), "anchors_scale": (2.0**30,)},
            [(6, 1, 2)],
            "anchors_scale",
        ),
    ],
)
def test_yolo_refuses(
    type: str, params: dict[str, Any], shapes: Any, param: str | None, check_layer: Check
) -> None:
    """Missing anchors, masks and scales, and such as are no numbers; channels that do not fit."""
    with pytest.raises(LayerError) as caught:
        check_layer(type, {**YOLO, **params}, [np.zeros(shape, np.float32) for shape in shapes])
    assert caught.value.param == param
