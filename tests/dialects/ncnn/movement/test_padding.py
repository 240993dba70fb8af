"""Borders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp

from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.ncnn.movement.padding import source_elements
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
ALL = {"top": 1, "bottom": 2, "left": 3, "right": 1, "front": 2, "behind": 1}


@pytest.mark.layer("Padding")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Padding is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "shape, pads",
    [
        ((5,), [(3, 1)]),
        ((4, 5), [(1, 2), (3, 1)]),
        ((3, 4, 5), [(2, 1), (1, 2), (3, 1)]),
        ((2, 3, 4, 5), [(0, 0), (2, 1), (1, 2), (3, 1)]),
    ],
)
@pytest.mark.parametrize("type, mode", [(0, "constant"), (1, "edge"), (2, "reflect")])
def test_pads_of_each_rank(
    shape: Shape, pads: list[tuple[int, int]], type: int, mode: Any, check_layer: Check
) -> None:
    """front and behind are the channels' in rank 3, the depth's in rank 4."""
    x = ramp(*shape)
    check_layer("Padding", {**ALL, "type": type}, [x], expected=[np.pad(x, pads, mode=mode)])


def test_constant_padding_is_one_pad(expand: Callable[..., Any]) -> None:
    """One value goes around by one operation; no border takes none."""
    [op] = expand("Padding", {"top": 1, "value": 2.0}, [(2, 3)])
    assert isinstance(op, tensor.PadOp)
    assert expand("Padding", {"type": 1}, [(2, 3)]) == []


@pytest.mark.parametrize("type", [1, 2])
def test_only_borders_are_looked_up(type: int, expand: Callable[..., Any]) -> None:
    """What they go around is a part of the result; corners are borders of borders."""
    ops = expand("Padding", {**ALL, "type": type, "front": 0}, [(3, 4, 5)])
    made = [op.results[0].type.get_shape() for op in ops if isinstance(op, GenericOp)]  # type: ignore[attr-defined]
    assert made == [(3, 4, 3), (3, 4, 1), (3, 1, 9), (3, 2, 9), (1, 7, 9)]
    joined = [op.dim.value.data for op in ops if isinstance(op, tensor.ConcatOp)]
    assert joined == [2, 1, 0]


def test_a_value_of_each_channel(check_layer: Check) -> None:
    """Channels that are added have their own value too, infinite ones included."""
    x = ramp(1, 1, 2)
    params = {"left": 1, "behind": 1, "per_channel_pad_data_size": 2}
    expected = np.array([[[np.inf, 0, 1]], [[-2, -2, -2]]], np.float32)
    check_layer("Padding", params, [x], [np.array([np.inf, -2])], expected=[expected])


def test_source_elements() -> None:
    """Replicated and mirrored: the cell each place shows."""
    assert source_elements(np.arange(-2, 4), 3, 1).tolist() == [0, 0, 0, 1, 2, 2]
    assert source_elements(np.arange(-2, 5), 3, 2).tolist() == [2, 1, 0, 1, 2, 1, 0]
    assert source_elements(np.arange(1), 1, 2).tolist() == [0]


@pytest.mark.parametrize("value", [-129.0, 128.0, float("inf"), float("nan")])
def test_a_value_that_no_element_is(value: float, check_layer: Check) -> None:
    """A border of int8 is made of int8."""
    with pytest.raises(LayerError, match=r"value is .*, which no int8 is") as caught:
        check_layer("Padding", {"top": 1, "value": value}, [ramp(2, 2).astype(np.int8)])
    assert caught.value.param == "value"


@pytest.mark.parametrize(
    "params, x, weights, message, param",
    [
        ({"top": -1}, (3, 3), [], "top is -1", "top"),
        ({"type": 3}, (3, 3), [], "type is 3, none of", "type"),
        ({"type": 2, "left": 3}, (3, 3), [], "too small to be mirrored", "type"),
        (
            {"left": 1, "per_channel_pad_data_size": 2},
            (3, 3, 3),
            [np.ones(2)],
            "2 values do not fit",
            "per_channel_pad_data_size",
        ),
        (
            {"left": 1, "per_channel_pad_data_size": -2},
            (3, 3, 3),
            [],
            "per_channel_pad_data_size is -2",
            "per_channel_pad_data_size",
        ),
    ],
)
def test_refused(
    params: Any, x: Shape, weights: Any, message: str, param: str, check_layer: Check
) -> None:
    """Borders that cannot be; the param to blame is named."""
    with pytest.raises(LayerError, match=message) as caught:
        check_layer("Padding", params, [ramp(*x)], weights)
    assert caught.value.param == param
