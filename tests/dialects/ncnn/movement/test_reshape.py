"""Views: the same elements in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, i32
from xdsl.dialects.test import TestOp

from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.ncnn.movement.reshape import FlattenOp, ReshapeOp
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("Reshape", "Flatten", "Squeeze", "ExpandDims")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "type, params, x, y",
    [
        ("Reshape", {"w": 12}, (3, 4), (12,)),
        ("Reshape", {"w": 3, "h": 4}, (3, 4), (4, 3)),
        ("Reshape", {"w": 2, "h": 3, "c": 2}, (3, 4), (2, 3, 2)),
        ("Reshape", {"w": 1, "h": 3, "d": 2, "c": 2}, (3, 4), (2, 2, 3, 1)),
        ("Reshape", {"w": -1, "h": 2}, (3, 4), (2, 6)),
        ("Reshape", {"w": 0, "h": -1}, (2, 3, 4), (6, 4)),
        ("Reshape", {"w": 0, "h": 0, "c": 0}, (2, 3, 4), (2, 3, 4)),
        ("Reshape", {"w": 4, "h": 3, "c": 0}, (3, 4), (1, 3, 4)),
        ("Reshape", {"w": 12, "h": -233, "c": 7}, (3, 4), (12,)),
        ("Reshape", {"shape_expr": "*(0w,0h),0c"}, (2, 3, 4), (2, 12)),
        ("Reshape", {"shape_expr": "-1"}, (2, 3), (6,)),
        ("Reshape", {"shape_expr": "2,0h,1,0c"}, (2, 3, 2), (2, 1, 3, 2)),
        ("Flatten", {}, (2, 3, 4), (24,)),
        ("Squeeze", {"axes": (0, 2)}, (1, 3, 1), (3,)),
        ("Squeeze", {"axes": (-1,)}, (1, 3, 1), (1, 3)),
        ("Squeeze", {"axes": (1,)}, (1, 3, 1), (1, 3, 1)),
        ("Squeeze", {"axes": (0, 1)}, (1, 1), (1,)),
        ("Squeeze", {"axes": (1, -3)}, (1, 1, 3), (3,)),
        ("Squeeze", {"squeeze_c": 1, "squeeze_w": 1}, (1, 3, 1), (3,)),
        ("Squeeze", {}, (1, 3, 1), (1, 3, 1)),
        ("ExpandDims", {"axes": (0,)}, (3, 4), (1, 3, 4)),
        ("ExpandDims", {"axes": (-1, 1)}, (3, 4), (3, 1, 4, 1)),
        ("ExpandDims", {"axes": (1, 2)}, (2, 3, 4), (2, 3, 4)),
        ("ExpandDims", {"axes": (2,)}, (3,), (3,)),
        ("ExpandDims", {"axes": (2, 3)}, (3,), (1, 3, 1)),
    ],
)
def test_shapes(
    type: str, params: Any, x: Shape, y: Shape, check_layer: Check, expand: Callable[..., Any]
) -> None:
    """Which shape each makes, of views alone."""
    check_layer(type, params, [ramp(*x)], expected=[ramp(*y)])
    views = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)
    assert all(isinstance(op, views) for op in expand(type, params, [x]))


def test_reshape_by_the_shape_of_another_input(check_layer: Check) -> None:
    """An expression may ask any input for its extents."""
    params = {"shape_expr": "1w,-1"}
    check_layer("Reshape", params, [ramp(3, 4), ramp(2)], expected=[ramp(6, 2)])


def flatten(shape: Shape, axis: int | None) -> FlattenOp:
    source = TestOp(result_types=[TensorType(f32, shape)])
    op = FlattenOp.make(source.results)
    if axis is not None:
        op.properties["axis"] = IntegerAttr(axis, i32)
    op.verify()
    return op


@pytest.mark.parametrize(
    "axis, shape",
    [
        (None, (120,)),
        (0, (1, 120)),
        (1, (2, 60)),
        (2, (6, 20)),
        (4, (120, 1)),
        (-1, (24, 5)),
        (-4, (1, 120)),
    ],
)
def test_flatten_from_an_axis(axis: int | None, shape: Shape) -> None:
    """Absent: ncnn's one row. Present: the extents before the axis, and those from it on."""
    op = flatten((2, 3, 4, 5), axis)
    assert op.infer((2, 3, 4, 5)) == shape
    assert op.reference(ramp(2, 3, 4, 5)).shape == shape


