"""Networks of int8 layers whose numbers are exact: whoever computes them has the same bits.

    network = random_int8(seed)             # as random_network, see there

Elsewhere a number that is rounded to int8 jumps where an error before it moves it past the middle
of two. Here there are no errors: scales are powers of two, and every value is a multiple of 2^-10
below 2^6, so that float32 holds all sums of some, in whatever order. What does not stay so is taken
back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ncc.dialects.ncnn.layer import Array, ParamValue
from tests.networks.random_growth import MOST_ATTEMPTS, Growth, Motif, Rejected
from tests.networks.random_motifs import concat, pieces
from tests.networks.random_network import RandomNetwork

FINEST, LARGEST = 2.0**-10, 2.0**6

SCALES = np.array([4, 8, 16, 32], np.float32)
FACTORS = np.array([-1, 0.25, 0.5, 1, 2], np.float32)

CHANNELS = [1, 3, 4, 8, 12, 16, 16, 17, 24, 32, 32]
EXTENTS = [1, 2, 3, 5, 7, 8, 12]

MOST_WEIGHTS = 20_000


class ExactGrowth(Growth):
    """A network all of whose values are exact."""

    def random(self, shape: Sequence[int]) -> Array:
        return (self.rng.integers(-40, 41, shape) / 32).astype(np.float32)

    def weight(self, key: str, shape: Sequence[int]) -> Array:
        if key.endswith("scales"):
            return self.rng.choice(SCALES, shape)
        return (self.rng.integers(-3, 4, shape) / 4).astype(np.float32)

    def _sane(self, array: Array) -> bool:
        if not super()._sane(array) or array.dtype != np.float32:
            return array.dtype == np.int8
        return bool(np.abs(array).max() < LARGEST and not (array % FINEST).any())


def of_bytes(net: Growth, shape: Sequence[int]) -> Array:
    """Weights as they are stored: int8, or float32 that is made int8."""
    stored = net.rng.integers(-127, 128, shape).astype(np.int8)
    return stored if net.chance(0.7) else (stored / np.float32(64)).astype(np.float32)


def _params(net: Growth, count: int, given: dict[str, ParamValue]) -> dict[str, ParamValue]:
    """Those of all layers that multiply int8, by so many weights."""
    if count > MOST_WEIGHTS:
        raise Rejected
    own = {"bias_term": net.number(0, 1), "activation_type": net.number(0, 1)}
    return {"weight_data_size": count, **own, **given}


def convolution(net: Growth, x: str, keeps: bool = False) -> str:
    """Of all channels or in groups, to float32 or to int8; `keeps`: to an image as large."""
    shape = net.shape(x)
    if len(shape) != 3:
        raise Rejected
    channels = shape[0]
    group = 1
    if not keeps and net.chance(0.4):
        group = net.pick([channels, *(n for n in (2, 3, 4, 8) if channels % n == 0)])
    outputs = channels if keeps else group * net.pick([1, 1, 2] if group > 1 else CHANNELS)
    kernel = net.pick([1, 1, 3, 3, 5])
    count = outputs * (channels // group) * kernel**2
    params = _params(
        net,
        count,
        {
            "num_output": outputs,
            "kernel_w": kernel,
            "stride_w": 1 if keeps else net.pick([1, 1, 2]),
            "dilation_w": 1 if keeps else net.pick([1, 1, 1, 2]),
            "pad_left": kernel // 2 if keeps else net.pick([0, 1, kernel // 2]),
            "int8_scale_term": net.pick([1, 2, 101, 102] if group > 1 else [1, 2, 101]),
        },
    )
    if group > 1:
        params["group"] = group
    type = "ConvolutionDepthWise" if group > 1 else "Convolution"
    [y] = net.add(type, (x,), params, fill={"weight": of_bytes(net, (count,))})
    return y


def inner_product(net: Growth, x: str) -> str:
    shape, outputs = net.shape(x), net.pick([1, 3, 8, 16, 17])
    count = outputs * (shape[-1] if len(shape) == 2 else int(np.prod(shape)))
    params = _params(net, count, {"num_output": outputs, "int8_scale_term": 1})
    return net.add("InnerProduct", (x,), params, fill={"weight": of_bytes(net, (count,))})[0]


def product(net: Growth, x: str) -> str:
    """What multiplies int8; what it makes may be int8, for another one."""
    y = x
    for _ in range(net.number(1, 3)):
        y = (convolution if len(net.shape(y)) == 3 and net.chance(0.9) else inner_product)(net, y)
        if net.values[y].dtype == np.float32:
            break
        if net.chance(0.3):
            y = net.one(net.pick(["Noop", "DeepCopy", "Flatten"]), y)
    return y


def residual(net: Growth, x: str) -> str:
    """Beside what it is made of."""
    y = convolution(net, x, keeps=True)
    if net.values[y].dtype != np.float32:
        y = convolution(net, y, keeps=True)
    return net.one("BinaryOp", y, x, op_type=0)


def quantized(net: Growth, x: str) -> str:
    """To int8, and from there to float32, as it is or by products."""
    count = net.pick([1, net.shape(x)[0]])
    scale = net.rng.choice(SCALES, count)
    [y] = net.add("Quantize", (x,), {"scale_data_size": count}, fill={"scale_data": scale})
    return net.one("Cast", y, type_from=3, type_to=1) if net.chance(0.3) else product(net, y)


def sums(net: Growth, x: str) -> str:
    """int32 from outside, as int8 and as float32, beside x."""
    shape = net.shape(x)
    y = net.fed(net.rng.integers(-900, 900, shape).astype(np.int32))
    scales = net.rng.choice([1 / 32, 1 / 64], net.pick([1, shape[0]]))
    bias = net.random((net.pick([1, shape[0]]),))
    if net.chance(0.5):
        fill = {"scale_data": scales, "bias_data": bias}
        params: dict[str, ParamValue] = {f"{name}_size": len(held) for name, held in fill.items()}
        [z] = net.add("Dequantize", (y,), params, fill=fill)
    else:
        after = net.rng.choice([1.0, 2.0], net.pick([1, shape[0]]))
        fill = {"scale_in_data": scales, "scale_out_data": after, "bias_data": bias}
        params = {f"{name}_size": len(held) for name, held in fill.items()}
        params["activation_type"] = net.number(0, 1)
        [z] = net.add("Requantize", (y,), params, fill=fill)
        z = net.one("Cast", z, type_from=3, type_to=1)
    return net.one("BinaryOp", x, z, op_type=0)


def affine(net: Growth, x: str) -> str:
    """Sums and products with powers of two, of all or channel by channel."""
    channels = net.shape(x)[0]
    drawn: list[Array] = [net.rng.choice(FACTORS, channels) for _ in range(3)]
    match net.number(0, 2):
        case 0:
            factor = float(net.rng.choice(FACTORS))
            return net.one("BinaryOp", x, op_type=net.pick([0, 2]), with_scalar=1, b=factor)
        case 1:
            params: dict[str, ParamValue] = {"scale_data_size": channels, "bias_term": 1}
            fill = dict(zip(("scale", "bias"), drawn, strict=False))
            return net.add("Scale", (x,), params, fill=fill)[0]
    fill = dict(zip(("slope", "mean", "bias"), drawn, strict=True))
    fill["var"] = net.rng.choice([0.25, 1.0, 4.0], channels)
    return net.add("BatchNorm", (x,), {"channels": channels, "eps": 0.0}, fill=fill)[0]


def pointwise(net: Growth, x: str) -> str:
    """A convolution of float32."""
    shape, outputs = net.shape(x), net.pick(CHANNELS)
    if len(shape) != 3:
        raise Rejected
    params = _params(net, outputs * shape[0], {"num_output": outputs, "kernel_w": 1})
    return net.one("Convolution", x, **params)


def pooled(net: Growth, x: str) -> str:
    """The largest of a window, or the mean of so many that it is exact."""
    if net.chance(0.5):
        return net.one("Pooling", x, kernel_w=3, stride_w=net.number(1, 2), pad_left=1, pad_mode=1)
    return net.one("Pooling", x, pooling_type=1, kernel_w=2, stride_w=2, pad_mode=1)


def other(net: Growth, x: str) -> str:
    if net.chance(0.5):
        return net.one("BinaryOp", x, net.like(x), op_type=0)
    return net.one(net.pick(["ReLU", "AbsVal", "Flatten"]), x)


MOTIFS: list[Motif] = [
    *[product, product, residual, affine] * 3,
    *[quantized, sums, pooled, pointwise, other] * 2,
    *[concat, pieces],
]


def random_int8(seed: int) -> RandomNetwork:
    """The network of a seed."""
    net = ExactGrowth(np.random.default_rng([seed, 0x000D4B38]))
    net.fed(net.random((net.pick(CHANNELS), net.pick(EXTENTS), net.pick(EXTENTS))))
    wanted, attempts = 1 + net.number(3, 12), 0
    while len(net.lines) < wanted:
        attempts += 1
        if attempts > MOST_ATTEMPTS:
            raise AssertionError(f"network {seed} does not grow")
        recent = [b for line in net.lines[-3:] for b in line.outputs if b in net.values]
        blobs = recent if recent and net.chance(0.8) else list(net.values)
        net.try_motif(net.pick(MOTIFS), net.pick(blobs))
    return RandomNetwork(seed, tuple(net.lines), net.feeds)
