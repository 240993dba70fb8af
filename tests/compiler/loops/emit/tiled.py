"""Networks whose convolutions are in tiles, run as machine code and judged in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.sources import Array
from tests.compiler.linalg.convolutions.layers import convolution
from tests.compiler.linalg.operations import add, relu
from tests.runnable import RUNNABLE
from tests.structured.evaluate import evaluate

FLOATS = [target for target in RUNNABLE if not target.dot]
"""Those that differ in arithmetic of floats; dot products of int8 change none of it."""
TOLERANCE = 2e-5
"""Of the largest result, against double precision: F(4x4) rounds about ten times as coarsely."""


def block(b: Builder, x: Tensor) -> Tensor:
    """A residual block whose input is computed: relu(conv(relu(conv(x))) + x)."""
    x = b.scaled(x, 0.5)
    y = relu(b, convolution(b, x, x.shape[0] + 16))
    return relu(b, add(b, convolution(b, y, x.shape[0]), x))


def check(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    shapes: Sequence[tuple[int, ...]],
    target: Target,
    *,
    tiles: Target,
    pack: bool = True,
    write: Callable[[Builder, Tensor], Tensor] = block,
) -> list[Kernel]:
    """Run a block of each shape, judge it in double precision; the kernels that ran.

    tiles: the target that convolutions are chosen for.
    """
    draw = np.random.default_rng(2)
    networks: list[tuple[ModuleOp, list[Array]]] = []
    expected: list[Array] = []
    for shape in shapes:
        module = make_network([shape], write)
        arrays = [draw.standard_normal(shape).astype(np.float32)]
        expected += evaluate(network_of(module), arrays, dtype=np.float64)
        ChooseConvolution(tiles).apply(Context(), module)
        if pack:
            PackChannels().apply(Context(), module)
        networks.append((module, arrays))
    found, programs = run_networks(networks, lambda k: choose(k, target), target)
    for want, (got,) in zip(expected, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * np.abs(want).max())
    return [kernel for program in programs for kernel in program.kernels]
