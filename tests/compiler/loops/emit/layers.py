"""Layers for tests of strategies, at the linalg level."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from ncc.compiler.loops.kernel.kernel import LINE, Access, Kernel
from ncc.compiler.target import TARGETS
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from tests.compiler.linalg.operations import depthwise, ones

KernelOf: TypeAlias = Callable[..., Kernel]
"""The type of the fixture `kernel`."""

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def convolution(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(64, x.shape[0], 3, 3))
    o, y, z, i, k, m = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def depthwise_of_blocks(b: Builder, x: Tensor) -> Tensor:
    return depthwise(b, convolution(b, x))


def pooling(b: Builder, x: Tensor) -> Tensor:
    """The largest of each window of 2x2, after a convolution with blocks of channels."""
    x = convolution(b, x)
    c, y, z, k, m = b.loops(f"c y:{x.shape[1] // 2} z:{x.shape[2] // 2} k:2 m:2")
    return b.max((c, y, z), over=(k, m), of=x[c, y * 2 + k, z * 2 + m])


def inner_product(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(1000, x.shape[0]))
    o, i = b.loops("o i")
    return b.sum((o,), over=(i,), of=x[i] * w[o, i])


def pointwise(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, exp(x[at]))


def line_of(access: Access, subview: dict[int, int]) -> int:
    """The cache line that an access reads at these indices."""
    return (access.offset + sum(access.coefficients[d] * n for d, n in subview.items())) // LINE


def pointwise_convolution(outputs: int) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(outputs, x.shape[0]))
        o, y, z, i = b.loops("o y z i")
        return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])

    return write
