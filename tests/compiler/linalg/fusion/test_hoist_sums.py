"""Sums at the end of a network stand behind what they add, where that leaves one value of many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.fusion.hoist_sums import HoistSums
from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.view import View
from ncc.compiler.plan import Plan
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.sources import Random, Weights
from ncc.dialects.weight import WeightAttr
from tests.compiler.linalg.computations import add, relu
from tests.structured.evaluate import evaluate

MakeNetwork = Callable[..., ModuleOp]


def mix(b: Builder, x: Tensor, stream: int) -> Tensor:
    w = b.weight(WeightAttr(Weights((x.shape[0], x.shape[0]), Random(3, stream))))
    o, p, i = b.loops(f"o p:{x.shape[1]} i")
    return b.sum((o, p), (i,), x[i, p] * w[o, i])


def skips(b: Builder, x: Tensor) -> Tensor:
    """Six layers, each of which hands a mixture on, and their sum."""
    handed = []
    for stream in range(6):
        x = relu(b, mix(b, x, stream))
        handed.append(mix(b, x, 10 + stream))
    total = handed[0]
    for value in handed[1:]:
        total = add(b, total, value)
    return total


def order(module: ModuleOp) -> list[str]:
    """What stands in a network: sums over channels, and what is computed at each point."""
    ops = network_of(module).body.block.ops
    found = [View(op) for op in ops if isinstance(op, GenericOp)]
    kinds = ["sum" if view.reduced else "add" if len(view.reads) == 2 else "relu" for view in found]
    return kinds


def test_each_sum_behind_its_layer(make_network: MakeNetwork) -> None:
    """The same numbers; each sum stands directly behind the layer that it adds."""
    module = make_network([(8, 5)], skips)
    data = [np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32)]
    [want] = evaluate(network_of(module), data)
    HoistSums().apply(Context(), module)
    module.verify()
    [got] = evaluate(network_of(module), data)
    np.testing.assert_array_equal(got, want)
    layer = ["sum", "relu", "sum"]
    assert order(module) == [*layer, *[*layer, "add"] * 5]


def test_memory_of_one(make_network: MakeNetwork, make_plan: Callable[..., Plan]) -> None:
    """Memory holds the total and what is added, not what all layers hand on."""
    module, hoisted = (make_network([(8, 4096)], skips) for _ in range(2))
    HoistSums().apply(Context(), hoisted)
    value = 8 * 4096 * 4
    before, after = (make_plan(one).arena_bytes for one in (module, hoisted))
    assert before >= 5 * value > 3 * value >= after


def test_a_value_that_is_read_again(make_network: MakeNetwork) -> None:
    """A residual sum leaves as many values as it finds, and stays where it is."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = mix(b, x, 1)
        z = mix(b, y, 2)
        return add(b, add(b, y, z), mix(b, y, 3))

    module = make_network([(8, 5)], write)
    before = str(module)
    HoistSums().apply(Context(), module)
    assert str(module) == before
