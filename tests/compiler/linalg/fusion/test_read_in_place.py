"""Sums read the lanes of a gather where they lie, if they alone read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.fusion.fusion_groups import find_groups
from ncc.compiler.linalg.fusion.read_in_place import ReadInPlace
from ncc.compiler.linalg.layout.gather_channels import gather
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import pointwise_convolution
from tests.compiler.linalg.same_numbers import after

MOST = CostModel().fusion.most_in_epilogue


MakeNetwork: TypeAlias = Callable[..., ModuleOp]

CHANNELS = [*range(0, 60, 2), *range(1, 9)]
"""What is taken of a concat of 30 and 30 channels: two blocks and a bit."""


def concat_op(b: Builder, x: Tensor) -> Tensor:
    return b.concat([pointwise_convolution(b, x, 30), pointwise_convolution(b, x, 30)], 0)


def one_reader(b: Builder, x: Tensor) -> list[Tensor]:
    return [pointwise_convolution(b, gather(b, concat_op(b, x).value, CHANNELS), 20)]


def two_readers(b: Builder, x: Tensor) -> list[Tensor]:
    gathered = gather(b, concat_op(b, x).value, CHANNELS)
    return [pointwise_convolution(b, gathered, 20), pointwise_convolution(b, gathered, 32)]


BLOCKS = CostModel().reductions.most_blocks_in_place


def many_results(b: Builder, x: Tensor) -> list[Tensor]:
    return [pointwise_convolution(b, gather(b, concat_op(b, x).value, CHANNELS), 16 * BLOCKS + 1)]


def window(b: Builder, x: Tensor) -> list[Tensor]:
    """What works channel by channel reads vectors of lanes."""
    x = gather(b, concat_op(b, x).value, CHANNELS)
    w = b.weight(WeightAttr.of(np.ones((x.shape[0], 2), np.float32)))
    c, y, z, k = b.loops(f"c y:{x.shape[1] - 1} z:{x.shape[2]} k:2")
    return [b.sum((c, y, z), (k,), x[c, y + k, z] * w[c, k])]


def as_many_results(b: Builder, x: Tensor) -> list[Tensor]:
    return [pointwise_convolution(b, gather(b, concat_op(b, x).value, CHANNELS), 16 * BLOCKS)]


def few_results(b: Builder, x: Tensor) -> list[Tensor]:
    """Fewer than a block of them."""
    return [pointwise_convolution(b, gather(b, concat_op(b, x).value, CHANNELS), 3)]


def inner_product(b: Builder, x: Tensor) -> list[Tensor]:
    """Sums over the whole image: results are no image."""
    x = gather(b, concat_op(b, x).value, CHANNELS)
    w = b.weight(WeightAttr.of(np.ones((32, *x.shape), np.float32)))
    o, c, y, z = b.loops("o c y z")
    return [b.sum((o,), (c, y, z), x[c, y, z] * w[o, c, y, z])]


def largest(b: Builder, x: Tensor) -> list[Tensor]:
    """A window of what is no sum of products."""
    x = gather(b, concat_op(b, x).value, CHANNELS)
    c, y, z, k = b.loops(f"c y:{x.shape[1] - 1} z k:2")
    return [b.max((c, y, z), (k,), x[c, y + k, z])]


def read_besides(b: Builder, x: Tensor) -> list[Tensor]:
    """A concat with a reader that may want a border around it."""
    whole = concat_op(b, x)
    return [pointwise_convolution(b, gather(b, whole.value, CHANNELS), 20), whole]


def two_concats(b: Builder, x: Tensor, axis: int = 0) -> list[Tensor]:
    """A gather of a part of what another one is of."""
    parts = [pointwise_convolution(b, x, 32) for _ in range(2)]
    some = gather(b, b.concat(parts, axis).value, [*range(0, 32, 2), *range(1, 6)])
    backwards = gather(b, parts[0].value, range(31, -1, -1))
    return [pointwise_convolution(b, backwards, 20), pointwise_convolution(b, some, 20)]


def concat_of_rows(b: Builder, x: Tensor) -> list[Tensor]:
    """Parts that lie apart in memory."""
    return two_concats(b, x, axis=1)


def concat_that_is_read(b: Builder, x: Tensor) -> list[Tensor]:
    parts = [pointwise_convolution(b, x, 32) for _ in range(2)]
    backwards = gather(b, parts[0].value, range(31, -1, -1))
    return [pointwise_convolution(b, backwards, 20), b.concat(parts, 0)]


@pytest.mark.parametrize(
    ("write", "in_place"),
    [
        (one_reader, 1),
        (as_many_results, 1),
        (two_concats, 2),
        (two_readers, 0),
        (many_results, 0),
        (few_results, 1),
        (window, 0),
        (inner_product, 0),
        (largest, 0),
        (read_besides, 0),
        (concat_of_rows, 1),
        (concat_that_is_read, 0),
    ],
)
def test_which(
    make_network: MakeNetwork, write: Callable[..., list[Tensor]], in_place: int
) -> None:
    """A gather that is read in place is part of its reader's kernel."""
    module = make_network([(16, 5, 4)], write)
    after(module, PackChannels())
    block = network_of(module).body.block
    before = len(find_groups(block, MOST))
    after(module, ReadInPlace())
    groups = find_groups(block, MOST)
    assert len(groups) == before - in_place
    assert sum(group.gather is not None for group in groups) == in_place


def test_what_says_more_of_itself_reads_a_selection(make_network: MakeNetwork) -> None:
    """Attributes of a sum, but for those of blocks, are about how it reads."""
    module = make_network([(16, 5, 4)], one_reader)
    after(module, PackChannels())
    block = network_of(module).body.block
    [gather] = (op for op in generics_of(block) if "lanes" in op.attributes)
    [reader] = (use.operation for use in gather.results[0].uses)
    reader.attributes["channels"] = ArrayAttr([])
    before = len(find_groups(block, MOST))
    after(module, ReadInPlace())
    assert len(find_groups(block, MOST)) == before
