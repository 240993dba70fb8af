"""Weights that one vector is multiplied with are three bytes each, and sums what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, f32

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.data_types.quantize_weights import QuantizeWeights
from ncc.compiler.target import TWO_UNITS
from ncc.dialects.element import element_of, i20, i24
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import marked
from tests.structured.evaluate import evaluate

Array: TypeAlias = np.ndarray[Any, Any]
MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Write: TypeAlias = Callable[..., Tensor]
INPUTS = 256
SMALL = TWO_UNITS.l1_bytes // (4 * 16)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def product(b: Builder, x: Tensor, weights: Array | Tensor, bias: Array | None = None) -> Tensor:
    """x (points, inputs) times weights in blocks."""
    w = weights if isinstance(weights, Tensor) else b.weight(WeightAttr.of(weights))
    init: Tensor | float = 0.0
    if bias is not None:
        at = b.loops_of((x.shape[0], *bias.shape))
        init = b.map(at, b.weight(WeightAttr.of(bias))[at[1], at[2]])
    p, o, k, lane = b.loops("p o k l")
    return b.sum((p, o, lane), over=(k,), of=x[p, k] * w[o, k, lane], init=init)


def by_columns(b: Builder, x: Tensor) -> Tensor:
    """A matrix whose rows are what is summed."""
    w = b.weight(WeightAttr.of(drawn(INPUTS, 80)))
    p, n, k = b.loops("p n k")
    return b.sum((p, n), over=(k,), of=x[p, k] * w[k, n])


def uneven(largest: float) -> Array:
    """One weight is larger than the others of its row."""
    weights = drawn(4, INPUTS, 16)
    weights[2, 7, 5] = largest
    return weights


def endless() -> Array:
    weights = drawn(4, INPUTS, 16)
    weights[3, 7, 5] = np.inf
    return weights


def with_another_reader(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(WeightAttr.of(drawn(4, INPUTS, 16)))
    y = product(b, x, w)
    p, o, lane = b.loops_of(y.shape)
    return b.map((p, o, lane), y[p, o, lane] + w[o, 0, lane])


def by_two(b: Builder, x: Tensor) -> Tensor:
    """Both of two sums multiply one vector."""
    w = b.weight(WeightAttr.of(drawn(4, INPUTS, 16)))
    first, second = product(b, x, w), product(b, relu(b, x), w)
    at = b.loops_of(first.shape)
    return b.map(at, first[at] - second[at])


def fixed(module: ModuleOp) -> list[LinalgOp]:
    """The sums behind the pass; the numbers stay within what it may lose."""
    [kind] = network_of(module).function_type.inputs.data
    feeds = [drawn(*kind.get_shape())]  # type: ignore[attr-defined]
    [wanted] = evaluate(network_of(module), feeds, dtype=np.float64)
    QuantizeWeights().apply(Context(), module)
    module.verify()
    [found] = evaluate(network_of(module), feeds, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        same = (found == wanted) | (abs(found - wanted) <= 4e-6 * abs(wanted).max())
    assert same.all()
    return [
        linalg_op
        for linalg_op in map(LinalgOp, generics_of(network_of(module).body.block))
        if linalg_op.reduced
    ]


@pytest.mark.parametrize(
    ("write", "rows", "held"),
    [
        (lambda b, x: product(b, x, drawn(4, INPUTS, 16)), (4, 16), i20),
        (lambda b, x: product(b, x, drawn(4, INPUTS, 16), drawn(4, 16)), (4, 16), i20),
        (lambda b, x: product(b, x, uneven(20.0)), (4, 16), i24),
        (by_columns, (80,), i24),
    ],
    ids=["blocks", "bias", "uneven", "columns"],
)
def test_one_vector(
    make_network: MakeNetwork, write: Write, rows: tuple[int, ...], held: IntegerType
) -> None:
    """Each row by its own power of two; the sum is a product of both, from nothing."""
    [linalg_op] = fixed(make_network([(1, INPUTS)], write))
    assert [element_of(read.value) for read in linalg_op.reads] == [f32, held]
    assert linalg_op.product == (0, 1)
    [use] = linalg_op.op.results[0].uses
    scaled = LinalgOp(use.operation)  # type: ignore[arg-type]
    assert rows in [shape_of(read.value) for read in scaled.reads]


def test_all_readers_multiply_one_vector(make_network: MakeNetwork) -> None:
    """The constant is kept once, in fewer bytes."""
    first, second = fixed(make_network([(1, INPUTS)], by_two))
    assert element_of(first.reads[1].value) == element_of(second.reads[1].value) == i20


@pytest.mark.parametrize(
    ("write", "points", "inputs", "reason"),
    [
        (
            lambda b, x: product(b, x, drawn(4, INPUTS, 16)),
            2,
            INPUTS,
            ["several points share each of its weights"],
        ),
        (lambda b, x: product(b, x, drawn(1, SMALL, 16)), 1, SMALL, []),
        (
            lambda b, x: product(b, x, uneven(1e5)),
            1,
            INPUTS,
            ["a row of its weights is too uneven, or not finite"],
        ),
        (
            lambda b, x: product(b, x, endless()),
            1,
            INPUTS,
            ["a row of its weights is too uneven, or not finite"],
        ),
        (with_another_reader, 1, INPUTS, ["its weights are more than factors of sums"]),
    ],
    ids=["two points", "few", "uneven", "not finite", "another reader"],
)
def test_what_stays(
    make_network: MakeNetwork, write: Write, points: int, inputs: int, reason: list[str]
) -> None:
    """Nothing is gained, or too much lost, or another reader needs the weights as they are."""
    module = make_network([(points, inputs)], write)
    assert all(element_of(linalg_op.reads[1].value) == f32 for linalg_op in fixed(module))
    assert reasons(QuantizeWeights(), module) == reason


def test_sums_with_attributes_stay(make_network: MakeNetwork) -> None:
    """What they say holds of them alone."""
    module = make_network([(1, INPUTS)], lambda b, x: product(b, x, drawn(4, INPUTS, 16)))
    [linalg_op] = fixed(marked(module))
    assert element_of(linalg_op.reads[1].value) == f32
