"""Every layer with weights before everything that may vanish in it."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.layer import ParamValue
from tests.networks.random_growth import Growth, Motif
from tests.networks.random_layers import convolution


def _convolution(grouped: bool, transposed: bool) -> Motif:
    def host(net: Growth, x: str) -> str:
        return convolution(net, x, grouped, transposed, activation_type=0)

    return host


def _per_channel(type: str, count: str) -> Motif:
    def layer(net: Growth, x: str) -> str:
        return net.one(type, x, **{count: net.shape(x)[0]})

    return layer


def _gemm(net: Growth, x: str) -> str:
    rows, columns = net.shape(x)
    params = {"transB": 1, "constantB": 1, "constantN": rows, "constantK": columns}
    return net.one("Gemm", x, **params, constantC=1, constant_broadcast_type_C=-1)


def _plain_inner_product(net: Growth, x: str) -> str:
    size = int(np.prod(net.shape(x)))
    return net.one("InnerProduct", x, num_output=4, bias_term=1, weight_data_size=4 * size)


def _with_constant(op_type: int) -> Motif:
    def layer(net: Growth, x: str) -> str:
        constant = net.constant(net.random((net.shape(x)[0],)))
        operands = (x, constant) if net.chance(0.5) else (constant, x)
        return net.one("BinaryOp", *operands, op_type=op_type)

    return layer


def lone(type: str, **params: ParamValue) -> Motif:
    """A layer by itself."""

    def layer(net: Growth, x: str) -> str:
        return net.one(type, x, **params)

    return layer


HOSTS: list[tuple[int, Motif]] = [
    *[(r, _convolution(g, t)) for r in (3, 2, 4) for g in (False, True) for t in (False, True)],
    (3, _plain_inner_product),
    (2, _gemm),
    (3, _per_channel("BatchNorm", "channels")),
    (3, _per_channel("Scale", "scale_data_size")),
    (1, _per_channel("LayerNorm", "affine_size")),
]
"""The rank of what they read, and the layer."""

TAILS: list[Motif] = [
    _per_channel("BatchNorm", "channels"),
    _per_channel("Scale", "scale_data_size"),
    _per_channel("Bias", "bias_data_size"),
    _with_constant(2),
    _with_constant(0),
    lone("Dropout", scale=0.5),
    lone("Power", scale=0.5, shift=0.25),
    lone("ReLU"),
    lone("Clip", min=-0.5, max=0.75),
]


PAIRS = len(HOSTS) * len(TAILS)
"""After so many seeds every pair had its turn."""


def planted(seed: int) -> tuple[int, Motif]:
    """One host and one tail; every pair has its turn. First the rank of what the host reads."""
    rank, host = HOSTS[seed % len(HOSTS)]
    tail = TAILS[seed // len(HOSTS) % len(TAILS)]

    def motif(net: Growth, x: str) -> str:
        middle = host(net, x)
        result = tail(net, middle)
        del net.values[middle]  # so that nothing else comes to read it
        return result

    return rank, motif
