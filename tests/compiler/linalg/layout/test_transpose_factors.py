"""Factors that lie across their product are transposed, where that is worth it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.layout.transpose_factors import FEW, TransposeFactors
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Transposed: TypeAlias = Callable[..., int]

MANY, ROWS = CostModel().layout.fewest_uses_of_transposed, CostModel().layout.fewest_transposed_rows


@pytest.fixture
def transposed(make_network: MakeNetwork) -> Transposed:
    """transposed(write, shapes): how many factors the pass transposes; numbers stay the same, and
    sums read nothing across.
    """

    def count(write: Any, shapes: list[tuple[int, ...]]) -> int:
        module = make_network(shapes, write)
        computed = len(generics(module))
        return len(after(module, TransposeFactors())) - computed

    return count


def generics(module: ModuleOp) -> list[LinalgOp]:
    return [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]


def product(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    m, n, k = b.loops("m n k")
    return b.sum((m, n), over=(k,), of=x[m, k] * w[n, k])


def product_of_turned(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    m, n, k = b.loops("m n k")
    return b.sum((m, n), over=(k,), of=x[k, m] * w[k, n])


def transposed_product(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    m, n, k = b.loops("m n k")
    return b.sum((n, m), over=(k,), of=x[m, k] * w[n, k])


def scores(b: Builder, q: Tensor, keys: Tensor) -> Tensor:
    """One matrix a head."""
    h, m, n, k = b.loops("h m n k")
    return b.sum((h, m, n), over=(k,), of=q[m, h, k] * keys[n, h, k])


def batch_of_one(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    one, m, n, k = b.loops(f"one:{x.shape[0]} m n k")
    return b.sum((one, m, n), over=(k,), of=x[one, m, k] * w[0, n, k])


def weighed_values(b: Builder, v: Tensor, p: Tensor) -> Tensor:
    """Values with a column for each element of an image, by probabilities of each head."""
    h, m, n, k = b.loops("h m n k")
    return b.sum((h, m, n), over=(k,), of=v[h, m, k] * p[h, n, k])


def square(b: Builder, x: Tensor) -> Tensor:
    m, n, k = b.loops("m n k")
    return b.sum((m, n), over=(k,), of=x[m, k] * x[n, k])


def two_products(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    return b.concat([product(b, x, w), product(b, b.slice(x, (0, 0), x.shape), w)], 0)


def by_constant(b: Builder, x: Tensor) -> Tensor:
    weight = np.random.default_rng(1).integers(-9, 9, (16, x.shape[1])).astype(np.float32)
    return product(b, x, b.weight(WeightAttr.of(weight)))


def mixed(b: Builder, x: Tensor, *starts: Tensor, columns: int = 3) -> Tensor:
    """Rows of a few elements, a few others of each of them, beginning with starts."""
    weight = np.random.default_rng(1).integers(-9, 9, (columns, x.shape[-1])).astype(np.float32)
    w = b.weight(WeightAttr.of(weight))
    *at, n, k = b.loops(" ".join("gm"[-x.rank + 1 :]) + " n k")
    return b.sum((*at, n), over=(k,), of=x[*at, k] * w[n, k], init=starts[0] if starts else 0.0)


def mixed_by_fed(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    return product(b, x, w)


def mixed_across(b: Builder, x: Tensor) -> Tensor:
    """Rows that lie as they should already."""
    w = b.weight(WeightAttr.of(np.ones((3, x.shape[0]), np.float32)))
    m, n, k = b.loops("m n k")
    return b.sum((m, n), over=(k,), of=x[k, m] * w[n, k])


@pytest.mark.parametrize(
    ("write", "shapes", "factors"),
    [
        (product, [(MANY, 7), (19, 7)], 1),
        (transposed_product, [(19, 7), (MANY, 7)], 1),
        (scores, [(MANY, 3, 5), (20, 3, 5)], 1),
        (weighed_values, [(2, 32, 97), (2, 97, 97)], 2),
        (weighed_values, [(2, 32, 63), (2, 63, 63)], 1),
        (weighed_values, [(2, 33, 97), (2, 97, 97)], 1),
        (batch_of_one, [(1, MANY, 5), (1, 20, 5)], 1),
        (batch_of_one, [(3, MANY // 2, 5), (1, 20, 5)], 1),
        (square, [(MANY, 7)], 1),
        (two_products, [(MANY, 7), (19, 7)], 1),
        (product, [(MANY - 1, 7), (19, 7)], 0),
        (product, [(MANY, 7), (4, 7)], 0),
        (product_of_turned, [(7, MANY), (7, 19)], 0),
        (by_constant, [(MANY, 7)], 0),
        (mixed, [(ROWS, 4)], 2),
        (mixed, [(5, ROWS, 4)], 2),
        (mixed, [(ROWS, 4), (ROWS, 3)], 3),
        (partial(mixed, columns=FEW), [(ROWS, FEW)], 2),
        (mixed, [(ROWS - 1, 4)], 0),
        (mixed, [(ROWS, FEW + 1)], 0),
        (partial(mixed, columns=FEW + 1), [(ROWS, 4)], 0),
        (mixed_by_fed, [(ROWS, 4), (3, 4)], 0),
        (mixed_across, [(4, ROWS)], 0),
    ],
)
def test_what_is_transposed(
    transposed: Transposed, write: Any, shapes: list[tuple[int, ...]], factors: int
) -> None:
    """Once a value, however many read it; not where it is used too little, or lies well. The other
    factor and the result, where these are fewer and fill their lanes, or fill no vector, and what
    they start from.
    """
    assert transposed(write, shapes) == factors


@pytest.mark.parametrize(
    ("write", "shapes"),
    [(scores, [(MANY, 3, 5), (20, 3, 5)]), (weighed_values, [(2, 32, 97), (2, 97, 97)])],
)
def test_results_lie_along_what_is_read(
    make_network: MakeNetwork, write: Any, shapes: list[tuple[int, ...]]
) -> None:
    """The last axis of a factor is that of the result."""
    module = make_network(shapes, write)
    TransposeFactors().apply(Context(), module)
    [linalg_op] = [linalg_op for linalg_op in generics(module) if linalg_op.reduced]
    factors = [linalg_op.reads[position] for position in linalg_op.product or ()]
    assert linalg_op.write.index[-1] in [factor.index[-1] for factor in factors]


@pytest.mark.parametrize(
    ("write", "shapes", "reason"),
    [
        (
            product,
            [(MANY - 1, 7), (19, 7)],
            [f"each element of its factor is in {MANY - 1} products only"],
        ),
        (product, [(MANY, 7), (4, 7)], ["its rows of results do not fill half of a vector"]),
        (by_constant, [(MANY, 7)], []),
    ],
)
def test_why_a_factor_is_not_transposed(
    make_network: MakeNetwork, write: Any, shapes: list[tuple[int, ...]], reason: list[str]
) -> None:
    """It does not pay; of constants, which cost nothing, there is nothing to tell."""
    assert reasons(TransposeFactors(), make_network(shapes, write)) == reason
