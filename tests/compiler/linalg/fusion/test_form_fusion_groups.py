"""Groups as functions: all is in one of them, and nothing changes by it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.rewrite.insert import erase_dead
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.weights.sources import Array
from tests.compiler.linalg.operations import add, last_row, relu, sum_of
from tests.crossed import some
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

SHAPE = (3, 4)


def test_views_are_no_groups(make_network: MakeNetwork) -> None:
    """Pads, joins, slices and reshapes stay in the network's function."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        joined = b.concat([last_row(b, x), last_row(b, y)], 0)
        return last_row(b, b.slice(b.pad(joined, (1, 1), (1, 1)), (0, 0), (2, 3)))

    module = make_network([SHAPE, SHAPE], write)
    FormFusionGroups().apply(Context(), module)
    kinds = [type(op) for op in network_of(module).body.block.ops]
    assert kinds.count(func.CallOp) == 3
    for linalg_op in (tensor.PadOp, tensor.ConcatOp, tensor.ExtractSliceOp):
        assert kinds.count(linalg_op) == 1


def test_no_network() -> None:
    """A module of private functions has none."""
    with pytest.raises(CompilerBug, match="without a public function"):
        network_of(ModuleOp([]))


# --- numbers --------------------------------------------------------------------------------


def random_network(seed: int) -> Callable[..., list[Tensor]]:
    draw = random.Random(seed)

    def write(b: Builder, *inputs: Tensor) -> list[Tensor]:
        values = list(inputs)
        for _ in range(draw.randint(2, 12)):
            x, y = draw.choice(values[-3:]), draw.choice(values)
            values.append(_operation(b, draw.randrange(7), x, y))
        return [values[-1], draw.choice(values)]

    return write


def _operation(b: Builder, which: int, x: Tensor, y: Tensor) -> Tensor:
    match which:
        case 0:
            return add(b, x, y)
        case 1:
            return last_row(b, x)
        case 2:
            return sum_of(b, x)
        case 3:
            return sum_of(b, x, init=relu(b, y))
        case 4:
            at = b.loops_of(SHAPE)
            return b.map(at, exp(x[at] * -0.25))
        case 5:
            return b.slice(b.pad(x, (1, 0), (0, 1)), (0, 1), SHAPE)
    return relu(b, x)


def arguments() -> list[Array]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]


@pytest.mark.parametrize("epilogues", some([True, False], usual=1))
def test_no_bit_changes(make_network: MakeNetwork, epilogues: bool) -> None:
    """Outlined networks compute exactly what they did before."""
    for seed in range(60):
        module = make_network([SHAPE, SHAPE], random_network(seed))
        before = evaluate(network_of(module), arguments())
        FormFusionGroups(epilogues=epilogues).apply(Context(), module)
        module.verify()
        after = evaluate(network_of(module), arguments(), module)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_array_equal(a, b)


def test_every_operation_is_in_one_group(make_network: MakeNetwork) -> None:
    """No value that is read is left over, and nothing is done twice."""
    for seed in range(30):
        module = make_network([SHAPE, SHAPE], random_network(seed))
        erase_dead(network_of(module).body.block)
        before = sum(op.name == "linalg.generic" for op in module.walk())
        FormFusionGroups().apply(Context(), module)
        inside = [op.name for op in network_of(module).body.block.ops]
        assert "linalg.generic" not in inside
        assert sum(op.name == "linalg.generic" for op in module.walk()) == before
