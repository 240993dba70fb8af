"""Shares of a softmax that are summed: the same sums, divided behind; other quotients stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir.affine import AffineExpr

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.reductions.defer_division import DeferDivision
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.reduction.reduction import softmax
from ncc.dialects.scalar import Scalar, exp
from tests.structured.evaluate import evaluate

Make: TypeAlias = Callable[..., ModuleOp]
Write: TypeAlias = Callable[..., Tensor | list[Tensor]]
Divided: TypeAlias = Callable[[Write], list[tuple[int, ...]]]
SCORES, VALUES = (3, 10, 12), (3, 12, 8)


def mixed(b: Builder, shares: Tensor, v: Tensor) -> Tensor:
    """The sum over t of shares[h, s, t] * v[h, t, e], rows outside."""
    h, s, e, t = b.loops("h s e t")
    return b.sum((s, h, e), over=(t,), of=shares[h, s, t] * v[h, t, e])


@pytest.fixture
def divided(make_network: Make) -> Divided:
    """divided(write): shapes of all quotients behind the pass; what is computed stays."""

    def behind(write: Write) -> list[tuple[int, ...]]:
        module = make_network([SCORES, VALUES], write)
        draw = np.random.default_rng(0)
        x, v = (draw.standard_normal(shape).astype(np.float32) for shape in (SCORES, VALUES))
        x[0, 1, 2], x[1, 3, 4], x[2, 5, :], v[1, 0, 3] = np.nan, np.inf, -np.inf, np.inf
        x[2, 6, :], x[0, 0, :5] = 200.0, -np.inf
        with np.errstate(invalid="ignore", over="ignore"):
            before = evaluate(network_of(module), [x, v])
            DeferDivision().apply(Context(), module)
            module.verify()
            after = evaluate(network_of(module), [x, v])
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        generics = [op for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
        quotients = [g for g in generics if isinstance(LinalgOp(g).yielded.owner, arith.DivfOp)]
        return [shape_of(g.results[0]) for g in quotients]

    return behind


def test_the_sums_of_shares_are_divided(divided: Divided) -> None:
    """Divisors find the row and the head of a result wherever these lie."""
    assert divided(lambda b, x, v: mixed(b, softmax(b, x, [2]), v)) == [(10, 3, 8)]


def test_rows_that_are_zeros_under_a_mask_stay_so(divided: Divided) -> None:
    """By a divisor of 1 in place of 0."""
    assert divided(lambda b, x, v: mixed(b, softmax(b, x, [2], zeros=True), v)) == [(10, 3, 8)]


def test_shares_may_be_the_other_factor(divided: Divided) -> None:
    """The divisor finds its rows where the other factor comes first."""

    def transposed(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        shares = softmax(b, x, [2])
        h, e, s, t = b.loops("h e s t")
        return b.sum((h, e, s), over=(t,), of=v[h, t, e] * shares[h, s, t])

    assert divided(transposed) == [(3, 8, 10)]


def test_shares_along_an_axis_that_is_not_summed_stay(divided: Divided) -> None:
    """Each of the sum's terms has a divisor of its own."""
    assert divided(lambda b, x, v: mixed(b, softmax(b, x, [1]), v)) == [SCORES]


def test_shares_that_somebody_else_reads_stay(divided: Divided) -> None:
    """They are computed anyway."""

    def shown(b: Builder, x: Tensor, v: Tensor) -> list[Tensor]:
        shares = softmax(b, x, [2])
        return [mixed(b, shares, v), shares]

    assert divided(shown) == [SCORES]


