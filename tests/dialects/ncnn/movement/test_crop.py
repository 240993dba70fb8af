"""Crop, in each of its four forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import tensor

import ncc
from ncc.dialects.ncnn.layer import LayerError, Shape
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("Crop")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "params, box",
    [
        ({"starts": (1,), "ends": (3,), "axes": (1,)}, np.s_[:, 1:3, :]),
        ({"starts": (1, -2), "ends": (-233, -1), "axes": (-1, 0)}, np.s_[-2:-1, :, 1:]),
        ({"starts": (-233, 1, 2), "ends": (2, 0, 99)}, np.s_[:2, 1:, 2:]),
        (
            {"woffset": 1, "hoffset": 2, "outw": -233, "outh": 2, "outc": 99, "coffset2": 1},
            np.s_[:2, 2:4, 1:],
        ),
        ({"starts_expr": "1", "ends_expr": "-(0w,1)", "axes_expr": "2"}, np.s_[:, :, 1:4]),
    ],
)
def test_a_box_is_cut_out(params: Any, box: Any, check_layer: Check) -> None:
    """By starts and ends, by offsets and sizes, by expressions."""
    x = ramp(3, 4, 5)
    check_layer("Crop", params, [x], expected=[x[box]])


def test_the_size_is_that_of_another_blob(check_layer: Check, expand: Callable[..., Any]) -> None:
    """Of an image of another rank the channels are kept."""
    x, params = ramp(3, 4, 5), {"woffset": 1, "hoffset": 2}
    check_layer("Crop", params, [x, ramp(2, 2, 3)], expected=[x[:2, 2:4, 1:4]])
    check_layer("Crop", params, [x, ramp(2, 3)], expected=[x[:, 2:4, 1:4]])
    [op] = expand("Crop", params, [(3, 4, 5), (2, 3)])
    assert isinstance(op, tensor.ExtractSliceOp)


@pytest.mark.parametrize(
    "shape, numbers, box",
    [
        ((7,), [2, 0, 0, 3], np.s_[2:5]),
        ((4, 5), [1, 2, 0, 3, 2, 0], np.s_[2:4, 1:4]),
        ((3, 4, 5), [1, 2, 1, 3, 2, 2], np.s_[1:3, 2:4, 1:4]),
        ((4, 3, 4, 5), [1, 2, 1, 2, 3, 2, 2, 1], np.s_[2:3, 1:3, 2:4, 1:4]),
    ],
)
def test_a_vector_says_the_box(
    shape: Shape, numbers: Sequence[int], box: Any, tmp_path: Path
) -> None:
    """Places and sizes are the bits of a constant, of the inner axes first."""
    lines = ["Input x 0 1 x", f"MemoryData m 0 1 m 0={len(numbers)}", "Split s 1 2 m a b"]
    lines += ["Crop c 2 1 x a y 0=-233"]
    param, binary = tmp_path / "crop.param", tmp_path / "crop.bin"
    param.write_text("\n".join(["7767517", f"{len(lines)} 5", *lines, ""]))
    binary.write_bytes(np.array(numbers, "<i4").tobytes())
    x = ramp(*shape)
    for level in (0, 2):
        options: dict[str, Any] = {"input_shapes": {"x": shape}, "outputs": ["y"]}
        model = ncc.compile(param, binary, opt_level=level, **options)
        np.testing.assert_array_equal(model.run({"x": x})["y"], x[box])


@pytest.mark.parametrize(
    "params, shapes, message",
    [
        ({}, [(7,)], "has 2 inputs, not 1"),
        ({"outw": 3}, [(7,), (3,)], "has 1 inputs, not 2"),
        ({"woffset": -233}, [(7,), (6,)], "known only to the run"),
        ({"outw": 3, "woffset": -1}, [(7,)], "an offset of -1"),
        ({"outw": 3}, [(7, 7)], r"of size \(0, 3\) is empty or leaves .* \(7, 7\)"),
        ({"starts": (5,), "ends": (3,)}, [(7,)], "is empty or leaves"),
        ({"starts": (-9,), "ends": (3,)}, [(7,)], "is empty or leaves"),
        ({"starts": (1,), "ends": (3,)}, [(7, 7)], "1 starts and 1 ends for axes"),
        ({"starts": (1,), "ends": (3,), "axes": (2,)}, [(7,)], "axis 2"),
        ({}, [(7,), (8,)], "is empty or leaves"),
    ],
)
def test_refused(params: Any, shapes: Sequence[Shape], message: str, check_layer: Check) -> None:
    """Boxes that are empty or leave the input, and forms with other inputs."""
    with pytest.raises(LayerError, match=message):
        check_layer("Crop", params, [ramp(*shape) for shape in shapes])
