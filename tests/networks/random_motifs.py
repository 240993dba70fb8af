"""What random networks are made of: layers, and the chains that rewrites look for.

A motif adds layers behind a blob, with what may stand in the way of a rewrite: activations in the
middle, constants on either side, second readers, odd ranks. Where it does not fit it is `Rejected`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ncc.dialects.ncnn.layer import Array
from tests.networks.random_growth import Growth, Motif, Params, Rejected, extents
from tests.networks.random_layers import (
    POINTWISE,
    activation,
    channels_moved,
    convolution,
    fused,
    host,
    inner_product,
    normalization,
    pointwise,
    pooling,
    product_of_matrices,
    reduction,
)


def constant_for(net: Growth, x: str) -> str:
    """A constant that broadcasts to x in one of many ways."""
    shape = net.shape(x)
    ones = (1,) * (len(shape) - 1)
    per_channel = [(shape[0],), (shape[0], *ones)]
    options = [(1,), *per_channel * 3, (shape[-1],), (1, *ones), shape]
    made = [line.outputs[0] for line in net.lines if line.type == "MemoryData"]
    if made and net.chance(0.2):
        return net.pick(made)
    array = net.random(net.pick(options))
    return net.constant(np.ones_like(array) if net.chance(0.1) else array)


def binary_with_constant(net: Growth, x: str) -> str:
    constant = constant_for(net, x)
    operands = (x, constant) if net.chance(0.6) else (constant, x)
    return net.one("BinaryOp", *operands, op_type=net.pick([0, 0, 1, 2, 2, 2, 4, 5, 7]))


def binary_with_scalar(net: Growth, x: str) -> str:
    b = net.pick([0.0, 1.0, -1.0, 2.0, net.real()])
    return net.one("BinaryOp", x, op_type=net.pick([0, 1, 2, 4, 5, 7]), with_scalar=1, b=b)


def binary(net: Growth, x: str) -> str:
    other = net.like(x) if net.chance(0.7) else net.pick(list(net.values))
    operands = (x, other) if net.chance(0.5) else (other, x)
    return net.one("BinaryOp", *operands, op_type=net.pick([0, 1, 2, 4, 5, 7]))


def affine(net: Growth, x: str) -> str:
    channels = net.shape(x)[0]
    kind = net.number(0, 8)
    if kind == 0:
        return net.one("BatchNorm", x, channels=channels, eps=net.pick([0.0, 1e-5, 1e-3]))
    if kind == 1:
        return net.one("Scale", x, scale_data_size=channels, bias_term=net.number(0, 1))
    if kind == 2:
        return net.one("Bias", x, bias_data_size=channels)
    if kind == 3:
        return net.one("PReLU", x, num_slope=net.pick([1, channels]))
    if kind == 4:
        return net.one("Dropout", x, scale=net.pick([1.0, 0.5, -2.0]))
    if kind == 5:
        return net.one("Power", x, scale=net.real(), shift=net.real())
    return binary_with_scalar(net, x) if kind == 6 else binary_with_constant(net, x)


def chain(net: Growth, x: str) -> str:
    """A host and what may be folded into it."""
    x = affine(net, x) if net.chance(0.15) else host(net, x)
    for _ in range(net.number(1, 4)):
        x = affine(net, x) if net.chance(0.7) else activation(net, x)
        if net.chance(0.08):
            activation(net, x)  # a second reader, and an output
    return x


def batch_norm_without_variance(net: Growth, x: str) -> str:
    """A standard deviation of 0, for which ncnn puts another."""
    x = host(net, x)
    channels = net.shape(x)[0]
    fill: dict[str, Array] = {
        "var": np.zeros(channels),
        "slope": net.random((channels,)) * np.float32(1e-3),
    }
    return net.add("BatchNorm", (x,), {"channels": channels}, fill=fill)[0]


def sum_of_products(net: Growth, x: str) -> str:
    """a s + b t, also where one of them is broadcast."""
    y = net.like(x) if net.chance(0.7) else net.pick(list(net.values))
    left = net.one("BinaryOp", x, op_type=2, with_scalar=1, b=net.real())
    right = net.one("BinaryOp", y, op_type=2, with_scalar=1, b=net.real())
    operands = net.pick([(left, right), (right, left), (left, y), (x, right)])
    return net.one("BinaryOp", *operands, op_type=0)


def eltwise(net: Growth, x: str) -> str:
    others = [net.like(x) for _ in range(net.number(1, 2))]
    weights: Params = {}
    if net.chance(0.4):
        weights = {"coeffs": tuple(net.real() for _ in range(len(others) + 1))}
    return net.one("Eltwise", x, *others, op_type=1 if weights else net.number(0, 2), **weights)


def squeeze_and_excite(net: Growth, x: str) -> str:
    shape = net.shape(x)
    if len(shape) != 3:
        raise Rejected
    channels = shape[0]
    means: Params = {"operation": 3, "reduce_all": 0, "axes": (1, 2), "fixbug0": 1}
    if net.chance(0.6):
        y = net.one("Pooling", x, pooling_type=1, global_pooling=1)
    else:
        y = net.one("Reduction", x, **means, keepdims=net.number(0, 1))
    if net.chance(0.4):
        y = net.pick([vector, flatten])(net, y)
    for outputs in (max(1, channels // 2), channels):
        size = outputs * channels if outputs != channels else outputs * max(1, channels // 2)
        params = {"num_output": outputs, "weight_data_size": size, "bias_term": 1}
        if net.chance(0.5):
            y = net.one("Convolution", y, **params, kernel_w=1)
        else:
            y = net.one("InnerProduct", y, **params)
        y = activation(net, y)
    y = net.one("Reshape", y, w=1, h=1, c=channels) if net.chance(0.7) else y
    return net.one("BinaryOp", *((x, y) if net.chance(0.5) else (y, x)), op_type=2)


def vector(net: Growth, x: str) -> str:
    return net.one("Reshape", x, w=net.pick([-1, int(net.values[x].size)]))


def flatten(net: Growth, x: str) -> str:
    return net.one("Flatten", x)


def single_column_before_binary(net: Growth, x: str) -> str:
    """Something as [N, 1, 1] beside something else."""
    column = net.one("Reshape", x, w=1, h=1, c=-1)
    other = net.pick(list(net.values))
    operands = (column, other) if net.chance(0.5) else (other, column)
    return net.one("BinaryOp", *operands, op_type=net.pick([0, 2]))


def product_after_product(net: Growth, x: str) -> str:
    """InnerProduct, or global pooling, and what may follow on its result."""
    if net.chance(0.5):
        x = inner_product(net, x)
    else:
        x = net.one("Pooling", x, pooling_type=net.number(0, 1), global_pooling=1)
    for _ in range(net.number(1, 3)):
        kind = net.number(0, 3)
        if kind == 0:
            x = flatten(net, x)
        elif kind == 1:
            x = inner_product(net, x)
        elif kind == 2:
            outputs, size = net.number(1, 6), int(net.values[x].size)
            x = net.one(
                "Convolution",
                x,
                num_output=outputs,
                kernel_w=1,
                weight_data_size=outputs * size,
                **fused(net),
            )
        else:
            x = affine(net, x)
    return x


def neutral(net: Growth, x: str) -> str:
    """A layer that does nothing, or nearly."""
    shape = net.shape(x)
    channels = shape[0]
    ones = {"scale": np.ones(channels)}
    options: list[Callable[[], object]] = [
        lambda: net.one("Padding", x),
        lambda: net.one("Concat", x),
        lambda: net.one("Permute", x, order_type=0),
        lambda: net.one("Interp", x, resize_type=net.number(1, 3)),
        lambda: net.one("Power", x),
        lambda: net.one("Dropout", x),
        lambda: net.one("Tile", x, tiles=1),
        lambda: net.one("ShuffleChannel", x, group=1),
        lambda: net.one("PixelShuffle", x, upscale_factor=1),
        lambda: net.one("Pooling", x, kernel_w=1, pooling_type=net.number(0, 1)),
        lambda: net.one("Reshape", x, **extents(shape)),
        lambda: net.one("Slice", x, slices=(-233,)),
        lambda: net.one("Crop", x, starts=(0,), ends=(channels,), axes=(0,)),
        lambda: net.one("BinaryOp", x, op_type=2, with_scalar=1, b=1.0),
        lambda: net.one("BinaryOp", x, op_type=0, with_scalar=1, b=0.0),
        lambda: net.one("Eltwise", x, x, op_type=1, coeffs=(1.0, 0.0)),
        lambda: net.add("Scale", (x,), {"scale_data_size": channels}, fill=ones)[0],
        lambda: net.add("Noop", (x, net.pick(list(net.values))), {}, outputs=net.number(1, 2)),
    ]
    net.pick(options)()
    return net.lines[-1].outputs[0]


def views(net: Growth, x: str) -> str:
    """Reshape, Permute, Squeeze and their like behind each other."""
    for _ in range(net.number(2, 4)):
        shape = net.shape(x)
        size = int(np.prod(shape))
        first = net.pick([n for n in range(1, size + 1) if size % n == 0])
        options: list[tuple[str, Params]] = [
            ("Reshape", {"w": -1}),
            ("Reshape", {"w": size // first, "h": first}),
            ("Reshape", {"w": -1, "h": 1, "c": first}),
            ("Reshape", {"w": 0, "h": -1}),
            ("Permute", {"order_type": net.number(0, 5)}),
            ("Permute", {"order_type": 1}),
            ("Flatten", {}),
            ("Squeeze", {"axes": (0,)}),
            ("ExpandDims", {"axes": (net.number(0, 2),)}),
        ]
        type, params = net.pick(options)
        x = net.one(type, x, **params)
    return x


def pieces(net: Growth, x: str) -> str:
    """Slices that are joined again, in order or not; or one part alone."""
    rank = len(net.shape(x))
    axis = net.number(0, rank - 1)
    if net.shape(x)[axis] < 2:
        raise Rejected
    if net.chance(0.3):
        return net.one("Crop", x, starts=(net.number(0, 1),), ends=(-1,), axes=(axis,))
    parts = net.add("Slice", (x,), {"slices": (1, -233), "axis": axis}, outputs=2)
    if net.chance(0.4):
        return activation(net, parts[1])
    joined = parts if net.chance(0.5) else parts[::-1]
    return net.one("Concat", *joined, axis=axis)


def concat(net: Growth, x: str) -> str:
    return net.one("Concat", x, net.like(x), axis=net.number(0, len(net.shape(x)) - 1))


def padded(net: Growth, x: str) -> str:
    """Padding, and a window that could pad itself."""
    top, left = net.number(0, 2), net.number(0, 2)
    params = {"top": top, "bottom": net.pick([top, 1]), "left": left, "right": net.pick([left, 0])}
    value = net.pick([0.0, 0.0, 0.5, -3.4e38])
    x = net.one("Padding", x, **params, type=net.pick([0, 0, 0, 1, 2]), value=value)
    if net.chance(0.3):
        window = {"kernel_w": 2, "stride_w": net.number(1, 2), "pad_mode": net.number(0, 3)}
        return net.one("Pooling", x, pooling_type=net.number(0, 1), **window)
    return convolution(net, x, pad_left=net.number(0, 1))


def idiom(net: Growth, x: str) -> str:
    """Arithmetic that spells Swish, GELU, LayerNorm or RMSNorm, or nearly."""
    kind = net.number(0, 2)
    if kind == 0:
        gate = net.one("Sigmoid", x)
        return net.one("BinaryOp", *((x, gate) if net.chance(0.5) else (gate, x)), op_type=2)
    if kind == 1:
        y = net.one("BinaryOp", x, op_type=3, with_scalar=1, b=net.pick([1.41421356, 1.5]))
        y = net.one("BinaryOp", net.one("Erf", y), op_type=0, with_scalar=1, b=1.0)
        y = net.one("BinaryOp", x, y, op_type=2)
        return net.one("BinaryOp", y, op_type=2, with_scalar=1, b=0.5)
    last: Params = {"reduce_all": 0, "axes": (-1,), "keepdims": 1, "fixbug0": 1}
    mean = net.one("Reduction", x, operation=3, **last)
    centred = net.one("BinaryOp", x, mean, op_type=1) if net.chance(0.5) else x
    square = net.one("UnaryOp", centred, op_type=4)
    variance = net.one("Reduction", square, operation=3, **last)
    shifted = net.one("BinaryOp", variance, op_type=0, with_scalar=1, b=1e-3)
    y = net.one("BinaryOp", centred, net.one("UnaryOp", shifted, op_type=5), op_type=3)
    if net.chance(0.5):
        return y
    gain = net.constant(net.random(net.shape(x)[-1:]))
    return net.one("BinaryOp", y, gain, op_type=net.pick([0, 2]))


def means_in_a_row(net: Growth, x: str) -> str:
    """Two Reductions over one axis each."""
    keep = net.number(0, 1)
    for axis in net.pick([(2, 1), (1, 1), (-1, -1), (1, 2), (0, 1)]):
        means: Params = {"operation": 3, "reduce_all": 0, "axes": (axis,), "fixbug0": 1}
        x = net.one("Reduction", x, **means, keepdims=keep)
    return x


def twins(net: Growth, x: str) -> str:
    """The same layer twice."""
    type, params = net.pick(POINTWISE)
    left, right = net.one(type, x, **params), net.one(type, x, **params)
    return net.one("BinaryOp", left, right, op_type=net.pick([0, 2]))


def branches(net: Growth, x: str) -> str:
    """Two windows on the same cells, or one and a layer of each channel, and their sum."""
    shape = net.shape(x)
    if len(shape) != 3:
        raise Rejected
    wide = convolution(net, x, False, False, **_same_cells(3, shape[0]), activation_type=0)
    kind = net.number(0, 2)
    if kind == 0:
        other = net.one("BatchNorm", x, channels=shape[0])
    elif kind == 1:
        other = net.one("Scale", x, scale_data_size=shape[0], bias_term=1)
    else:
        narrow = _same_cells(1, shape[0])
        other = convolution(net, x, False, False, **narrow, activation_type=net.pick([0, 0, 1]))
    return net.one("BinaryOp", *((wide, other) if net.chance(0.5) else (other, wide)), op_type=0)


def _same_cells(kernel: int, channels: int) -> Params:
    """Of a convolution that makes an image of what it reads as large and as deep."""
    size = {
        "kernel_w": kernel,
        "num_output": channels,
        "weight_data_size": (channels * kernel) ** 2,
    }
    return {**size, "stride_w": 1, "dilation_w": 1, "pad_left": kernel // 2}


def constants_only(net: Growth, x: str) -> str:
    """Layers that no input has a part in."""
    constant = constant_for(net, x)
    for _ in range(net.number(1, 2)):
        constant = pointwise(net, constant)
    return net.one("BinaryOp", x, constant, op_type=net.pick([0, 2]))


def activations(net: Growth, x: str) -> str:
    for _ in range(net.number(2, 3)):
        x = activation(net, x)
    return x


def masked(net: Growth, x: str) -> str:
    """A layer that asks ncnn for something special."""
    x = convolution(net, x, feature_mask=net.pick([1, 2, 4]))
    return net.one("ReLU", x)


MOTIFS: list[Motif] = [
    *[chain] * 7,
    *[views, neutral, squeeze_and_excite, product_after_product] * 2,
    *[pointwise] * 6,
    *[pooling, normalization, reduction, channels_moved, product_of_matrices] * 2,
    *[activation, pointwise, host, pooling, normalization, reduction, channels_moved],
    *[product_of_matrices, binary_with_constant, binary_with_scalar, binary, affine],
    *[batch_norm_without_variance, sum_of_products, eltwise, single_column_before_binary],
    *[pieces, concat, padded, idiom, means_in_a_row, twins, branches, constants_only, activations],
    masked,
]