def test_more_results_than_shares_are_not_divided(divided: Divided) -> None:
    """It would be more divisions, not fewer."""

    def repeated(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        shares = softmax(b, b.cut(x, 2, 0, 4), [2])
        h, s, e, t = b.loops("h s e t")
        return b.sum((h, s, e), over=(t,), of=shares[h, s, t] * b.cut(v, 1, 0, 4)[h, t, e])

    assert divided(repeated) == [(3, 10, 4)]


def test_sums_that_start_from_something_stay(divided: Divided) -> None:
    """What they start from is no share."""

    def added(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        shares = softmax(b, x, [2])
        h, s, e, t = b.loops("h s e t")
        return b.sum((h, s, e), (t,), shares[h, s, t] * v[h, t, e], init=1.0)

    assert divided(added) == [SCORES]


@pytest.mark.parametrize("power", [exp, lambda x: x * x], ids=["exp", "square"])
def test_divisors_that_may_be_zero_stay(divided: Divided, power: Callable[..., object]) -> None:
    """A quotient by a sum of anything but powers, or by anything but their sum."""

    def norm(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        at = h, s, t = b.loops_of(x.shape)
        raised = b.map(at, power(x[at]))  # type: ignore[arg-type]
        b.loops_of(x.shape)
        found = b.max((h, s), (t,), raised[at]) if power is exp else b.sum((h, s), (t,), raised[at])
        b.loops_of(x.shape)
        return mixed(b, b.map(at, raised[at] / found[h, s]), v)

    assert divided(norm) == [SCORES]


def test_powers_without_a_bound_stay(divided: Divided) -> None:
    """Their products with values may be infinite, or nothing, where those with shares are not."""

    def plain(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        at = h, s, t = b.loops_of(x.shape)
        powers = b.map(at, exp(x[at] * 0.1))
        b.loops_of(x.shape)
        total = b.sum((h, s), (t,), powers[at])
        b.loops_of(x.shape)
        return mixed(b, b.map(at, powers[at] / total[h, s]), v)

    def of_the_caller(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        at = h, s, t = b.loops_of(x.shape)
        total = b.sum((h, s), (t,), x[at])
        b.loops_of(x.shape)
        return mixed(b, b.map(at, x[at] / total[h, s]), v)

    def below_a_number(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        return mixed(b, shares(b, x, lambda x, m, at: exp(x[at] - 200.0)), v)

    def below_the_largest_of_all(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        at = h, s, t = b.loops_of(x.shape)
        largest = b.max((h,), (s, t), x[at])
        b.loops_of(x.shape)
        powers = b.map(at, exp(x[at] - largest[h]))
        b.loops_of(x.shape)
        total = b.sum((h, s), (t,), powers[at])
        b.loops_of(x.shape)
        return mixed(b, b.map(at, powers[at] / total[h, s]), v)

    for write in (plain, of_the_caller, below_a_number, below_the_largest_of_all):
        assert divided(write) == [SCORES]


At: TypeAlias = Sequence[AffineExpr]
Points: TypeAlias = Callable[[Tensor, Tensor, At], Scalar]
SQUARE = {
    "powers of sums": lambda x, m, at: exp(x[at] + m[at[:2]]),
    "powers of what lies across": lambda x, m, at: exp(x[at[0], at[2], at[1]] - m[at[:2]]),
    "maxima of other rows": lambda x, m, at: exp(x[at] - m[at[0], at[2]]),
}


def shares(
    b: Builder,
    x: Tensor,
    points: Points = lambda x, m, at: exp(x[at] - m[at[:2]]),
    largest: str = "max",
    total: str = "sum",
    factor: float = 1.0,
) -> Tensor:
    """Powers by their sum, as softmax writes them, or with one thing that is another."""
    at = b.loops_of(x.shape)
    found = getattr(b, largest)(at[:2], at[2:], x[at])
    at = b.loops_of(x.shape)
    powers = b.map(at, points(x, found, at))
    at = b.loops_of(x.shape)
    summed = powers if factor == 1.0 else b.map(at, powers[at] * factor)
    at = b.loops_of(x.shape)
    divisors = getattr(b, total)(at[:2], at[2:], summed[at])
    at = b.loops_of(x.shape)
    return b.map(at, powers[at] / divisors[at[:2]])


@pytest.mark.parametrize("points", SQUARE.values(), ids=SQUARE.keys())
def test_powers_of_something_else_stay(divided: Divided, points: Points) -> None:
    """None of them need be 1."""

    def write(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        return mixed(b, shares(b, b.cut(x, 2, 0, 10), points), b.cut(v, 1, 0, 10))

    assert divided(write) == [(3, 10, 10)]


@pytest.mark.parametrize("other", [{"largest": "min"}, {"total": "max"}, {"factor": 0.5}])
def test_divisors_that_are_no_sum_of_the_powers_stay(
    divided: Divided, other: dict[str, Any]
) -> None:
    """Below the smallest, by the largest, and by the sum of what they are not."""
    assert divided(lambda b, x, v: mixed(b, shares(b, x), v)) == [(10, 3, 8)]
    assert divided(lambda b, x, v: mixed(b, shares(b, x, **other), v)) == [SCORES]


def test_sums_that_start_from_a_tensor_stay(divided: Divided) -> None:
    """As those that start from a number."""

    def added(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        made = softmax(b, x, [2])
        start = b.map(b.loops_of((3, 10, 8)), v[(at := b.loops_of((3, 10, 8)))[0], 0, at[2]])
        h, s, e, t = b.loops("h s e t")
        return b.sum((h, s, e), (t,), made[h, s, t] * v[h, t, e], init=start)

    assert divided(added) == [SCORES]


def test_powers_that_are_read_across_stay(divided: Divided) -> None:
    """The sum would read them where the shares lie."""

    def across(b: Builder, x: Tensor, v: Tensor) -> Tensor:
        x, v = b.cut(x, 2, 0, 10), b.cut(v, 1, 0, 10)
        at = h, s, t = b.loops_of(x.shape)
        largest = b.max((h, s), (t,), x[at])
        b.loops_of(x.shape)
        powers = b.map(at, exp(x[at] - largest[h, s]))
        b.loops_of(x.shape)
        total = b.sum((h, s), (t,), powers[at])
        b.loops_of(x.shape)
        return mixed(b, b.map(at, powers[h, t, s] / total[h, s]), v)

    assert divided(across) == [(3, 10, 10)]
