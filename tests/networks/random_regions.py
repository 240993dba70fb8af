"""Regions of maps in random networks. Their corners are constants or inputs: the same for all."""

from __future__ import annotations

from math import gcd

import numpy as np

from ncc.dialects.ncnn.layer import ParamValue
from tests.networks.random_growth import Growth, Motif, Rejected


def region(net: Growth, rows: tuple[float, float], columns: tuple[float, float]) -> str:
    """The blob of a region: its top and bottom, left and right."""
    corners = np.array([columns[0], rows[0], columns[1], rows[1]], np.float32)
    return net.constant(corners) if net.chance(0.5) else net.fed(corners)


def map_extents(net: Growth, x: str) -> tuple[int, int, int]:
    shape = net.shape(x)
    if len(shape) != 3:
        raise Rejected
    return shape[0], shape[1], shape[2]


def largest_of_bins(net: Growth, x: str) -> str:
    """ROIPooling. No edge of its bins is where cells meet, but for those at the border.

    There the released wheel, which has the CPU estimate a reciprocal, may take one cell more.
    """
    _, *extents = map_extents(net, x)
    scale, pooled = net.pick([1.0, 0.5]), [net.number(1, 3) for _ in extents]
    spans = []
    for extent, bins in zip(extents, pooled, strict=True):
        fitting = [first for first in range(extent) if gcd(extent - first, bins) == 1]
        if not fitting:
            raise Rejected
        spans.append((net.pick(fitting) / scale, (extent - 1) / scale))
    params = {"pooled_height": pooled[0], "pooled_width": pooled[1], "spatial_scale": scale}
    return net.one("ROIPooling", x, region(net, *spans), **params)


def means_of_bins(net: Growth, x: str) -> str:
    """PSROIPooling, where the channels can be shared out; also of what lies outside in part."""
    channels, *extents = map_extents(net, x)
    high, wide = net.number(1, 3), net.number(1, 3)
    if channels % (high * wide):
        raise Rejected
    scale = net.pick([1.0, 0.5])
    spans = []
    for extent in extents:
        first = net.number(-2, extent - 1)
        spans.append((first / scale, net.number(first, extent + 1) / scale))
    params: dict[str, ParamValue] = {"pooled_height": high, "pooled_width": wide}
    params |= {"spatial_scale": scale, "output_dim": channels // (high * wide)}
    return net.one("PSROIPooling", x, region(net, *spans), **params)


def samples_of_bins(net: Growth, x: str) -> str:
    """ROIAlign. A region that leaves the map is for version 1 alone: 0 goes on in the next row."""
    _, *extents = map_extents(net, x)
    scale, version = net.pick([1.0, 0.5]), net.number(0, 1)
    spans = []
    for extent in extents:
        beyond = 1.5 * version
        first = net.real(-beyond, extent - 1 + beyond)
        spans.append((first / scale, net.real(first, extent - 1 + beyond) / scale))
    return net.one(
        "ROIAlign",
        x,
        region(net, *spans),
        pooled_height=net.number(1, 3),
        pooled_width=net.number(1, 3),
        spatial_scale=scale,
        sampling_ratio=net.number(0, 2),
        aligned=net.number(0, 1) if version else 0,
        version=version,
    )


REGIONS: list[Motif] = [largest_of_bins, means_of_bins, samples_of_bins]
