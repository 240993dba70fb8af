"""Random nodes with windows, and nodes that normalize."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.onnx.random_nodes.growth import Growth, Rejected, Value


def windows(g: Growth, x: Value, kernel: list[int]) -> dict[str, Any]:
    """Strides, dilations and pads."""
    axes = len(kernel)
    found: dict[str, Any] = {}
    if g.chance(0.5):
        found["strides"] = [g.pick([1, 1, 2, 3]) for _ in range(axes)]
    if g.chance(0.3):
        found["dilations"] = [g.pick([1, 1, 2, 3]) for _ in range(axes)]
    padded = g.number(0, 4)
    if padded <= 1:
        found["pads"] = [g.number(0, k - 1) for k in kernel + kernel]
    elif padded == 2:
        found["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if not found.get("auto_pad", "").startswith("SAME"):
        _require_fit(x, kernel, found)
    return found


def _require_fit(x: Value, kernel: list[int], given: dict[str, Any]) -> None:
    """onnxruntime takes some windows that are larger than the image and its padding."""
    axes = len(kernel)
    dilations, pads = given.get("dilations", [1] * axes), given.get("pads", [0] * 2 * axes)
    for k in range(axes):
        if x.least(2 + k) + pads[k] + pads[k + axes] <= dilations[k] * (kernel[k] - 1):
            raise Rejected


def image(g: Growth) -> tuple[Value, int]:
    """A value of one to three axes behind batch and channels; the channels are fixed."""
    x = g.some(lambda v: v.is_real and 3 <= v.rank <= 5 and v.is_fixed(1))
    return x, x.rank - 2


def kernel_of(g: Growth, axes: int) -> list[int]:
    return [g.pick([1, 2, 3, 3, 5]) for _ in range(axes)]


def convolution(g: Growth) -> None:
    x, axes = image(g)
    kernel, channels = kernel_of(g, axes), x.shape[1]
    group = g.pick([n for n in (1, 1, 2, 3, channels) if channels % n == 0])
    outputs = group * g.pick([1, 2, 4, 8])
    weights = g.numbers([outputs, channels // group, *kernel])
    bias = g.constant(g.numbers([outputs])) if g.chance(0.5) else None
    shape: dict[str, Any] = {"kernel_shape": kernel} if g.chance(0.5) else {}
    g.node(
        "Conv",
        [x, g.constant(weights), bias],
        group=group,
        exact=True,
        **shape,
        **windows(g, x, kernel),
    )


def transposed(g: Growth) -> None:
    x, axes = image(g)
    kernel, channels = kernel_of(g, axes), x.shape[1]
    group = g.pick([n for n in (1, 1, 2, channels) if channels % n == 0])
    outputs = g.pick([1, 2, 4])
    weights = g.numbers([channels, outputs, *kernel])
    bias = g.constant(g.numbers([outputs * group])) if g.chance(0.5) else None
    given = windows(g, x, kernel)
    if "auto_pad" in given and min(kernel) < max(given.get("strides", [1])):
        raise Rejected  # nothing is cut away, and onnxruntime adds nothing
    if g.chance(0.3) and "strides" in given:
        given["output_padding"] = [g.number(0, stride - 1) for stride in given["strides"]]
    if g.chance(0.15) and all(map(x.is_fixed, range(2, x.rank))):
        for name in ("auto_pad", "pads", "output_padding"):
            given.pop(name, None)
        given["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER"])
        strides = given.get("strides", [1] * axes)
        given["output_shape"] = [
            n * s + g.number(-1, 1) for n, s in zip(x.shape[2:], strides, strict=True)
        ]
    g.node("ConvTranspose", [x, g.constant(weights), bias], group=group, exact=True, **given)


def pool(g: Growth) -> None:
    x, axes = image(g)
    kernel = [g.pick([1, 2, 3, 4]) for _ in range(axes)]
    given = windows(g, x, kernel)
    if g.chance(0.4) and given.get("auto_pad") != "VALID":  # which onnxruntime rounds up
        given["ceil_mode"] = 1
    kind = g.pick(["MaxPool", "AveragePool"])
    if kind == "AveragePool" and g.chance(0.4):
        given["count_include_pad"] = 1
    # onnxruntime leaves dilations out where it pads for the same size.
    if (kind == "AveragePool" and g.opset < 19) or given.get("auto_pad", "").startswith("SAME"):
        given.pop("dilations", None)
    g.node(kind, [x], exact=kind == "MaxPool", kernel_shape=kernel, **given)


def pool_places(g: Growth) -> None:
    """Where the largest values are: where two are equal, any is."""
    x, axes = image(g)
    if not x.exact or min(map(x.least, range(2, x.rank))) < 2:
        raise Rejected
    g.node("MaxPool", [x], outputs=2, exact=True, kernel_shape=[2] * axes, strides=[2] * axes)


def pool_all(g: Growth) -> None:
    x, _ = image(g)
    kind = g.pick(["GlobalAveragePool", "GlobalMaxPool"])
    g.node(kind, [x], exact=kind == "GlobalMaxPool")


def normalize_channels(g: Growth) -> None:
    x, _ = image(g)
    channels = x.shape[1]
    scale, bias = (g.constant(g.numbers([channels]) + 0.25, np.float32) for _ in range(2))
    kinds = ["BatchNormalization", "InstanceNormalization", "LRN", "GroupNormalization"]
    kind = g.pick(kinds)
    if kind == "LRN":
        g.node(kind, [x], size=g.pick([1, 3, 5]), alpha=0.5, beta=0.75, bias=g.pick([1.0, 2.0]))
    elif kind == "BatchNormalization":
        mean = g.constant(g.numbers([channels]))
        variance = g.constant(np.abs(g.numbers([channels])) + 0.5, np.float32)
        g.node(kind, [x, scale, bias, mean, variance], epsilon=g.pick([1e-5, 0.125]))
    elif kind == "InstanceNormalization":
        g.node(kind, [x, scale, bias], epsilon=0.125)
    else:
        groups = g.pick([n for n in (1, 2, channels) if channels % n == 0])
        if g.opset < 21:
            scale, bias = (g.constant(g.numbers([groups])) for _ in range(2))
        g.node(kind, [x, scale, bias], num_groups=groups, epsilon=0.125)


def normalize_rows(g: Growth) -> None:
    x = g.real(1, 5)
    axis = g.number(0, x.rank - 1)
    if not all(x.is_fixed(k) for k in range(axis, x.rank)):
        raise Rejected
    shape = x.shape[axis:]
    if g.chance(0.5):
        axis -= x.rank
    if g.opset >= 17 and g.chance(0.7):
        more = [g.constant(g.numbers(shape))] if g.chance(0.5) else []
        g.node(
            "LayerNormalization", [x, g.constant(g.numbers(shape)), *more], axis=axis, epsilon=0.125
        )
    else:
        (x,) = g.node("Add", [x, g.constant(0.375, np.float32)])
        g.node("LpNormalization", [x], axis=axis, p=g.pick([1, 2]))


def softmax(g: Growth) -> None:
    kind = g.pick(["Softmax", "LogSoftmax", "Hardmax"])
    x = g.some(lambda v: v.is_real and v.rank > 0 and (v.exact or kind != "Hardmax"))
    given: dict[str, Any] = {"axis": g.axis(x)} if g.chance(0.8) else {}
    g.node(kind, [x], exact=kind == "Hardmax", **given)


def resize(g: Growth) -> None:
    """By scales; random_nodes/shapes.py has sizes."""
    x = g.real(1, 5)
    mode = g.pick(["nearest", "linear", "cubic"])
    moved = [axis for axis in range(x.rank) if axis >= 2 or g.chance(0.1)]
    moved = moved[-2:] if mode != "nearest" else moved
    given = resizing(g, mode)
    # The standard does not round the size for align_corners, and onnxruntime does.
    rounds = given.get("coordinate_transformation_mode") == "align_corners"
    factors = [1, 2, 3] if rounds else [1, 0.5, 2, 1.5, 3, 0.75]
    scales = [g.pick(factors) if k in moved else 1.0 for k in range(x.rank)]
    g.node("Resize", [x, *no_region(g), g.constant(scales, np.float32)], **given)


def no_region(g: Growth) -> list[Value | None]:
    """The region of interest of a Resize, which it does not have."""
    return [g.constant([], np.float32)] if g.opset < 13 or g.chance(0.3) else [None]


def resizing(g: Growth, mode: str) -> dict[str, Any]:
    places = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if g.opset >= 19:
        places.append("half_pixel_symmetric")
    given: dict[str, Any] = {"mode": mode}
    if g.chance(0.8):
        given["coordinate_transformation_mode"] = g.pick(places)
    if mode == "nearest" and g.chance(0.7):
        given["nearest_mode"] = g.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic" and g.chance(0.5):
        given["cubic_coeff_a"] = g.pick([-0.5, -0.75])
    if mode == "cubic" and g.chance(0.2):
        given["exclude_outside"] = 1
    if mode != "nearest" and g.opset >= 18 and g.chance(0.3):
        given["antialias"] = 1
    return given


def blocks(g: Growth) -> None:
    x = g.some(lambda v: v.is_real and v.rank == 4)
    kind, block = g.pick(["DepthToSpace", "SpaceToDepth"]), g.pick([2, 3])
    mode: dict[str, Any] = (
        {"mode": g.pick(["DCR", "CRD"])} if kind == "DepthToSpace" and g.chance(0.7) else {}
    )
    g.node(kind, [x], exact=True, blocksize=block, **mode)


def sampled(g: Growth) -> None:
    x = g.some(lambda v: v.is_real and v.rank == 4 and v.is_fixed(0))
    grid = g.constant(g.numbers([x.shape[0], g.number(1, 5), g.number(1, 5), 2]))
    mode = g.pick(["bilinear", "nearest", "bicubic"] if g.opset < 20 else ["linear", "cubic"])
    g.node(
        "GridSample",
        [x, grid],
        mode=mode,
        align_corners=g.number(0, 1),
        padding_mode=g.pick(["zeros", "border", "reflection"]),
    )


GROWING = [
    *[convolution] * 4,
    *[pool] * 3,
    transposed,
    pool_places,
    pool_all,
    normalize_channels,
    normalize_rows,
    softmax,
    resize,
    resize,
    blocks,
    sampled,
]
