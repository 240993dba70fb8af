"""Sums at the end of a network stand behind what they add, where that leaves one value of many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.reductions.hoist_reductions import HoistReductions
from ncc.compiler.linalg.rewrite.insert import erase_dead
from ncc.compiler.plan import Plan
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import clamp, to_index
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import add, relu
from tests.compiler.linalg.same_numbers import after
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
    found = [LinalgOp(op) for op in ops if isinstance(op, GenericOp)]
    kinds = [
        "sum" if linalg_op.reduced else "add" if len(linalg_op.reads) == 2 else "relu"
        for linalg_op in found
    ]
    return kinds


def test_each_sum_behind_its_layer(make_network: MakeNetwork) -> None:
    """The same numbers; each sum stands directly behind the layer that it adds."""
    module = make_network([(8, 5)], skips)
    data = [np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32)]
    [want] = evaluate(network_of(module), data)
    HoistReductions().apply(Context(), module)
    module.verify()
    [got] = evaluate(network_of(module), data)
    np.testing.assert_array_equal(got, want)
    layer = ["sum", "relu", "sum"]
    assert order(module) == [*layer, *[*layer, "add"] * 5]


def test_memory_of_one(make_network: MakeNetwork, make_plan: Callable[..., Plan]) -> None:
    """Memory holds the total and what is added, not what all layers hand on."""
    module, hoisted = (make_network([(8, 4096)], skips) for _ in range(2))
    HoistReductions().apply(Context(), hoisted)
    value = 8 * 4096 * 4
    before, after = (make_plan(one).arena_bytes for one in (module, hoisted))
    assert before >= 5 * value > 3 * value >= after


def test_a_value_that_is_read_again(make_network: MakeNetwork) -> None:
    """A residual sum leaves as many values as it finds, and stays where it is."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = mix(b, x, 1)
        z = mix(b, y, 2)
        other = mix(b, y, 3)
        return add(b, add(b, y, z), other)

    assert not hoisted(make_network([(8, 5)], write))


def hoisted(module: ModuleOp) -> bool:
    """Whether the pass moves anything; all is there still when it is needed."""
    erase_dead(network_of(module).body.block)
    before = str(module)
    after(module, HoistReductions())
    return str(module) != before


def scaled(b: Builder, a: Tensor, c: Tensor, rows: Tensor) -> Tensor:
    """One of a size, by numbers of its rows that nobody else reads."""
    p, q = b.loops_of(a.shape)
    return b.map((p, q), a[p, q] * rows[p])


def product(b: Builder, a: Tensor, c: Tensor, rows: Tensor) -> Tensor:
    p, q, k = b.loops_of((*a.shape, a.shape[1]))
    return b.sum((p, q), (k,), a[p, k] * c[k, q])


def into_another(b: Builder, a: Tensor, c: Tensor, rows: Tensor) -> Tensor:
    """Every other column, where a later value is."""
    later = relu(b, b.spread(rows, a.shape, axis=0))
    p, q = b.loops_of((a.shape[0], a.shape[1] // 2))
    of = a[p, q * 2] + c[p, q * 2]
    return b.map((p, q * 2), of, into=later)


@pytest.mark.parametrize("write", [scaled, product, into_another])
def test_what_stays(make_network: MakeNetwork, write: Callable[..., Tensor]) -> None:
    """What leaves no value less, sums over loops, and what is stored into another value."""

    def behind(b: Builder, x: Tensor) -> list[Tensor]:
        a, c = relu(b, x), add(b, x, x)
        p, q = b.loops_of(x.shape)
        rows = b.sum((p,), (q,), x[p, q])
        later = relu(b, x)
        return [write(b, a, c, rows), later]

    assert not hoisted(make_network([(6, 6)], behind))


def with_an_argument(b: Builder, x: Tensor, a: Tensor, c: Tensor) -> list[Tensor]:
    later = relu(b, x)
    at = b.loops_of(x.shape)
    return [b.map(at, x[at] + a[at] + c[at]), later]


def with_cells_of_another(b: Builder, x: Tensor, a: Tensor, c: Tensor) -> list[Tensor]:
    """With the first of each row of a value that is made behind both."""
    other = relu(b, x)
    later = relu(b, x)
    p, q = b.loops_of(x.shape)
    first = other.at(b.index(p), to_index(clamp(x[p, q], 0.0, 0.0)))
    return [b.map((p, q), a[p, q] + c[p, q] + first), later]


@pytest.mark.parametrize("write", [with_an_argument, with_cells_of_another])
def test_behind_all_that_is_read(
    make_network: MakeNetwork, write: Callable[..., list[Tensor]]
) -> None:
    """An argument is there from the start; values at computed indices are made first."""
    assert hoisted(make_network([(4, 5)], lambda b, x: write(b, x, relu(b, x), add(b, x, x))))


def test_an_empty_value_of_two(make_network: MakeNetwork) -> None:
    """A sum stays behind the value that says where it goes, if others go there, too."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        a, c = relu(b, x), add(b, x, x)
        return [relu(b, x), add(b, a, c)]

    module = make_network([(4, 5)], write)
    other, total = list(generics_of(network_of(module).body.block))[2:]
    total.operands[2] = other.operands[1]
    assert not hoisted(module)
