"""Views behind pointwise operations: what is computed stays, bit by bit, and is stored once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.fusion.fusion_groups import find_groups
from ncc.compiler.linalg.layout.hoist_elementwise import HoistElementwise
from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum, select
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import add, every_other, relu, turned
from tests.compiler.linalg.same_numbers import after, marked

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

SHAPE = (6, 4, 5)


def scale(b: Builder, x: Tensor, factors: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] * factors[at[0]])


def grouped(b: Builder, x: Tensor, groups: int = 2) -> Tensor:
    """A pointwise convolution in groups, as many channels as x."""
    inner = x.shape[0] // groups
    values = np.random.default_rng(inner).standard_normal((groups, inner, inner))
    w = b.weight(WeightAttr.of(values.astype(np.float32)))
    g, o, y, z, i = b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
    total = b.sum((g, o, y, z), over=(i,), of=x[g * inner + i, y, z] * w[g, o, i])
    return b.collapse(total, [[0, 1], [2], [3]])


@pytest.fixture
def groups(make_network: MakeNetwork) -> Callable[[Any], tuple[int, int]]:
    """groups(write): how many kernels without the pass, and with it."""

    def count(write: Any) -> tuple[int, int]:
        module = make_network([SHAPE, SHAPE], write)
        block, most = network_of(module).body.block, CostModel().fusion.most_in_epilogue
        before = len(find_groups(block, most))
        HoistElementwise().apply(Context(), module)
        module.verify()
        return before, len(find_groups(block, most))

    return count


Groups: TypeAlias = Callable[[Any], tuple[int, int]]


def test_activations_join_the_groups_of_a_convolution(groups: Groups) -> None:
    """With what they add and scale, under the shape that the groups have."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        factors = b.weight(WeightAttr.of(np.arange(6, dtype=np.float32)))
        return relu(b, add(b, scale(b, grouped(b, x), factors), y))

    assert groups(write) == (2, 1)


def test_activations_join_each_branch(groups: Groups) -> None:
    """Through the concat, and through the reshape that stands before it."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        return relu(b, b.concat([grouped(b, x), grouped(b, y, 3)], 0))

    assert groups(write) == (3, 2)


def shuffled(b: Builder, x: Tensor) -> Tensor:
    """Pairs of channels, as neighbours of a row."""
    c, y, z, r = b.loops_of((x.shape[0] // 2, *x.shape[1:], 2))
    return b.collapse(b.map((c, y, z, r), x[c * 2 + r, y, z]), [[0], [1], [2, 3]])


def repeated(b: Builder, x: Tensor) -> Tensor:
    """Each element twice, as neighbours of a row."""
    c, y, z, r = b.loops_of((*x.shape, 2))
    return b.collapse(b.map((c, y, z, r), x[c, y, z]), [[0], [1], [2, 3]])


@pytest.mark.parametrize(("move", "joins"), [(shuffled, True), (repeated, False)])
def test_activations_join_what_is_shuffled(
    make_network: MakeNetwork, move: Callable[[Builder, Tensor], Tensor], joins: bool
) -> None:
    """They are computed where the value is made, not where it is put; of what is
    repeated, as it is stored.
    """
    module = make_network([SHAPE], lambda b, x: relu(b, move(b, add(b, x, x))))
    *_, moved = after(module, HoistElementwise())
    assert (moved.yielded is moved.body.args[0]) == joins


def test_activations_pass_any_number_of_moves(make_network: MakeNetwork) -> None:
    """One after the other: their number is not that of calls inside one another."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = add(b, x, x)
        for _ in range(1200):
            x = turned(b, x)
        return relu(b, x)

    module = make_network([SHAPE], write)
    HoistElementwise().apply(Context(), module)
    module.verify()
    _, second, *moves = generics_of(network_of(module).body.block)
    assert "arith.maxnumf" in [op.name for op in second.body.block.ops]
    assert len(moves) == 1200


