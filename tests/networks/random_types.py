"""Motifs of element types: int8 and back, sums of int32, half precision, words.

A number that is rounded jumps where an error before it moves it past the middle of two. So what is
rounded is an input, the same for all, or stays clear of the middle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ncc.dialects.bfloat16 import from_bfloat16, to_bfloat16
from ncc.dialects.ncnn.layer import Array, ParamValue
from ncc.dialects.ncnn.quantization.int8 import quantize_array
from tests.networks.random_growth import Growth, Motif, Rejected

FLOAT32, FLOAT16, INT8, BFLOAT16 = 1, 2, 3, 4
"""What Cast calls the types."""

ERROR = 2e-5
"""More than a network's rounding errors come to, as a part of a blob's largest value."""


def require_settled(net: Growth, x: str, rounded: Callable[[Array], Array]) -> None:
    """Only where what x is rounded to is the same whatever errors it has."""
    if x in net.feeds:
        return
    values = net.values[x]
    error = np.float32(ERROR) * np.abs(values).max()
    if not np.array_equal(rounded(values - error), rounded(values + error)):
        raise Rejected


def moved(net: Growth, x: str) -> str:
    """Now and then a layer that takes elements of any type."""
    first = net.shape(x)[0]
    options: list[tuple[str, dict[str, ParamValue]]] = [
        ("Flatten", {}),
        ("Reshape", {"w": -1}),
        ("Reshape", {"w": -1, "h": first}),
        ("Noop", {}),
        ("DeepCopy", {}),
    ]
    type, params = net.pick(options)
    return net.one(type, x, **params) if net.chance(0.4) else x


def scales(net: Growth, count: int, least: float, most: float) -> Array:
    return net.rng.uniform(least, most, count).astype(np.float32)


def half_precision(net: Growth, x: str) -> str:
    """To 16 bits and back."""
    narrow = net.pick([FLOAT16, BFLOAT16])
    require_settled(net, x, lambda values: _narrowed(values, narrow))
    y = net.one("Cast", x, type_from=FLOAT32, type_to=narrow)
    if net.chance(0.15):
        return y
    return net.one("Cast", moved(net, y), type_from=narrow, type_to=FLOAT32)


def _narrowed(values: Array, type: int) -> Array:
    if type == FLOAT16:
        return values.astype(np.float16)
    return from_bfloat16(to_bfloat16(values))


def quantized(net: Growth, x: str) -> str:
    """To int8, and from there to float32 as it is or by an int8 layer with weights."""
    shape = net.shape(x)
    count = net.pick([1, shape[0]]) if len(shape) > 1 else 1
    scale = scales(net, count, 4.0, 60.0)
    along = scale.reshape(-1, *(1,) * (len(shape) - 1))
    require_settled(net, x, lambda values: quantize_array(values, along))
    [y] = net.add("Quantize", (x,), {"scale_data_size": count}, fill={"scale_data": scale})
    if net.chance(0.15):
        return y
    if net.chance(0.4):
        return net.one("Cast", moved(net, y), type_from=INT8, type_to=FLOAT32)
    return product_of_int8(net, y)


def product_of_int8(net: Growth, x: str) -> str:
    """A layer that multiplies int8, of a blob that is int8."""
    shape = net.shape(x)
    if len(shape) == 3:
        outputs, kernel, term = net.pick([1, 4, 8, 16]), net.number(1, 3), net.pick([1, 2])
        window: dict[str, ParamValue] = {"kernel_w": kernel, "pad_left": net.number(0, 1)}
        type, size = "Convolution", outputs * shape[0] * kernel**2
    else:
        outputs, term, window = net.number(1, 8), 1, {}
        columns = shape[-1] if len(shape) == 2 else int(np.prod(shape))
        type, size = "InnerProduct", outputs * columns
    params: dict[str, ParamValue] = {
        "num_output": outputs,
        "bias_term": net.number(0, 1),
        "weight_data_size": size,
        "int8_scale_term": term,
        "activation_type": net.number(0, 1),
        **window,
    }
    fill = {
        "weight_data_int8_scales": scales(net, outputs, 40.0, 120.0),
        "bottom_blob_int8_scales": scales(net, 1, 4.0, 60.0),
    }
    return net.add(type, (x,), params, fill=fill)[0]


def sums_of_int8(net: Growth, x: str) -> str:
    """int32 from outside, made float32, beside x."""
    shape = net.shape(x)
    channels = 1 if len(shape) == 1 else shape[0]
    sums = net.fed(net.rng.integers(-900, 900, shape).astype(np.int32))
    finish = requantized if net.chance(0.4) else dequantized
    return net.one("BinaryOp", x, finish(net, sums, channels), op_type=net.pick([0, 2]))


def dequantized(net: Growth, sums: str, channels: int) -> str:
    count, biases = net.pick([1, channels]), net.pick([0, 1, channels])
    params = {"scale_data_size": count, "bias_data_size": biases}
    fill = {"scale_data": scales(net, count, 1e-3, 5e-3)}
    return net.add("Dequantize", (sums,), params, fill=fill)[0]


def requantized(net: Growth, sums: str, channels: int) -> str:
    """To int8 and float32. Where the wheel packs channels by four, it takes the first one's numbers
    for all.
    """
    channels = 1 if channels % 8 == 4 else channels
    before, after, biases = (net.pick([1, channels]) for _ in range(3))
    params: dict[str, ParamValue] = {
        "scale_in_data_size": before,
        "scale_out_data_size": after,
        "bias_data_size": biases * net.number(0, 1),
        "activation_type": net.number(0, 1),
    }
    fill = {
        "scale_in_data": scales(net, before, 0.01, 0.05),
        "scale_out_data": scales(net, after, 1.0, 9.0),
    }
    [y] = net.add("Requantize", (sums,), params, fill=fill)
    return net.one("Cast", y, type_from=INT8, type_to=FLOAT32)


def words(net: Growth, x: str) -> str:
    """The rows of words from outside, some of them beyond the last one, times x where it fits."""
    known, features = net.number(1, 9), net.shape(x)[-1]
    text = net.fed(net.rng.integers(-1, known + 2, net.number(1, 6)).astype(np.int32))
    size = known * features
    params: dict[str, ParamValue] = {"input_dim": known, "weight_data_size": size}
    y = net.one("Embed", text, num_output=features, bias_term=net.number(0, 1), **params)
    return net.one("MatMul", y, x, transB=1) if len(net.shape(x)) == 2 else y


TYPES: list[Motif] = [half_precision, quantized, sums_of_int8, words]
