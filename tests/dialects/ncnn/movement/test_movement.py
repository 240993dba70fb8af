"""Layers that put elements elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import tensor

from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.ncnn.movement.movement import PERMUTATIONS
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("Concat", "Slice", "Permute", "Flip", "Tile")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def test_concat(check_layer: Check, expand: Callable[..., Any]) -> None:
    """Along any axis, negative ones from the end; one operation, none for a single input."""
    x, y = ramp(2, 3), ramp(2, 1)
    check_layer("Concat", {"axis": 1}, [x, y, x], expected=[np.hstack([x, y, x])])
    check_layer("Concat", {"axis": -2}, [x, x], expected=[np.vstack([x, x])])
    [op] = expand("Concat", {}, [(2, 3), (4, 3)])
    assert isinstance(op, tensor.ConcatOp)
    assert expand("Concat", {}, [(2, 3)]) == []


@pytest.mark.parametrize(
    "params, ends",
    [
        ({"slices": (1, 2, 4)}, (1, 3, 7)),
        ({"slices": (-233, -233, -233)}, (2, 4, 7)),
        ({"slices": (3, -233, 1)}, (3, 5, 6)),
        ({"indices": (1, 3)}, (1, 3, 7)),
        ({"indices": (1, -2)}, (1, 5, 7)),
        ({"indices": (1, 3), "slices": (5, 1, 1)}, (1, 3, 7)),
    ],
)
def test_slice(params: Any, ends: Sequence[int], check_layer: Check) -> None:
    """Sizes, -233 for an even share of the rest; or places of cuts."""
    x = ramp(7)
    expected = [x[begin:end] for begin, end in zip((0, *ends), ends, strict=False)]
    check_layer("Slice", params, [x], expected=expected)


def test_slice_along_an_axis(check_layer: Check, expand: Callable[..., Any]) -> None:
    """Of the axis only parts are taken; each part is a view."""
    x = ramp(2, 4)
    params = {"slices": (1, 2), "axis": -1}
    check_layer("Slice", params, [x], expected=[x[:, :1], x[:, 1:3]])
    [op] = expand("Slice", params, [(2, 4)])
    assert isinstance(op, tensor.ExtractSliceOp)


@pytest.mark.parametrize(
    "order, rank, axes",
    [
        (5, 1, (0,)),
        (0, 2, (0, 1)),
        (1, 2, (1, 0)),
        (0, 3, (0, 1, 2)),
        (2, 3, (1, 0, 2)),
        (3, 3, (1, 2, 0)),
        (4, 3, (2, 0, 1)),
        (23, 4, (3, 2, 1, 0)),
        (9, 4, (1, 2, 3, 0)),
    ],
)
def test_permute(order: int, rank: int, axes: Shape, check_layer: Check) -> None:
    """ncnn's order types list the axes from w on."""
    x = ramp(*range(2, 2 + rank))
    check_layer("Permute", {"order_type": order}, [x], expected=[x.transpose(axes)])


def test_permute_order_types_are_all_different() -> None:
    """Each rank has as many order types as permutations."""
    assert [len(set(PERMUTATIONS[rank])) for rank in (2, 3, 4)] == [2, 6, 24]


def test_flip(check_layer: Check) -> None:
    """Backwards along each axis; rank 1 has only one to mean."""
    x = ramp(2, 3)
    check_layer("Flip", {"axes": (1,)}, [x], expected=[x[:, ::-1]])
    check_layer("Flip", {"axes": (-1, 0)}, [x], expected=[x[::-1, ::-1]])
    check_layer("Flip", {"axes": (2,)}, [ramp(3)], expected=[ramp(3)[::-1]])
    check_layer("Flip", {}, [x], expected=[x])


@pytest.mark.parametrize(
    "params, x, like",
    [
        ({"axis": 1, "tiles": 2}, (2, 3), (1, 2)),
        ({"repeats": (2,)}, (2, 3), (1, 2)),
        ({"repeats": (2, 3)}, (2, 3), (2, 3)),
        ({"repeats": (2, 1, 1)}, (2, 3), (2, 1, 1)),
        ({}, (2, 3), (1, 1)),
    ],
)
def test_tile(params: Any, x: Shape, like: Shape, check_layer: Check) -> None:
    """Repeats meet the innermost axes, as numpy's do."""
    check_layer("Tile", params, [ramp(*x)], expected=[np.tile(ramp(*x), like)])


def test_tile_puts_a_new_depth_behind_the_channels(check_layer: Check) -> None:
    """Four repeats of (c, h, w) are those of (c, 1, h, w)."""
    x = ramp(2, 3, 4)
    expected = np.tile(x[:, None], (2, 3, 1, 1))
    check_layer("Tile", {"repeats": (2, 3, 1, 1)}, [x], expected=[expected])


@pytest.mark.parametrize(
    "type, params, shapes, outputs, message",
    [
        ("Concat", {"axis": 2}, [(2, 3)], 1, "axis 2 is out of range"),
        ("Concat", {}, [(2, 3), (2, 4)], 1, r"\(2, 3\), \(2, 4\) differ in more than .* axis 0"),
        ("Concat", {}, [(2, 3), (2,)], 1, "differ in more"),
        ("Slice", {}, [(7,)], 2, "0 sizes for 2 outputs"),
        ("Slice", {"slices": (1,)}, [(7,)], 2, "1 sizes for 2 outputs"),
        ("Slice", {"indices": (1,)}, [(7,)], 3, "1 cuts do not make 3 outputs"),
        ("Slice", {"slices": (0, 7)}, [(7,)], 2, "a part of size 0"),
        ("Slice", {"slices": (5, 5)}, [(7,)], 2, r"part 1 is \[5, 10\) of axis 0 of \(7,\)"),
        ("Slice", {"indices": (5, 2)}, [(7,)], 3, r"part 1 is \[5, 2\)"),
        ("Slice", {"slices": (1,), "axis": 1}, [(7,)], 1, "axis 1 is out of range"),
        ("Permute", {"order_type": 24}, [(7,)], 1, "order_type is 24, none of 0 to 23"),
        ("Permute", {"order_type": 6}, [(1, 2, 3)], 1, "needs a higher rank than 3"),
        ("Flip", {"axes": (2,)}, [(2, 3)], 1, "axis 2 is out of range"),
        ("Tile", {"axis": -1}, [(2, 3)], 1, "axis is -1"),
        ("Tile", {"tiles": 0}, [(2, 3)], 1, "tiles is 0"),
        ("Tile", {"repeats": (2, 0)}, [(2, 3)], 1, "positive repeats"),
        ("Tile", {"axis": 2, "tiles": 2}, [(2, 3)], 1, "axis 2 is out of range"),
    ],
)
def test_refused(
    type: str, params: Any, shapes: Sequence[Shape], outputs: int, message: str, check_layer: Check
) -> None:
    """What would be empty, overlap an edge, or mean nothing."""
    with pytest.raises(LayerError, match=message):
        check_layer(type, params, [ramp(*shape) for shape in shapes], outputs=outputs)