def test_what_others_read_stays(groups: Groups) -> None:
    """The value before the activation would be made twice."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        made, concat_op = grouped(b, x), b.concat([grouped(b, x), y], 0)
        return [relu(b, made), made, relu(b, concat_op)]

    before, after = groups(write)
    assert before == after


def sums(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    made = grouped(b, x)
    c, p, q = b.loops_of(made.shape)
    return b.sum((c,), (p, q), made[c, p, q])


def of_the_first_channels(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    made = grouped(b, x)
    c, p, q = b.loops_of(made.shape)
    return b.map((c, p, q), select(b.index(c) < 2, made[c, p, q], 0.0))


def added_to_what_is_moved(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    c, p, q = b.loops_of((x.shape[0], x.shape[2], x.shape[1]))
    other = b.map((c, p, q), maximum(y[c, q, p], -0.5))
    return add(b, turned(b, add(b, x, x)), other)


def moved_on(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    moved = turned(b, add(b, x, x))
    c, p, q = b.loops_of(moved.shape)
    return b.map((c, q, p), maximum(moved[c, p, q], 0.0))


def moved_into_another(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """The odd columns are those of what was there."""
    made, there = add(b, x, x), add(b, y, y)
    c, p, q = b.loops_of((*x.shape[:2], 3))
    return relu(b, b.map((c, p, q * 2), made[c, p, q * 2], into=there))


def copied(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    moved = turned(b, add(b, x, x))
    at = b.loops_of(moved.shape)
    return b.map(at, moved[at])


def of_another_type(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    moved = turned(b, add(b, x, x))
    at = b.loops_of(moved.shape)
    return b.map(at, saturated_int8(moved[at]))


def of_another_part(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
    part = grouped(b, x)
    return [relu(b, b.concat([part, grouped(b, y)], 0)), relu(b, part)]


@pytest.mark.parametrize(
    "write",
    [
        sums,
        of_the_first_channels,
        lambda b, x, y: every_other(b, grouped(b, x)),
        added_to_what_is_moved,
        moved_on,
        moved_into_another,
        copied,
        of_another_type,
        lambda b, x, y: relu(b, b.collapse(x, [[0, 1], [2]])),
        lambda b, x, y: relu(b, turned(b, x)),
        lambda b, x, y: relu(b, b.concat([grouped(b, x), y], 0)),
        of_another_part,
    ],
    ids=[
        "sums",
        "by channel",
        "every other",
        "two operands",
        "moved on",
        "moved into another",
        "copied",
        "another type",
        "an argument",
        "an argument moved",
        "an argument joined",
        "a part that is read again",
    ],
)
def test_what_stays(make_network: MakeNetwork, write: Callable[..., Any]) -> None:
    """It is not pointwise in one operand, or could not become an epilogue."""
    module = make_network([SHAPE, SHAPE], write)
    text = str(module)
    after(module, HoistElementwise())
    assert str(module) == text


@pytest.mark.parametrize("linalg_op", [grouped, lambda b, x: turned(b, add(b, x, x))])
def test_marked_operations_stay(
    make_network: MakeNetwork, linalg_op: Callable[[Builder, Tensor], Tensor]
) -> None:
    """What attributes say holds where they are."""
    module = marked(make_network([SHAPE], lambda b, x: relu(b, linalg_op(b, x))))
    text = str(module)
    HoistElementwise().apply(Context(), module)
    assert str(module) == text


def test_marked_moves_stay(make_network: MakeNetwork) -> None:
    """What attributes say of a move is said of no other."""
    module = marked(make_network([SHAPE], lambda b, x: relu(b, turned(b, add(b, x, x)))))
    *_, last = generics_of(network_of(module).body.block)
    last.attributes.clear()
    text = str(module)
    HoistElementwise().apply(Context(), module)
    assert str(module) == text


def test_a_sum_over_the_concat_stays(make_network: MakeNetwork) -> None:
    """Each half of the concat would need a part of what is added to it."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        factors = b.weight(WeightAttr.of(np.arange(12, dtype=np.float32)))
        return scale(b, b.concat([grouped(b, x), grouped(b, y)], 0), factors)

    module = make_network([SHAPE, SHAPE], write)
    HoistElementwise().apply(Context(), module)
    last = network_of(module).body.block.last_op
    assert last is not None and not isinstance(last.operands[0].owner, tensor.ConcatOp)


@pytest.mark.parametrize("seed", range(30))
def test_nothing_changes(make_network: MakeNetwork, seed: int) -> None:
    """Random chains of groups, concats, sums and activations."""
    draw = random.Random(seed)

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        values = [x, y]
        for _ in range(draw.randint(2, 7)):
            a, c = draw.choice(values[-2:]), draw.choice(values)
            kind = draw.choice(["grouped", "relu", "add", "concat", "turned"])
            if kind == "grouped":
                made = grouped(b, a, draw.choice([1, 2, 3]))
            elif kind == "add" and a.shape == c.shape:
                made = add(b, a, c)
            elif kind == "concat" and a.shape[1:] == c.shape[1:]:
                made = b.concat([a, c], 0)
            elif kind == "turned":
                k, p, q = b.loops_of((a.shape[0], a.shape[2], a.shape[1]))
                made = b.map((k, p, q), maximum(a[k, q, p], -0.5))
            else:
                made = relu(b, a)
            values.append(made)
        return values[-1]

    after(make_network([SHAPE, SHAPE], write), HoistElementwise())
