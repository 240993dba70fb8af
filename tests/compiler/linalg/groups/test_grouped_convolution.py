"""Which operations are grouped convolutions, and which only look like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.groups.grouped_convolution import GroupedConvolution
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
GROUPS, OUTPUTS, INPUTS = 3, 5, 4


def grouped_convolutions(module: ModuleOp) -> list[GroupedConvolution]:
    """Those of a network."""
    found = map(GroupedConvolution.of, generics_of(network_of(module).body.block))
    return [one for one in found if isinstance(one, GroupedConvolution)]


def weights(b: Builder, *shape: int) -> Tensor:
    return b.weight(WeightAttr.of(np.ones(shape, np.float32)))


def of_the_run(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Windows of 3x3 in three groups, from 4 channels to 5, whose weights are an input."""
    g, o, p, q, i, k, m = b.loops("g o p:7 q:7 i k m")
    return b.sum((g, o, p, q), (i, k, m), x[g * INPUTS + i, p + k, q + m] * w[g, o, i, k, m])


def plain(b: Builder, x: Tensor) -> Tensor:
    """The same with constant weights."""
    return of_the_run(b, x, weights(b, GROUPS, OUTPUTS, INPUTS, 3, 3))


def of_weights_by_output(b: Builder, x: Tensor) -> Tensor:
    """Its weights lie by the outputs of groups first."""
    w = weights(b, OUTPUTS, GROUPS, INPUTS, 3, 3)
    g, o, p, q, i, k, m = b.loops("g o p:7 q:7 i k m")
    return b.sum((g, o, p, q), (i, k, m), x[g * INPUTS + i, p + k, q + m] * w[o, g, i, k, m])


def of_turned_channels(b: Builder, x: Tensor) -> Tensor:
    """Channels of a group are not neighbours, as after a shuffle."""
    w = weights(b, GROUPS, OUTPUTS, INPUTS, 3, 3)
    g, o, p, q, i, k, m = b.loops("g o p:7 q:7 i k m")
    return b.sum((g, o, p, q), (i, k, m), x[i * GROUPS + g, p + k, q + m] * w[g, o, i, k, m])


IMAGE = (GROUPS * INPUTS, 9, 9)


@pytest.mark.parametrize(
    ("write", "shapes", "found"),
    [
        (plain, [IMAGE], True),
        (of_weights_by_output, [IMAGE], False),
        (of_the_run, [IMAGE, (GROUPS, OUTPUTS, INPUTS, 3, 3)], False),
        (of_turned_channels, [IMAGE], False),
    ],
)
def test_groups(
    make_network: MakeNetwork,
    write: Callable[..., Tensor],
    shapes: list[tuple[int, ...]],
    found: bool,
) -> None:
    """Sums in groups of neighbouring channels, whose constant weights lie by groups first."""

    def joined(b: Builder, *inputs: Tensor) -> Tensor:
        return b.collapse(write(b, *inputs), [[0, 1], [2], [3]])

    convolutions = grouped_convolutions(make_network(shapes, joined))
    assert bool(convolutions) is found
    if found:
        (one,) = convolutions
        assert (one.sums.groups, one.sums.size, one.start) == (GROUPS, INPUTS, 0.0)
        assert one.weights.value is one.sums.weights


def test_channels_read_twice(make_network: MakeNetwork) -> None:
    """If the sums have another reader than the collapse, they stay in groups."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = plain(b, x)
        return [b.collapse(y, [[0, 1], [2], [3]]), y]

    assert not grouped_convolutions(make_network([IMAGE], write))
