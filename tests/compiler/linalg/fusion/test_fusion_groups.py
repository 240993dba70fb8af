"""Groups: what joins a kernel, and what cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.fusion.fusion_groups import find_groups
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import add, last_row, relu, sum_of

MOST = CostModel().fusion.most_in_epilogue


MakeNetwork: TypeAlias = Callable[..., ModuleOp]

SHAPE = (3, 4)


@pytest.fixture
def groups(make_network: MakeNetwork) -> Callable[..., list[int]]:
    """groups(write): how many operations each group has."""

    def count(write: Any, most: int = 32) -> list[int]:
        block = network_of(make_network([SHAPE, SHAPE], write)).body.block
        return [len(group.operations) for group in find_groups(block, most)]

    return count


Groups: TypeAlias = Callable[..., list[int]]


def test_an_epilogue_joins_what_it_alone_reads(groups: Groups) -> None:
    """Sum, activation, residual, activation: one kernel."""
    assert groups(lambda b, x, y: relu(b, add(b, relu(b, sum_of(b, x)), y))) == [4]


def test_an_epilogue_is_not_longer_than_llvm_likes(groups: Groups) -> None:
    """What follows is a kernel of its own, and so on."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        x = sum_of(b, x)
        for _ in range(2 * 5 + 3):
            x = relu(b, x)
        return x

    assert groups(write, most=5) == [6, 6, 2]


def test_the_plain_level_has_a_kernel_for_each(groups: Groups) -> None:
    """Without epilogues every operation is a group."""
    assert groups(lambda b, x, y: relu(b, sum_of(b, x)), most=0) == [1, 1]


def test_initial_values_join_the_sum(groups: Groups) -> None:
    """A spread bias is no kernel of its own, at any level."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        bias = b.weight(WeightAttr.of(np.ones(3, np.float32)))
        return sum_of(b, x, init=b.spread(bias, SHAPE, 0))

    assert groups(write) == groups(write, most=0) == [2]


def test_the_latest_of_two_hosts_takes_the_epilogue(groups: Groups) -> None:
    """An addition of two sums joins the second: the first is in memory by then."""
    assert groups(lambda b, x, y: add(b, sum_of(b, x), sum_of(b, y))) == [1, 2]


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("two readers", "others read its operand, too"),
        ("another index", "it reads its operand at another index than it writes"),
        ("a view", ""),
        ("returned", "others read its operand, too"),
        ("reduction", "it is not pointwise"),
    ],
)
def test_what_cannot_be_an_epilogue(
    groups: Groups, make_network: MakeNetwork, why: str, reason: str
) -> None:
    """The group's result has to be in memory, or is not complete at that element."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        first = sum_of(b, x)
        match why:
            case "two readers":
                return [relu(b, first), last_row(b, first)]
            case "another index":
                return [last_row(b, first)]
            case "a view":
                return [relu(b, b.expand(b.collapse(first, [[0, 1]]), [[0, 1]], SHAPE))]
            case "returned":
                return [first, relu(b, first)]
        return [sum_of(b, first)]

    assert set(groups(write)) == {1}
    block = network_of(make_network([SHAPE, SHAPE], write)).body.block
    assert find_groups(block, MOST)[-1].apart == reason


SQUARE = (4, 4)


def column_sums(b: Builder, x: Tensor, init: Tensor, step: int = 1) -> Tensor:
    """The sum of each column, added to rows of other values that are so far apart."""
    y, z, k = b.loops(f"y:{4 // step} z:4 k:4")
    return b.sum((y * step, z), over=(k,), of=x[k, z] * 2.0, init=init)


def every_other_row(b: Builder, x: Tensor, into: Tensor) -> Tensor:
    """Other values, with some rows of x times 2 in place of theirs."""
    y, z = b.loops("y:2 z:4")
    return b.map((y * 2, z), x[y * 2, z] * 2.0, into=into)


def diagonal(b: Builder, x: Tensor, into: Tensor) -> Tensor:
    (y,) = b.loops("y:4")
    return b.map((y, y), x[y, y] * 2.0, into=into)


def by_numbers(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """x, plus what its loops' numbers lead to of y."""
    k, m = b.loops_of(SQUARE)
    return b.map((k, m), x[k, m] + y.at(b.index(m), b.index(k)))


def numbers(b: Builder, x: Tensor) -> Tensor:
    k, m = b.loops_of(SQUARE)
    return b.map((k, m), x.at(b.index(m), b.index(k)))


def added(b: Builder, x: Tensor, init: Tensor) -> Tensor:
    at = b.loops_of(SQUARE)
    return b.sum(at, (), x[at] * 2.0, init)


@pytest.mark.parametrize(
    "write",
    [
        lambda b, x, y: added(b, column_sums(b, x, y), x),
        lambda b, x, y: by_numbers(b, column_sums(b, x, y), x),
        lambda b, x, y: every_other_row(b, column_sums(b, x, y), x),
        lambda b, x, y: diagonal(b, column_sums(b, x, y), x),
        lambda b, x, y: relu(b, every_other_row(b, x, y)),
        lambda b, x, y: relu(b, column_sums(b, x, y, step=2)),
    ],
    ids=["adds on", "elsewhere by numbers", "some rows", "a diagonal", "behind some", "of some"],
)
def test_what_is_no_epilogue_of_a_whole_result(make_network: MakeNetwork, write: Any) -> None:
    """Either has points that the other one has not, or reads what is in memory."""
    block = network_of(make_network([SQUARE, SQUARE], write)).body.block
    assert [len(group.operations) for group in find_groups(block, MOST)] == [1, 1]


@pytest.mark.parametrize(
    "write",
    [
        lambda b, x, y: column_sums(b, x, column_sums(b, x, y)),
        lambda b, x, y: column_sums(b, x, numbers(b, y)),
        lambda b, x, y: column_sums(b, x, every_other_row(b, x, y)),
        lambda b, x, y: column_sums(b, x, relu(b, y), step=2),
        lambda b, x, y: column_sums(b, x, b.full(SQUARE, 1.0), step=2),
        lambda b, x, y: column_sums(b, relu(b, x), y),
        lambda b, x, y: every_other_row(b, x, relu(b, y)),
    ],
    ids=["sums", "by numbers", "some rows", "more rows", "filled", "no start", "written over"],
)
def test_what_sums_start_from_but_is_computed_before(make_network: MakeNetwork, write: Any) -> None:
    """Only what is computed at each point of a sum that has all of them is so in its kernel."""
    block = network_of(make_network([SQUARE, SQUARE], write)).body.block
    assert [len(group.operations) for group in find_groups(block, MOST)] == [1, 1]


def test_a_fill_that_only_one_of_two_sums_covers(make_network: MakeNetwork) -> None:
    """It is computed before both."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        ones = b.full(SQUARE, 1.0)
        return [column_sums(b, x, ones), column_sums(b, x, ones, step=2)]

    block = network_of(make_network([SQUARE], write)).body.block
    assert [len(group.operations) for group in find_groups(block, MOST)] == [1, 1, 1]
