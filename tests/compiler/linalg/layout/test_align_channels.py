"""Groups and parts of concats begin with blocks where that lets them be read in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel, Layout
from ncc.compiler.linalg.layout.align_channels import AlignChannels
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def convolution(b: Builder, x: Tensor, outputs: int, groups: int = 1) -> Tensor:
    """A pointwise convolution, in groups that are collapsed."""
    if groups == 1:
        w = whole_numbers(b, outputs, x.shape[0])
        o, y, z, i = b.loops("o y z i")
        return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])
    size = x.shape[0] // groups
    w = whole_numbers(b, groups, outputs // groups, size)
    g, o, y, z, i = b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
    made = b.sum((g, o, y, z), over=(i,), of=x[g * size + i, y, z] * w[g, o, i])
    return b.collapse(made, [[0, 1], [2], [3]])


def depthwise(b: Builder, x: Tensor, step: int = 1) -> Tensor:
    """A window of three columns."""
    w = whole_numbers(b, x.shape[0], 3)
    width = (x.shape[2] - 3) // step + 1
    c, y, z, k = b.loops(f"c y:{x.shape[1]} z:{width} k")
    return b.sum((c, y, z), over=(k,), of=x[c, y, z * step + k] * w[c, k])


def wide(b: Builder, x: Tensor, groups: int) -> Tensor:
    """A 3x3 convolution in groups."""
    size = x.shape[0] // groups
    w = whole_numbers(b, groups, 16, size, 3, 3)
    g, o, y, z, i, k, m = b.loops(f"g o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    read = x[g * size + i, y + k, z + m]
    return b.sum((g, o, y, z), over=(i, k, m), of=read * w[g, o, i, k, m])


def aligned(module: ModuleOp) -> tuple[list[int], int]:
    """How many channels the pass's gathers take, and how many of them take lanes of blocks."""
    found = after(module, AlignChannels())
    counts = [len(linalg_op.channels) for linalg_op in found if linalg_op.channels is not None]
    return counts, sum(linalg_op.lanes is not None for linalg_op in after(module, PackChannels()))


@pytest.mark.parametrize(
    ("size", "counts"), [(17, [96]), (20, [96]), (40, [144]), (16, []), (15, []), (48, [])]
)
def test_groups(make_network: MakeNetwork, size: int, counts: list[int]) -> None:
    """Those of more than a block that are no whole ones, once for all that read them."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        x = convolution(b, x, 3 * size)
        return [convolution(b, x, 48, 3), convolution(b, x, 96, 3)]

    assert aligned(make_network([(32, 4, 6)], write)) == (counts, len(counts))


def test_padded_groups(make_network: MakeNetwork) -> None:
    """What is gathered is padded afterwards."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return wide(b, b.pad(convolution(b, x, 40), [0, 1, 1], [0, 1, 1], 0.5), 2)

    assert aligned(make_network([(32, 4, 6)], write)) == ([64], 1)


def test_groups_that_overlap(make_network: MakeNetwork) -> None:
    """They are windows of channels."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x, w = convolution(b, x, 37), whole_numbers(b, 2, 16, 20)
        g, o, y, z, i = b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
        return b.sum((g, o, y, z), over=(i,), of=x[g * 17 + i, y, z] * w[g, o, i])

    assert aligned(make_network([(32, 4, 6)], write)) == ([], 0)


@pytest.mark.parametrize(("first", "counts"), [(24, [56]), (48, [])])
def test_concats(make_network: MakeNetwork, first: int, counts: list[int]) -> None:
    """All channels of a concat of ragged parts, whoever reads it."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        concat_op = b.concat([convolution(b, x, first), convolution(b, x, 32, 2)], 0)
        return [depthwise(b, concat_op), depthwise(b, concat_op, 2)]

    assert aligned(make_network([(32, 4, 6)], write)) == (counts, len(counts))


def test_a_concat_of_ragged_groups(make_network: MakeNetwork) -> None:
    """The groups begin with blocks as parts do, in a concat of concats as well: all move once."""

    def write(b: Builder, x: Tensor) -> Tensor:
        inner = b.concat([convolution(b, x, 40, 2), convolution(b, x, 24)], 0)
        return depthwise(b, b.concat([inner, convolution(b, x, 60, 3)], 0))

    assert aligned(make_network([(96, 8, 8)], write))[0] == [124]


def test_a_concat_of_ragged_rows(make_network: MakeNetwork) -> None:
    """A part that is a concat of rows has its channels once."""

    def write(b: Builder, x: Tensor) -> Tensor:
        upper, lower = convolution(b, x, 24), convolution(b, x, 24)
        rows = b.concat([upper, lower], 1)
        return depthwise(b, b.concat([rows, convolution(b, b.concat([x, x], 1), 40)], 0))

    assert aligned(make_network([(32, 4, 6)], write)) == ([64], 1)


def test_ragged_groups_by_themselves(make_network: MakeNetwork) -> None:
    """What reads all of them reads them in blocks, too."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        concat_op = convolution(b, x, 120, 3)
        return [depthwise(b, concat_op, step) for step in (2, 3)]

    assert aligned(make_network([(96, 8, 8)], write)) == ([120], 1)


def test_a_concat_of_rows_stays_as_it_is(make_network: MakeNetwork) -> None:
    """Channels are not what is joined, or are not computed in blocks: no number moves."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        rows = b.concat([convolution(b, x, 24), convolution(b, x, 24)], 1)
        return [convolution(b, rows, 32), b.concat([x, y], 0)]

    counts, lanes = aligned(make_network([(24, 4, 6), (5, 4, 6)], write))
    assert lanes == 0 and counts in ([], [29])


@pytest.mark.parametrize(
    ("size", "most", "reason"),
    [
        (15, 1 << 16, "its groups are smaller than a block"),
        (20, 47, "it has more than 47 channels"),
    ],
)
def test_why_groups_are_not_aligned(
    make_network: MakeNetwork, size: int, most: int, reason: str
) -> None:
    """A gather is a list of its channels, and small groups share a block."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return convolution(b, convolution(b, x, 3 * size), 48, 3)

    costs = CostModel(layout=Layout(most_gathered_channels=most))
    assert reason in reasons(AlignChannels(costs), make_network([(32, 4, 6)], write))
