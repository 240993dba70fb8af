"""Images at another size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.verification import oracle
from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.ncnn.sampling.resample import ResampledAxis
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
NEAREST, BILINEAR, BICUBIC = 1, 2, 3


@pytest.mark.layer("Interp")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Interp is what ncnn recorded, or what the release computes where it was mended since.

    Now a scale steps by 1 / scale in every resize type, and a nearest cell for a size taken from
    another blob steps by the ratio of the sizes.
    """
    if "wheel" in case.tags and not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    check_layer(case)


@pytest.mark.parametrize(
    "params, out",
    [
        ({"resize_type": NEAREST, "width_scale": 0.5}, [0, 2, 4, 6, 8, 10, 12]),
        ({"resize_type": BILINEAR, "width_scale": 0.5}, [0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5]),
        (
            {"resize_type": BILINEAR, "width_scale": 0.5, "align_corner": 1},
            [0, 7 / 3, 14 / 3, 7, 28 / 3, 35 / 3, 14],
        ),
        ({"resize_type": BICUBIC, "width_scale": 0.5}, [0.40625, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5]),
        (
            {"resize_type": BILINEAR, "output_height": 3, "output_width": 7},
            [4 / 7, 19 / 7, 34 / 7, 7, 64 / 7, 79 / 7, 94 / 7],
        ),
        ({"resize_type": NEAREST, "output_height": 3, "output_width": 7}, [0, 2, 4, 6, 8, 10, 12]),
    ],
)
def test_released_ncnn(params: Any, out: list[float], check_layer: Check) -> None:
    """Fifteen cells to seven: what ncnn 1.0.20261020 gives. Of rank 2 the rows stay."""
    expected = np.tile(np.array(out, np.float32), (2, 1))
    check_layer("Interp", params, [np.tile(ramp(15), (2, 1))], expected=[expected], eps=1e-6)


def test_scales_that_are_not_whole(check_layer: Check) -> None:
    """15 * 1.3 is 19, but the step is 1 / 1.3: what ncnn 1.0.20261020 gives."""
    x, params = ramp(1, 15), {"resize_type": NEAREST, "width_scale": 1.3}
    nearest = [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 10, 10, 11, 12, 13, 13]
    check_layer("Interp", params, [x], expected=[np.array([nearest], np.float32)])
    linear = np.maximum((np.arange(19) + 0.5) / 1.3 - 0.5, 0)
    params["resize_type"] = BILINEAR
    check_layer("Interp", params, [x], expected=[linear[None].astype(np.float32)], eps=1e-5)


def test_the_size_of_another_blob(check_layer: Check) -> None:
    """dynamic_target_size steps by the ratio of the sizes: what ncnn 1.0.20261020 gives."""
    params = {"resize_type": NEAREST, "dynamic_target_size": 1}
    expected = np.array([[0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]], np.float32)
    check_layer("Interp", params, [ramp(1, 15), ramp(1, 12)], expected=[expected])


@pytest.mark.parametrize("height, width", [(2, 3), (1, 3), (2, 1)])
def test_nearest_by_whole_factors(height: int, width: int, check_layer: Check) -> None:
    """Each cell becomes a block."""
    x = ramp(2, 3, 4)
    params = {
        "resize_type": NEAREST,
        "height_scale": float(height),
        "width_scale": float(width),
    }
    expected = x.repeat(height, axis=1).repeat(width, axis=2)
    check_layer("Interp", params, [x], expected=[expected])


@pytest.mark.parametrize("resize_type", [BILINEAR, BICUBIC])
@pytest.mark.parametrize("align_corner", [0, 1])
def test_a_constant_image_stays_constant(
    resize_type: int, align_corner: int, check_layer: Check
) -> None:
    """The weights of the taps add up to 1, at the borders and for a single cell too."""
    params = {"resize_type": resize_type, "align_corner": align_corner}
    params |= {"output_height": 7, "output_width": 5}
    for shape in [(2, 4, 6), (1, 1, 3)]:
        x = np.full(shape, 3.0, np.float32)
        check_layer("Interp", params, [x], expected=[np.full((shape[0], 7, 5), 3.0)], eps=1e-6)


def test_bilinear_by_two(check_layer: Check) -> None:
    """Places lie a quarter off the cells; at the border they are the cell itself."""
    x = np.array([[[0, 4]]], np.float32)
    params = {"resize_type": BILINEAR, "height_scale": 2.0, "width_scale": 2.0}
    expected = np.array([[[0, 1, 3, 4], [0, 1, 3, 4]]], np.float32)
    check_layer("Interp", params, [x], expected=[expected])


def test_rank_1_spreads_values(check_layer: Check) -> None:
    """Each value fills an image; scales count from one cell."""
    expected = np.broadcast_to(ramp(3)[:, None, None], (3, 2, 4))
    params: dict[str, Any] = {"resize_type": NEAREST, "output_height": 2, "output_width": 4}
    check_layer("Interp", params, [ramp(3)], expected=[expected])
    params = {"resize_type": BILINEAR, "height_scale": 2.0, "width_scale": 4.0}
    check_layer("Interp", params, [ramp(3)], expected=[expected])


