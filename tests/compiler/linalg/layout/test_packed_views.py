"""Whether concats are in blocks is found with as little asking as there is to know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.layout.gather_channels import gather
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.compiler.linalg.layout.packed_views import has_gaps, is_gathered
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu
from tests.executed_lines import lines_of

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def test_a_concat_that_is_summed_is_not_followed(make_network: MakeNetwork) -> None:
    """Concats of concats, each read by a sum: the pass does not look behind each of them."""

    def write(count: int, b: Builder, x: Tensor) -> Tensor:
        for _ in range(count):
            w = b.weight(WeightAttr.of(np.ones((16, x.shape[0]), np.float32)))
            o, y, z, i = b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i")
            x = b.concat([x, b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])], 0)
        return relu(b, x)

    lines: list[int] = []
    for count in (8, 16):
        block = network_of(make_network([(32, 4, 4)], partial(write, count))).body.block
        concats = [op for op in block.ops if isinstance(op, tensor.ConcatOp)]
        assert not any([has_gaps(op, PackedAxes()) for op in concats])
        lines.append(sum(lines_of(has_gaps, op, PackedAxes()) for op in concats))
    assert lines[1] < 2.2 * lines[0]


def test_concats_may_lie_in_one_another_to_any_depth(make_network: MakeNetwork) -> None:
    """Each is read by the next one only, and the last one by whoever called."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(500):
            x = b.concat([x, b.full((16, 1, 1), 0.0)], 0)
        return x

    block = network_of(make_network([(16, 1, 1)], write)).body.block
    assert not is_gathered(block.args[0], PackedAxes())


@pytest.mark.parametrize("gathered", [False, True])
@pytest.mark.parametrize("step", [1, -1])
def test_concats_behind_one_another_are_looked_at_once(
    make_network: MakeNetwork, gathered: bool, step: int
) -> None:
    """In either order, and whatever reads the last one."""

    def write(count: int, b: Builder, x: Tensor) -> Tensor:
        for _ in range(count):
            x = b.concat([x, b.full((16, 1, 1), 0.0)], 0)
        return gather(b, x.value, range(0, 336, 2)) if gathered else x

    lines: list[int] = []
    for count in (20, 40):
        block = network_of(make_network([(16, 1, 1)], partial(write, count))).body.block
        concats = [op.result for op in block.ops if isinstance(op, tensor.ConcatOp)]
        values, axes = [block.args[0], *concats][::step], PackedAxes()
        lines.append(sum(lines_of(is_gathered, value, axes) for value in values))
        assert all(is_gathered(value, axes) == gathered for value in values)
    assert lines[1] < 2.2 * lines[0]
