"""Images at other sizes and places."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from tests.onnx.torch_modules.registry import module, rand
from tests.onnx.torch_modules.vision import roi_align


@module(rand(1, 3, 5, 6))
def nearest(m: Any, x: Any) -> Any:
    return F.interpolate(x, scale_factor=2), F.interpolate(x, size=(7, 4), mode="nearest-exact")


@module(rand(1, 3, 5, 6))
def bilinear_sizes(m: Any, x: Any) -> Any:
    return (
        F.interpolate(x, size=(8, 9), mode="bilinear"),
        F.interpolate(x, size=(8, 9), mode="bilinear", align_corners=True),
        F.interpolate(x, size=(3, 2), mode="bilinear"),
    )


@module(rand(1, 3, 5, 6))
def bilinear_scales(m: Any, x: Any) -> Any:
    return F.interpolate(x, scale_factor=(1.5, 2.5), mode="bilinear")


@module(rand(1, 2, 5, 6))
def bicubic(m: Any, x: Any) -> Any:
    return (
        F.interpolate(x, scale_factor=2, mode="bicubic"),
        F.interpolate(x, size=(4, 9), mode="bicubic", align_corners=True),
    )


@module(rand(1, 2, 7, 8))
def antialiased(m: Any, x: Any) -> Any:
    return (
        F.interpolate(x, size=(3, 5), mode="bilinear", antialias=True),
        F.interpolate(x, size=(4, 3), mode="bicubic", antialias=True),
    )


@module(rand(1, 3, 6), rand(1, 2, 3, 4, 4))
def one_and_three_axes(m: Any, x: Any, y: Any) -> Any:
    return (
        F.interpolate(x, size=9, mode="linear"),
        F.interpolate(y, scale_factor=2, mode="trilinear"),
        F.interpolate(y, size=(2, 6, 3), mode="nearest"),
    )


@module(rand(1, 4, 4, 4), rand(1, 2, 8, 8))
def up_to_another(m: Any, x: Any, y: Any) -> Any:
    return torch.cat([F.interpolate(x, size=y.shape[-2:], mode="bilinear"), y], 1)


@module(rand(2, 3, 5, 6), rand(2, 4, 3, 2))
def grid_samples(m: Any, x: Any, grid: Any) -> Any:
    return [
        F.grid_sample(x, grid, mode, padding, align_corners)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for align_corners in (False, True)
    ]


@module(rand(1, 2, 3, 4, 4), rand(1, 2, 3, 3, 3) * 0.7)
def grid_sample_of_a_volume(m: Any, x: Any, grid: Any) -> Any:
    return F.grid_sample(x, grid, align_corners=False)


@module(rand(2, 3, 6, 6), rand(2, 2, 3) * 0.5)
def affine_grid(m: Any, x: Any, theta: Any) -> Any:
    return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False))


@module(rand(1, 3, 6, 8), rand(1, 2, 6, 8))
def warp_by_flow(m: Any, x: Any, flow: Any) -> Any:
    ys, xs = torch.meshgrid(torch.arange(6.0), torch.arange(8.0), indexing="ij")
    places = torch.stack([xs, ys], 0)[None] + flow
    scale = torch.tensor([2 / 7, 2 / 5]).view(1, 2, 1, 1)
    return F.grid_sample(x, (places * scale - 1).permute(0, 2, 3, 1), align_corners=True)


@module(rand(1, 4, 10, 10), torch.tensor([[0, 1.0, 1.5, 7.0, 8.0], [0, 0, 2.0, 5.5, 9.0]]))
def region_align(m: Any, x: Any, boxes: Any) -> Any:
    return roi_align(x, boxes, 1.0, 3, 3, 2, True)
