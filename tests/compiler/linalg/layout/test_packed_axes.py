"""The axis along which a value can be packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from tests.compiler.linalg.operations import relu
from tests.executed_lines import lines_of

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def test_an_axis_is_found_once(make_network: MakeNetwork) -> None:
    """By one table of axes."""
    block = network_of(make_network([(32, 4, 4)], relu)).body.block
    (value,) = generics_of(block)[0].results
    axes = PackedAxes()
    first, again = (lines_of(axes.of, value) for _ in range(2))
    assert axes.of(value) == 0
    assert again < first / 5
