"""Sums read the lanes of a selection where they lie, if they alone read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.channels.pack import Pack
from ncc.compiler.linalg.channels.select_channels import select
from ncc.compiler.linalg.fusion.fuse import find_groups
from ncc.compiler.linalg.fusion.read_in_place import MOST_BLOCKS, ReadInPlace
from ncc.compiler.linalg.network import network_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.computations import pointwise_convolution
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

CHANNELS = [*range(0, 60, 2), *range(1, 9)]
"""What is taken of a joint of 30 and 30 channels: two blocks and a bit."""


def joint(b: Builder, x: Tensor) -> Tensor:
    return b.concat([pointwise_convolution(b, x, 30), pointwise_convolution(b, x, 30)], 0)


def one_reader(b: Builder, x: Tensor) -> list[Tensor]:
    return [pointwise_convolution(b, select(b, joint(b, x).value, CHANNELS), 20)]


def two_readers(b: Builder, x: Tensor) -> list[Tensor]:
    selected = select(b, joint(b, x).value, CHANNELS)
    return [pointwise_convolution(b, selected, 20), pointwise_convolution(b, selected, 32)]


def many_results(b: Builder, x: Tensor) -> list[Tensor]:
    return [pointwise_convolution(b, select(b, joint(b, x).value, CHANNELS), 16 * MOST_BLOCKS + 1)]


def window(b: Builder, x: Tensor) -> list[Tensor]:
    """What works channel by channel reads vectors of lanes."""
    x = select(b, joint(b, x).value, CHANNELS)
    w = b.weight(WeightAttr.of(np.ones((x.shape[0], 2), np.float32)))
    c, y, z, k = b.loops(f"c y:{x.shape[1] - 1} z:{x.shape[2]} k:2")
    return [b.sum((c, y, z), (k,), x[c, y + k, z] * w[c, k])]


@pytest.mark.parametrize(
    ("write", "in_place"),
    [(one_reader, True), (two_readers, False), (many_results, False), (window, False)],
)
def test_which(
    make_network: MakeNetwork, write: Callable[..., list[Tensor]], in_place: bool
) -> None:
    """A selection that is read in place is part of its reader's kernel."""
    module = make_network([(16, 5, 4)], write)
    after(module, Pack())
    block = network_of(module).body.block
    before = len(find_groups(block))
    after(module, ReadInPlace())
    groups = find_groups(block)
    assert len(groups) == before - in_place
    assert sum(group.selection is not None for group in groups) == in_place