@pytest.mark.parametrize(
    "params, shapes, out",
    [
        ({"size_expr": "*(0w,2),0h"}, [(2, 3, 4)], (2, 3, 8)),
        ({"size_expr": "1w,1h"}, [(2, 3, 4), (6, 5)], (2, 6, 5)),
        ({"size_expr": "7"}, [(2, 3)], (2, 7)),
        ({"output_width": 7, "height_scale": 2.0}, [(2, 3, 4)], (2, 6, 4)),
        ({"dynamic_target_size": 1}, [(2, 3, 4), (6, 5)], (2, 6, 5)),
    ],
)
def test_where_the_size_comes_from(
    params: Any, shapes: list[Shape], out: Shape, check_layer: Check
) -> None:
    """Expression, second input, both stated sizes, else the scales; reference and expansion agree.

    A stated width without a height counts for nothing.
    """
    inputs = [ramp(*shape) for shape in shapes]
    [result] = check_layer("Interp", {"resize_type": BILINEAR, **params}, inputs)
    assert result.shape == out


@pytest.mark.parametrize("resize_type", [0, 1, 2, 3])
def test_what_has_the_size_stays(resize_type: int, check_layer: Check) -> None:
    """Of rank 2 the width decides; depth is kept; rank 1 is spread in every resize type."""
    for shape in ((4, 5), (2, 4, 5), (2, 3, 4, 5)):
        x = ramp(*shape)
        params = {"resize_type": resize_type, "output_height": 4, "output_width": 5}
        check_layer("Interp", params, [x], expected=[x])
    check_layer("Interp", {**params, "output_height": 9}, [ramp(4, 5)], expected=[ramp(4, 5)])
    spread = np.broadcast_to(ramp(3)[:, None, None], (3, 4, 5))
    check_layer("Interp", params, [ramp(3)], expected=[spread])


def test_a_scale_that_leaves_the_size(check_layer: Check) -> None:
    """7 * 1.1 is 7: only bicubic cells are sampled anew, as in ncnn 1.0.20261020."""
    x = ramp(1, 7) ** 2
    sampled = [-0.03106213, 0.65620124, 2.9110603, 6.8864493, 12.619926, 20.125, 30.34332]
    for resize_type, expected in ((NEAREST, x), (BILINEAR, x), (BICUBIC, [sampled])):
        params = {"resize_type": resize_type, "width_scale": 1.1}
        check_layer("Interp", params, [x], expected=[np.array(expected, np.float32)])
        check_layer("Interp", {**params, "width_scale": 1.0}, [x], expected=[x])


@pytest.mark.parametrize("resize_type", [NEAREST, BILINEAR, BICUBIC])
def test_only_the_first_depth_is_resized(resize_type: int, check_layer: Check) -> None:
    """A volume becomes an image, as in ncnn 1.0.20261020."""
    x = ramp(2, 3, 4, 5)
    params = {"resize_type": resize_type, "output_height": 8, "output_width": 7}
    expected = check_layer("Interp", params, [x[:, 0]])
    check_layer("Interp", params, [x], expected=expected)


@pytest.mark.parametrize(
    ("resize_type", "scale", "steps"),
    [(BILINEAR, 2.0, 2), (BILINEAR, 0.75, 2), (BILINEAR, 0.5, 1), (BICUBIC, 0.5, 2)],
)
def test_rows_are_made_once(tmp_path: Path, resize_type: int, scale: float, steps: int) -> None:
    """For all rows of the result that read them, where there are several."""
    param = tmp_path / "net.param"
    param.write_text(
        "7767517\n2 2\nInput x 0 1 x 0=24 1=20 2=3\n"
        f"Interp y 1 1 x y 0={resize_type} 1={scale} 2={scale}\n"
    )
    info = ncc.compile(param).artifact.info
    assert len(info["steps"]) == steps


def test_repeats() -> None:
    """Only whole ratios repeat every cell equally often."""
    assert ResampledAxis(3, 6).repeats == 2
    assert ResampledAxis(3, 3).repeats == 1
    assert ResampledAxis(3, 7).repeats == 0
    assert ResampledAxis(3, 2).repeats == 0


@pytest.mark.parametrize(
    "params, shapes, message",
    [
        ({"width_scale": 2.0}, [(1, 2, 3)], "resize_type 0 cannot resize"),
        ({"resize_type": 4}, [(1, 2, 3)], "resize_type is 4"),
        ({"resize_type": 1, "width_scale": 0.0}, [(1, 2, 3)], "width_scale is 0.0, not positive"),
        ({"resize_type": 1, "width_scale": 3e38}, [(1, 2, 3)], r"at most 2\^31"),
        ({"resize_type": 1, "output_width": -1}, [(1, 2, 3)], "output_width is -1"),
        ({"resize_type": 1, "dynamic_target_size": 1}, [(1, 2, 3)], "has 2 inputs, not 1"),
        ({"resize_type": 1}, [(1, 2, 3), (1, 2)], "has 1 inputs, not 2"),
        ({"resize_type": 1, "size_expr": "1w"}, [(1, 2, 3)], "there is no input 1"),
        ({"resize_type": 1, "size_expr": "0w"}, [(1, 2, 3)], "no height"),
        ({"resize_type": 1, "height_scale": 0.25}, [(1, 2, 3)], "to a height of 0, a width of 3"),
    ],
)
def test_refused(params: Any, shapes: list[Shape], message: str, check_layer: Check) -> None:
    """Sizes that are none, and types that ncnn leaves undefined."""
    with pytest.raises(LayerError, match=message):
        check_layer("Interp", params, [ramp(*shape) for shape in shapes])