@pytest.mark.parametrize(
    "params, shape",
    [
        ({"w": 4, "h": 3, "c": 1, "batch_to": 0}, (3, 4)),
        ({"w": 1, "h": 12, "batch_to": -1}, (12,)),
        ({"w": 0, "h": 0, "batch_from": 2}, (3, 4)),
        ({"w": -1, "h": 0, "batch_from": 0}, (1, 12)),
        ({"shape_expr": "0w,1,0h,1,1", "batch_from": 0, "batch_to": 1}, (1, 3, 1, 4)),
    ],
)
def test_a_batch_of_one(params: Any, shape: Shape, check_layer: Check) -> None:
    """Its axis has an extent of 1 among those that are read, or made; a 0 counts places."""
    check_layer("Reshape", params, [ramp(3, 4)], expected=[ramp(*shape)])


@pytest.mark.parametrize("axis", [5, -5])
def test_flatten_axis_out_of_range(axis: int) -> None:
    """0 to the rank, or as many from the end."""
    with pytest.raises(LayerError, match=f"axis {axis} is out of range"):
        flatten((2, 3, 4, 5), axis).infer((2, 3, 4, 5))


def test_flatten_axis_is_no_param_of_ncnn() -> None:
    """No id of a .param file means it."""
    assert "axis" not in FlattenOp.LAYER.params
    assert ReshapeOp.LAYER.params["shape_expr"].id == 6


@pytest.mark.parametrize(
    "type, params, x, message, param",
    [
        ("Reshape", {}, (3,), "without any extent", "w"),
        ("Reshape", {"w": -1, "h": -1}, (3,), "only one extent can be -1", "h"),
        ("Reshape", {"w": 3, "h": -2}, (3,), "an extent of -2", "h"),
        ("Reshape", {"w": 5}, (3, 4), r"\(3, 4\) has 12 elements and does not fit \(5,\)", None),
        ("Reshape", {"w": 5, "h": -1}, (3, 4), r"does not fit \(2, 5\)", None),
        ("Reshape", {"w": 4, "h": 3, "batch_to": 0}, (3, 4), "a batch of 3", "batch_to"),
        ("Reshape", {"w": 12, "batch_to": 0}, (3, 4), "samples of shape", "batch_to"),
        ("Reshape", {"w": 12, "batch_to": 1}, (3, 4), "axis 1 is out of range", "batch_to"),
        ("Reshape", {"w": 12, "batch_from": 3}, (3, 4), "axis 3 is out of range", "batch_from"),
        ("Reshape", {"shape_expr": "1w"}, (3, 4), "no input 1", "shape_expr"),
        ("Reshape", {"shape_expr": "1,1,1,1,12"}, (3, 4), "makes 5 extents", "shape_expr"),
        ("Squeeze", {"axes": (4,)}, (1, 3), "axis 4 is out of range", "axes"),
        ("ExpandDims", {"axes": (-5,)}, (1, 3), "axis -5 is out of range", "axes"),
    ],
)
def test_refused(
    type: str, params: Any, x: Shape, message: str, param: str | None, check_layer: Check
) -> None:
    """Shapes that hold other counts of elements, and params that mean none."""
    with pytest.raises(LayerError, match=message) as caught:
        check_layer(type, params, [ramp(*x)])
    assert caught.value.param == param


def test_reshape_without_expression_has_one_input(check_layer: Check) -> None:
    """A second input would have nothing to say."""
    with pytest.raises(LayerError, match="has 1 input, not 2"):
        check_layer("Reshape", {"w": 3}, [ramp(3), ramp(3)])
