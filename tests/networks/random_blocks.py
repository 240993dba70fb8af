"""Blocks of networks as people make them: images and channels enough for choices of caches.

    network = random_blocks(seed)           # as random_network, see there

What is chosen for them depends on the core: strips of tiles, sums in parts, borders
that are peeled. Channels fill their blocks or do not, and images have any number of rows.
"""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.layer import ParamValue
from tests.networks.random_growth import MOST_ATTEMPTS, Growth, Motif, Rejected
from tests.networks.random_layers import activation, fused, pooling
from tests.networks.random_motifs import binary, concat, padded, pieces
from tests.networks.random_network import RandomNetwork

MOST_ELEMENTS = 250_000
MOST_WEIGHTS = 150_000

CHANNELS = [3, 8, 12, 16, 16, 17, 20, 24, 32, 32, 33, 36, 40, 48, 56, 64, 72, 96]
ROWS = [7, 8, 10, 12, 13, 14, 16, 18, 20, 24, 25, 28, 32, 36, 40, 48, 56]


def convolved(
    net: Growth, x: str, outputs: int, kernel: int, stride: int = 1, **given: ParamValue
) -> str:
    """A convolution that keeps the image, but for its stride; `group` in groups."""
    shape = net.shape(x)
    group = given.get("group", 1)
    if len(shape) != 3 or not isinstance(group, int):
        raise Rejected
    params: dict[str, ParamValue] = {
        "num_output": outputs,
        "kernel_w": kernel,
        "stride_w": stride,
        "pad_left": kernel // 2,
        "bias_term": net.number(0, 1),
        "weight_data_size": outputs * (shape[0] // group) * kernel**2,
        **fused(net),
        **given,
    }
    if outputs * (shape[0] // group) * kernel**2 > MOST_WEIGHTS:
        raise Rejected
    return net.one(f"Convolution{'DepthWise' if 'group' in given else ''}", x, **params)


def plain(net: Growth, x: str) -> str:
    kernel, stride = net.pick([1, 1, 3, 3, 3, 3, 5]), net.pick([1, 1, 1, 2])
    return convolved(net, x, net.pick(CHANNELS), kernel, stride)


def far_windows(net: Growth, x: str) -> str:
    """Taps that lie apart, and borders that are wider than what some cells see."""
    sides = {side: net.pick([0, 1, 2, 5, 9]) for side in ("pad_right", "pad_top", "pad_bottom")}
    given: dict[str, ParamValue] = {
        "dilation_w": net.pick([1, 1, 2, 5, 12]),
        "dilation_h": net.pick([1, 2, 7, 40]),
        "pad_left": net.pick([0, 1, 3, 9, 40]),
        **sides,
    }
    return convolved(net, x, net.pick(CHANNELS), net.number(1, 3), net.number(1, 3), **given)


def per_channel(net: Growth, x: str) -> str:
    channels = net.shape(x)[0]
    more = net.pick([1, 1, 1, 2])
    return convolved(
        net, x, channels * more, net.pick([3, 3, 5, 7]), net.number(1, 2), group=channels
    )


def grouped(net: Growth, x: str) -> str:
    fitting = [n for n in (2, 3, 4, 8, 16) if net.shape(x)[0] % n == 0]
    if not fitting:
        raise Rejected
    group = net.pick(fitting)
    return convolved(net, x, group * net.pick([4, 6, 8, 16]), net.pick([1, 3, 3]), group=group)


def few_large_groups(net: Growth, x: str) -> str:
    """Groups that fill their blocks."""
    group = net.number(2, 4)
    y = convolved(net, x, 16 * group, 1)
    return convolved(net, y, group * net.pick([16, 32]), net.pick([3, 5]), group=group)


def squeezed_and_excited(net: Growth, x: str) -> str:
    channels, *space = net.shape(x)
    if len(space) != 2:
        raise Rejected
    few = max(1, channels // 4)
    y = net.one("Pooling", x, pooling_type=1, global_pooling=1)
    for outputs, inputs, kind in ((few, channels, 1), (channels, few, 4)):
        size = outputs * inputs
        y = net.one(
            "InnerProduct", y, num_output=outputs, weight_data_size=size, activation_type=kind
        )
    return net.one("BinaryOp", x, net.one("Reshape", y, w=1, h=1, c=channels), op_type=2)


def inverted(net: Growth, x: str) -> str:
    """Many channels, a window of each, few channels; and what it began with, where that fits."""
    channels = net.shape(x)[0]
    wide = net.pick([channels * net.pick([3, 4, 6]), net.pick(CHANNELS)])
    y = activation(net, convolved(net, x, wide, 1))
    y = convolved(net, y, wide, net.pick([3, 5, 7]), net.pick([1, 1, 2]), group=wide)
    y = activation(net, y) if net.chance(0.5) else y
    y = squeezed_and_excited(net, y) if net.chance(0.4) else y
    y = convolved(net, y, net.pick([channels, channels, *CHANNELS]), 1)
    fits = net.shape(y) == net.shape(x)
    return net.one("BinaryOp", y, x, op_type=0) if fits else y


def residual(net: Growth, x: str) -> str:
    """Two or three convolutions, and what they began with."""
    channels = net.shape(x)[0]
    kernels = net.pick([(3, 3), (1, 3, 1), (1, 5, 1)])
    y = x
    for kernel in kernels[:-1]:
        y = convolved(net, y, net.pick(CHANNELS), kernel)
    y = convolved(net, y, channels, kernels[-1])
    return activation(net, net.one("BinaryOp", *((x, y) if net.chance(0.5) else (y, x)), op_type=0))


def joined(net: Growth, x: str) -> str:
    """Several windows on the same value, side by side."""
    kernels = net.pick([(1, 3), (3, 1), (1, 3, 5), (1, 1)])
    parts = [convolved(net, x, net.pick(CHANNELS), kernel) for kernel in kernels]
    return net.one("Concat", *parts, *([x] if net.chance(0.3) else []), axis=net.pick([0, -3]))


def shuffled(net: Growth, x: str) -> str:
    """A unit on one half of the channels, which are then mixed."""
    channels = net.shape(x)[0]
    if channels % 2 or len(net.shape(x)) != 3:
        raise Rejected
    half = channels // 2
    left, right = net.add("Slice", (x,), {"slices": (-233, -233)}, outputs=2)
    y = convolved(net, convolved(net, right, half, 1), half, 3, group=half)
    y = convolved(net, y, half, 1)
    return net.one("ShuffleChannel", net.one("Concat", left, y), group=2)


def enlarged(net: Growth, x: str) -> str:
    channels, *space = net.shape(x)
    if len(space) != 2:
        raise Rejected
    if net.chance(0.5):
        return net.one("Interp", x, resize_type=net.number(1, 2), height_scale=2.0, width_scale=2.0)
    outputs, (kernel, pad) = net.pick(CHANNELS), net.pick([(2, 0), (4, 1), (3, 1)])
    size = outputs * channels * kernel**2
    params = {"num_output": outputs, "kernel_w": kernel, "stride_w": 2, "pad_left": pad}
    return net.one("Deconvolution", x, **params, weight_data_size=size)


def of_matrices(net: Growth, x: str) -> str:
    """Channels as rows of a matrix, times itself, constants, or as words that attend each other."""
    if len(net.shape(x)) != 3:
        raise Rejected
    rows, columns = net.shape(x)[0], int(np.prod(net.shape(x)[1:]))
    y = net.one("Reshape", x, w=columns, h=rows)
    outputs = net.pick(CHANNELS)
    kind = net.number(0, 3)
    if kind == 0:
        scores = net.one("MatMul", y, y, transB=1)
        return net.one("MatMul", net.one("Softmax", scores, axis=1, fixbug0=1), y)
    if kind == 1:
        constants = {"constantB": 1, "constantN": outputs, "constantK": columns, "constantC": 1}
        return net.one("Gemm", y, transB=1, **constants, constant_broadcast_type_C=4)
    if kind == 2:
        return net.one("InnerProduct", y, num_output=outputs, weight_data_size=outputs * columns)
    heads = net.pick([n for n in (1, 2, 4, 8) if rows % n == 0])
    words = net.one("Permute", y, order_type=1)
    name = "MultiHeadAttention"
    return net.one(name, words, embed_dim=rows, num_heads=heads, weight_data_size=rows**2)


def stack_of_matrices(net: Growth, x: str) -> str:
    """Every channel as a matrix, times a constant; and windows of each one behind that."""
    if len(net.shape(x)) != 3:
        raise Rejected
    channels, _, columns = net.shape(x)
    constant = (*net.pick([(), (channels,)]), columns, net.pick(CHANNELS))
    y = net.one("MatMul", x, net.constant(net.random(constant)))
    return convolved(net, y, channels * net.number(1, 3), net.pick([3, 5]), group=channels)


BLOCKS: list[Motif] = [
    *[inverted] * 6,
    *[stack_of_matrices] * 4,
    *[residual] * 5,
    *[plain] * 4,
    *[joined, of_matrices, far_windows] * 3,
    *[grouped, few_large_groups] * 2,
    *[per_channel, shuffled, enlarged, squeezed_and_excited] * 2,
    *[pooling, padded, pieces, concat, binary],
]


def random_blocks(seed: int) -> RandomNetwork:
    """The network of a seed."""
    net = Growth(np.random.default_rng([seed, 31337]), most_elements=MOST_ELEMENTS)
    height = net.pick(ROWS)
    width = height if net.chance(0.5) else net.pick(ROWS)
    net.fed(net.random((net.pick([3, 3, 8, 16, 24, 32, 40, 48]), height, width)))
    wanted, attempts = 1 + net.number(2, 9), 0
    while len(net.lines) < wanted and attempts < MOST_ATTEMPTS:
        attempts += 1
        recent = [b for line in net.lines[-2:] for b in line.outputs if b in net.values]
        net.try_motif(net.pick(BLOCKS), net.pick(recent if net.chance(0.85) else list(net.values)))
    if len(net.lines) < 2:
        raise AssertionError(f"blocks {seed} do not grow")
    return RandomNetwork(seed, tuple(net.lines), net.feeds)
