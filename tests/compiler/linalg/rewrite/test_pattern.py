"""The form of passes that rewrite operations one by one: match, check, rewrite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.rewriter import Rewriter

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.rewrite.decisions import Decision
from ncc.compiler.linalg.rewrite.insert import builder_for, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern, WeightPattern, layers_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.weight import ConstantOp, WeightAttr
from tests.compiler.linalg.operations import relu

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

MOST = 12
"""Elements of what `Forward` takes away, at the most."""


@dataclass(frozen=True)
class Forward(LinalgPattern[LinalgOp]):
    """Hand on what a pointwise operation of one operand reads, if it is small."""

    name = "forward"

    def match(self, op: GenericOp) -> LinalgOp | str | None:
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise:
            return None
        return linalg_op if len(linalg_op.reads) == 1 else "it reads several values"

    def check(self, found: LinalgOp) -> str | None:
        return "it is large" if prod(shape_of(found.op.results[0])) > MOST else None

    def describe(self, found: LinalgOp) -> str:
        return f"of {len(found.extents)} axes"

    def rewrite(self, found: LinalgOp) -> None:
        replace_op(found.op, builder_for(found.op), tensor_of(found.reads[0].value))


def two(b: Builder, x: Tensor) -> Tensor:
    """An operation of one operand, then one of two, then a sum."""
    b.doc = "first"
    y = relu(b, x)
    b.doc = "second"
    at = b.loops_of(x.shape)
    z = b.map(at, y[at] + x[at])
    b.doc = "third"
    i, j = b.loops_of(x.shape)
    return b.sum((i,), (j,), z[i, j])


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        ((3, 4), Decision("forward", "first", True, "of 2 axes")),
        ((4, 4), Decision("forward", "first", False, "it is large")),
    ],
)
def test_a_decision_for_each_match(
    make_network: MakeNetwork, shape: tuple[int, int], first: Decision
) -> None:
    """What the pattern is not for has none; the reason comes from match or from check."""
    module = make_network([shape], two)
    left = len(generics_of(network_of(module).body.block))
    second = Decision("forward", "second", False, "it reads several values")
    assert Forward().explain(module) == [first, second]
    module.verify()
    assert len(generics_of(network_of(module).body.block)) == left - first.fired


def test_the_same_is_done_without_decisions(make_network: MakeNetwork) -> None:
    """And nothing is described."""

    @dataclass(frozen=True)
    class Silent(Forward):
        def describe(self, found: LinalgOp) -> str:
            raise AssertionError("nobody asked")

    explained, compiled = (make_network([(3, 4)], two) for _ in range(2))
    Forward().explain(explained)
    Silent().apply(Context(), compiled)
    assert str(compiled) == str(explained)


def test_a_decision_is_told_once(make_network: MakeNetwork) -> None:
    """However many operations of a layer it is about."""

    def twice(b: Builder, x: Tensor) -> Tensor:
        b.doc = "layer"
        return relu(b, relu(b, x))

    [decision] = Forward().explain(make_network([(4, 4)], twice))
    assert str(decision) == "not at layer 'layer': it is large"
    assert decision.outcome == "not, it is large"


@dataclass(frozen=True)
class Reverse(WeightPattern[ConstantOp]):
    """Reverse the channels of constants that have a few."""

    name = "reverse"

    def match(self, op: ConstantOp) -> ConstantOp | str | None:
        return op if shape_of(op.result)[0] < 4 else "it has many channels"

    def rewrite(self, found: ConstantOp) -> None:
        weights = found.value.data
        channels = tuple(range(weights.shape[0]))[::-1]
        Rewriter.replace_op(found, ConstantOp.of(WeightAttr(Taken(weights, channels).weights)))


def test_constants_are_named_by_the_layer_that_reads_them(make_network: MakeNetwork) -> None:
    """Also through a reshape; each is offered once."""

    def weighed(b: Builder, x: Tensor) -> list[Tensor]:
        results = []
        for layer, rows in (("few", 3), ("many", 4)):
            b.doc = layer
            w = b.reshape(b.weight(WeightAttr.of(np.ones((rows, 2, 2), np.float32))), (rows, 4))
            at = b.loops_of(w.shape)
            results.append(b.map(at, x[0, at[1]] * w[at]))
        return results

    module = make_network([(3, 4)], weighed)
    assert Reverse().explain(module) == [
        Decision("reverse", "few", True, ""),
        Decision("reverse", "many", False, "it has many channels"),
    ]
    module.verify()


def test_a_reshape_is_named_by_what_it_reshapes(make_network: MakeNetwork) -> None:
    """A concat, which no layer makes alone, by its first reader."""

    def joined(b: Builder, x: Tensor) -> Tensor:
        b.doc = "first"
        flat = b.collapse(relu(b, x), [[0, 1]])
        b.doc = "second"
        return relu(b, b.concat([flat, flat], 0))

    ops = network_of(make_network([(3, 4)], joined)).body.block.ops
    views = [op for op in ops if isinstance(op, tensor.CollapseShapeOp | tensor.ConcatOp)]
    assert list(map(layers_of, views)) == ["first", "second"]
