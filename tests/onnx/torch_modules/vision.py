"""Operators of torchvision, under its names: exporters know these, and torch computes them by the
definitions here. (The wheel of torchvision on PyPI does not load beside a torch for CPUs.)
"""

from __future__ import annotations

from typing import Any

import torch

# The Python of torchvision wants this to be there.
torch.library.define("torchvision::qnms", "(Tensor x) -> Tensor")


@torch.library.custom_op("torchvision::nms", mutates_args=())  # type: ignore[untyped-decorator]
def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """The boxes that no better one overlaps by more than a threshold, the best first."""
    kept: list[int] = []
    for candidate in torch.argsort(scores, descending=True, stable=True).tolist():
        if all(overlap(dets[candidate], dets[one]) <= iou_threshold for one in kept):
            kept.append(candidate)
    return torch.tensor(kept, dtype=torch.int64)


@nms.register_fake  # type: ignore[untyped-decorator]
def _(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    return dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


def overlap(a: torch.Tensor, b: torch.Tensor) -> float:
    """The intersection of two boxes over their union."""
    sides = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0)
    shared = float(sides.prod())
    both = sum(float((box[2:] - box[:2]).prod()) for box in (a, b))
    return shared / (both - shared)


def between(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """The channels of an image at a place, zeros outside."""
    channels, height, width = image.shape
    found = torch.zeros(channels)
    top, left = int(torch.floor(torch.tensor(y))), int(torch.floor(torch.tensor(x)))
    for row in (top, top + 1):
        for column in (left, left + 1):
            if 0 <= row < height and 0 <= column < width:
                found += image[:, row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return found


@torch.library.custom_op("torchvision::roi_align", mutates_args=())  # type: ignore[untyped-decorator]
def roi_align(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """Means of some points in each cell of each region; places beside the image are at its edge."""
    _, channels, height, width = input.shape
    made = torch.zeros(len(rois), channels, pooled_height, pooled_width)
    points = sampling_ratio
    for number, (batch, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (c * spatial_scale - (0.5 if aligned else 0) for c in corners)
        high, wide = (y2 - y1) / pooled_height, (x2 - x1) / pooled_width
        for cell in range(pooled_height * pooled_width):
            row, column = divmod(cell, pooled_width)
            for point in range(points * points):
                y = y1 + high * (row + (point // points + 0.5) / points)
                x = x1 + wide * (column + (point % points + 0.5) / points)
                if -1 <= y <= height and -1 <= x <= width:
                    at = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
                    made[number, :, row, column] += between(input[int(batch)], *at)
    return made / (points * points)


@roi_align.register_fake  # type: ignore[untyped-decorator]
def _(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    return input.new_empty(rois.shape[0], input.shape[1], pooled_height, pooled_width)


def translations() -> dict[Any, Any]:
    """What the exporter makes of these; it has them, but asks for the wheel."""
    from onnxscript.function_libs.torch_lib.ops import vision

    return {
        torch.ops.torchvision.nms.default: vision.torchvision_nms,
        torch.ops.torchvision.roi_align.default: vision.torchvision_roi_align,
    }
