"""The axis along which a value can be packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.layout import packed_axes
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from tests.compiler.linalg.computations import relu

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def test_an_axis_is_found_once(make_network: MakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one table of axes."""
    block = network_of(make_network([(32, 4, 4)], relu)).body.block
    (value,) = generics_of(block)[0].results
    looked_at: list[GenericOp] = []

    def noted(op: GenericOp) -> LinalgOp:
        looked_at.append(op)
        return LinalgOp(op)

    monkeypatch.setattr(packed_axes, "LinalgOp", noted)
    axes = PackedAxes()
    assert axes.of(value) == axes.of(value) == 0
    assert len(looked_at) == 1
