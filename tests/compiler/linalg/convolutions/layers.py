"""Convolutions as layers expand them, of images, volumes and groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import add, relu


def weights(b: Builder, shape: Sequence[int], stream: int = 0) -> Tensor:
    scale = float(np.prod(shape[1:])) ** -0.5
    return b.weight(WeightAttr(Weights(tuple(shape), Random(7, stream, scale))))


def convolution(
    b: Builder, x: Tensor, outputs: int, *, pad: int = 1, stride: int = 1, window: int = 3
) -> Tensor:
    """A convolution with bias, as a layer expands."""
    x = b.pad(x, [0, pad, pad], [0, pad, pad])
    height, width = ((n - window) // stride + 1 for n in x.shape[1:])
    w = weights(b, (outputs, x.shape[0], window, window))
    bias = b.spread(weights(b, (outputs,), 1), (outputs, height, width), axis=0)
    o, p, q, i, k, m = b.loops("o p q i k m", p=height, q=width)
    data = x[i, p * stride + k, q * stride + m]
    return b.sum((o, p, q), (i, k, m), data * w[o, i, k, m], bias)


def pointwise(b: Builder, x: Tensor) -> Tensor:
    """A convolution of one tap to eight channels."""
    w = weights(b, (8, x.shape[0]))
    o, p, q, i = b.loops(f"o p:{x.shape[1]} q:{x.shape[2]} i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i])


def volume(
    b: Builder,
    x: Tensor,
    outputs: int,
    *,
    taps: int = 3,
    dilation: int = 1,
    strides: tuple[int, int] = (1, 1),
) -> Tensor:
    """A convolution over depth, rows and columns; a depth of one tap has no axis."""
    deep, wide = strides
    x = b.pad(x, [0, 1, 1, 1], [0, 1, 1, 1])
    depth = (x.shape[1] - dilation * (taps - 1) - 1) // deep + 1
    height, width = ((n - 3) // wide + 1 for n in x.shape[2:])
    over = "" if taps == 1 else f"d:{taps}"
    w = weights(b, (outputs, x.shape[0], *[taps] * len(over[:1]), 3, 3))
    bias = b.spread(weights(b, (outputs,), 1), (outputs, depth, height, width), axis=0)
    o, z, p, q, i, *d, k, m = b.loops(f"o z:{depth} p:{height} q:{width} i {over} k m")
    slices = z * deep + d[0] * dilation if d else z * deep
    data = x[i, slices, p * wide + k, q * wide + m]
    return b.sum((o, z, p, q), (i, *d, k, m), data * w[(o, i, *d, k, m)], bias)


def dilated(b: Builder, x: Tensor, outputs: int, dilation: int) -> Tensor:
    """A convolution with a dilation, of an image or a volume, that keeps rows and columns."""
    sides = [*[0] * (x.rank - 2), dilation, dilation]
    shape = (outputs, *x.shape[1:])
    x = b.pad(x, sides, sides)
    w = weights(b, (outputs, x.shape[0], 3, 3))
    bias = b.spread(weights(b, (outputs,), 1), shape, axis=0)
    slices = f"z:{shape[1]}" if x.rank == 4 else ""
    o, *z, p, q, i, k, m = b.loops(f"o {slices} p:{shape[-2]} q:{shape[-1]} i k m")
    data = x[(i, *z, p + k * dilation, q + m * dilation)]
    return b.sum((o, *z, p, q), (i, k, m), data * w[o, i, k, m], bias)


def grouped(b: Builder, x: Tensor, outputs: int, *, window: int, stride: int = 1) -> Tensor:
    """A convolution in two groups with `outputs` each, as (group, outputs, height, width)."""
    height, width = ((n - window) // stride + 1 for n in x.shape[1:])
    inputs = x.shape[0] // 2
    w = weights(b, (2, outputs, inputs, window, window))
    g, o, p, q = b.loops(f"g o p:{height} q:{width}")
    bias = b.map(
        (g, o, p, q), b.expand(weights(b, (2 * outputs,), 1), [[0, 1]], (2, outputs))[g, o]
    )
    g, o, p, q, i, k, m = b.loops(f"g o p:{height} q:{width} i k m")
    data = x[g * inputs + i, p * stride + k, q * stride + m]
    return b.sum((g, o, p, q), (i, k, m), data * w[g, o, i, k, m], bias)


def along(
    b: Builder,
    x: Tensor,
    outputs: int,
    taps: int,
    axis: int,
    *,
    dilation: int = 1,
    stride: int = 1,
    loops: int = 2,
) -> Tensor:
    """A convolution along rows (axis 1) or columns (axis 2), with a border; the window's other axis
    has one tap, or no loop.
    """
    reach = dilation * (taps - 1)
    low, high = [0, 0, 0], [0, 0, 0]
    low[axis], high[axis] = reach // 2, reach - reach // 2
    x = b.pad(x, low, high)
    height, width = x.shape[1:]
    if axis == 1:
        height = (height - reach - 1) // stride + 1
    else:
        width = (width - reach - 1) // stride + 1
    window = [taps] if loops == 1 else [taps, 1] if axis == 1 else [1, taps]
    w = weights(b, (outputs, x.shape[0], *window))
    bias = b.spread(weights(b, (outputs,), 1), (outputs, height, width), axis=0)
    o, p, q, i, *ks = b.loops(f"o p:{height} q:{width} i {'k m' if loops == 2 else 'k'}")
    k = ks[0] if axis == 1 or loops == 1 else ks[1]
    cell = (p if axis == 1 else q) * stride + k * dilation
    row, column = (cell, q) if axis == 1 else (p, cell)
    if loops == 2:
        row, column = (row, column + ks[1]) if axis == 1 else (row + ks[0], column)
    data = x[i, row, column]
    return b.sum((o, p, q), (i, *ks), data * w[(o, i, *ks)], bias)


def pool(b: Builder, x: Tensor, window: int = 2, stride: int = 2) -> Tensor:
    """The largest of each window, which is wholly inside."""
    height, width = ((n - window) // stride + 1 for n in x.shape[1:])
    o, p, q, k, m = b.loops(f"o p q k:{window} m:{window}", p=height, q=width)
    return b.max((o, p, q), (k, m), x[o, p * stride + k, q * stride + m])


def block(b: Builder, x: Tensor) -> Tensor:
    """A residual block: two convolutions, and the input added."""
    y = relu(b, convolution(b, x, x.shape[0]))
    return relu(b, add(b, convolution(b, y, x.shape[0]), x))
