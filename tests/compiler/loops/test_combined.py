"""Strassen's product as machine code: right on every target, and nothing written outside.

The memory around every root is watched, and what nobody computed is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.blocks import Blocks
from ncc.compiler.linalg.choose_product import ChooseProduct
from ncc.compiler.linalg.evaluate import evaluate
from ncc.compiler.linalg.fuse import network_of
from ncc.compiler.linalg.pack import Pack
from ncc.compiler.linalg.strassen import C
from ncc.compiler.loops import strategies
from ncc.compiler.loops.combined import Plan
from ncc.compiler.loops.kernel import Kernel
from ncc.compiler.target import TARGETS, Target
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.sources import Array, Random, Weights
from ncc.dialects.weight import WeightAttr
from ncc.runtime import cpu

RUNNABLE = [t for t in TARGETS if t.features <= cpu.features() and not t.dot]
"""Those that differ in arithmetic of floats; dot products of int8 change none of it."""

TOLERANCE = 2e-6
"""Of the largest result, against double precision."""


def weights(b: Builder, shape: Sequence[int], stream: int) -> Tensor:
    scale = float(np.prod(shape[1:])) ** -0.5
    return b.weight(WeightAttr(Weights(tuple(shape), Random(7, stream, scale))))


def relu(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, maximum(x[at], 0.0))


def depthwise(b: Builder, x: Tensor) -> Tensor:
    """3x3 with a bias and a border of zeros."""
    bias = b.spread(weights(b, x.shape[:1], 1), x.shape, axis=0)
    padded = b.pad(x, [0, 1, 1], [0, 1, 1])
    w = weights(b, (x.shape[0], 3, 3), 2)
    c, p, q, k, m = b.loops(f"c p:{x.shape[1]} q:{x.shape[2]} k m")
    return b.sum((c, p, q), (k, m), padded[c, p + k, q + m] * w[c, k, m], bias)


def pointwise(b: Builder, x: Tensor, outputs: int, stride: int = 1) -> Tensor:
    """1x1 with a bias."""
    height, width = (-(-n // stride) for n in x.shape[1:])
    w, bias = weights(b, (outputs, x.shape[0]), 3), weights(b, (outputs,), 4)
    init = b.spread(bias, (outputs, height, width), axis=0)
    o, p, q, i = b.loops(f"o p:{height} q:{width} i")
    return b.sum((o, p, q), (i,), x[i, p * stride, q * stride] * w[o, i], init)


def separable(b: Builder, x: Tensor) -> Tensor:
    """Depthwise and pointwise with activations, and the input added."""
    y = relu(b, pointwise(b, relu(b, depthwise(b, x)), x.shape[0]))
    at = b.loops_of(x.shape)
    return b.map(at, y[at] + x[at])


def strided(b: Builder, x: Tensor) -> Tensor:
    return pointwise(b, x, 64, stride=2)


def check(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    network: Callable[[Builder, Tensor], Tensor],
    shapes: Sequence[tuple[int, ...]],
    target: Target,
) -> list[Kernel]:
    """Run a network of each shape, judge it in double precision; the kernels that ran."""
    draw = np.random.default_rng(2)
    networks: list[tuple[ModuleOp, list[Array]]] = []
    expected: list[Array] = []
    for shape in shapes:
        module = make_network([shape], network)
        arrays = [draw.standard_normal(shape).astype(np.float32)]
        expected += evaluate(network_of(module), arrays, dtype=np.float64)
        ChooseProduct().apply(Context(), module)
        module.verify()
        weights_once = [op for op in network_of(module).body.block.ops if "quartered" in str(op)]
        assert len(weights_once) == 1
        Pack().apply(Context(), module)
        networks.append((module, arrays))
    found, programs = run_networks(networks, lambda k: strategies.choose(k, target), target)
    for want, (got,) in zip(expected, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * np.abs(want).max())
    return [kernel for program in programs for kernel in program.kernels]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in blocks, two pairs of rows at a time."""
    monkeypatch.setattr(Blocks, "pays", True)
    monkeypatch.setattr(Blocks, "chunk", lambda *_: 2)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda target: target.name)
@pytest.mark.parametrize("network", [separable, strided])
def test_on_every_target(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    network: Callable[[Builder, Tensor], Tensor],
    target: Target,
) -> None:
    """Sums of windows or of an image, chunks, bias, activations and a residual."""
    shapes = [(64, 4, 9), (32, 9, 15)]
    kernels = check(make_network, run_networks, network, shapes, target)
    combining = [kernel for kernel in kernels if kernel.combination is not None]
    assert len(combining) >= 2 * len(shapes)
    assert all(strategies.choose(kernel, target).vector == target.lanes for kernel in combining)


def test_sums_go_on_from_sums() -> None:
    """Seven sums, of which five go on from another; the last four complete a row each."""
    plan = Plan.of(C)
    assert plan.starts == (None, 0, 1, 2, 0, None, 1)
    assert (plan.first, plan.rows, plan.others) == (3, (2, 0, 3, 1), (None, None, 2, 5))
    made: list[set[int]] = []
    for column, start in enumerate(plan.starts):
        made.append({column} | (set() if start is None else made[start]))
    for column, (row, other) in enumerate(zip(plan.rows, plan.others, strict=True), plan.first):
        columns = sorted([*made[column], *(set() if other is None else made[other])])
        assert columns == [k for k, factor in enumerate(C[row]) if factor]
