"""How an operation would be packed: which loops are split, and how operands are read then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.compiler.linalg.layout.packing import PackedRead, Packing, packing_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def weights(b: Builder, *shape: int) -> Tensor:
    return b.weight(WeightAttr.of(np.ones(shape, np.float32)))


@pytest.fixture
def packed(make_network: MakeNetwork) -> Callable[..., Packing | None]:
    """packed(write, *shapes): the packing of the last operation of a network."""

    def last(write: Callable[..., Tensor], *shapes: tuple[int, ...]) -> Packing | None:
        block = network_of(make_network(list(shapes), write)).body.block
        *_, generic = (op for op in block.ops if isinstance(op, GenericOp))
        found = packing_of(LinalgOp(generic), PackedAxes())
        return found if isinstance(found, Packing) else None

    return last


def summed(channels: int, outputs: int = 32) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        o, y, z, i = b.loops("o y z i")
        return b.sum((o, y, z), (i,), x[i, y, z] * weights(b, outputs, channels)[o, i])

    return write


def test_what_goes_channel_by_channel_is_read_in_blocks(
    packed: Callable[..., Packing | None],
) -> None:
    """Of any number of channels: lanes past the last one meet nothing."""
    found = packed(relu, (20, 4, 4))
    assert found is not None and (found.axis, found.lane, found.sums) == (0, 0, frozenset())
    assert list(found.reads.values()) == [PackedRead.PACKED]


@pytest.mark.parametrize(("channels", "how"), [(15, PackedRead.PLAIN), (16, PackedRead.EITHER)])
def test_summed_channels_are_read_in_blocks_where_they_fill_one(
    packed: Callable[..., Packing | None], channels: int, how: PackedRead
) -> None:
    """Then the loop that sums them is split as well."""
    found = packed(summed(channels), (channels, 4, 4))
    assert found is not None and list(found.reads.values()) == [how]
    assert found.sums == ({3} if how is PackedRead.EITHER else set())


def groups(step: int) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        g, o, y, z, i = b.loops(f"g:2 o:16 y:4 z:4 i:{step}")
        w = weights(b, 2, 16, step)
        return b.sum((g, o, y, z), (i,), x[g * step + i, y, z] * w[g, o, i])

    return write


@pytest.mark.parametrize(("step", "how"), [(24, PackedRead.PLAIN), (32, PackedRead.EITHER)])
def test_a_group_is_read_in_blocks_that_begin_with_it(
    packed: Callable[..., Packing | None], step: int, how: PackedRead
) -> None:
    """One that begins amid a block is read plain."""
    found = packed(groups(step), (2 * step, 4, 4))
    assert found is not None and list(found.reads.values()) == [how]


def test_weights_that_are_data_are_not_rounded_up(packed: Callable[..., Packing | None]) -> None:
    """Beside a factor that the run makes, channels are read in blocks where these are whole."""

    def write(b: Builder, x: Tensor, w: Tensor) -> Tensor:
        o, y, z, i = b.loops("o y z i")
        return b.sum((o, y, z), (i,), x[i, y, z] * w[o, i, 0])

    for channels, how in ((24, PackedRead.PLAIN), (32, PackedRead.EITHER)):
        found = packed(write, (channels, 4, 4), (32, channels, 1))
        assert found is not None and next(iter(found.reads.values())) is how


@pytest.mark.parametrize(("channels", "how"), [(20, None), (32, PackedRead.PLAIN)])
def test_what_is_read_in_both_ways_is_read_plain(
    packed: Callable[..., Packing | None], channels: int, how: PackedRead | None
) -> None:
    """Each channel beside the first one; in blocks whose last is not full, it is not at all."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, y, z = b.loops("c y z")
        return b.map((c, y, z), x[c, y, z] + x[0, y, z])

    found = packed(write, (channels, 4, 4))
    assert (found is None) == (how is None)
    assert found is None or list(found.reads.values()) == [how]
