"""Shuffles of concats become gathers, in blocks too, and every number stays where it belongs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.layout.gather_channels import GatherChannels, lanes_of
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import pointwise_convolution
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
COSTS = CostModel()


def shuffled(b: Builder, x: Tensor, groups: int) -> Tensor:
    size = x.shape[0] // groups
    n, g, y, z = b.loops_of((size, groups, *x.shape[1:]))
    return b.collapse(b.map((n, g, y, z), x[g * size + n, y, z]), [[0, 1], [2], [3]])


def gathered(module: ModuleOp, costs: CostModel = COSTS) -> tuple[int, int]:
    """How many gathers the pass makes, and how many of them take lanes of blocks."""
    gathers = after(module, GatherChannels(costs))
    count = sum(linalg_op.channels is not None for linalg_op in gathers)
    return count, sum(linalg_op.lanes is not None for linalg_op in after(module, PackChannels()))


@pytest.mark.parametrize("half", [16, 24, 29, 48])
def test_halves_of_a_shuffle(make_network: MakeNetwork, half: int) -> None:
    """Each is made of the concat in one go: lanes of blocks, whatever a part's channels."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        concat_op = b.concat(
            [pointwise_convolution(b, x, half), pointwise_convolution(b, x, half)], 0
        )
        z = shuffled(b, concat_op, 2)
        parts = [b.slice(z, (first, 0, 0), (half, *z.shape[1:])) for first in (0, half)]
        return [pointwise_convolution(b, part, 32) for part in parts]

    assert gathered(make_network([(16, 5, 7)], write)) == (2, 2)


def test_a_whole_shuffle_beside_its_half(make_network: MakeNetwork) -> None:
    """Both are gathers of the concat."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        z = shuffled(
            b, b.concat([pointwise_convolution(b, x, 24), pointwise_convolution(b, x, 48)], 0), 3
        )
        half = b.slice(z, (36, 0, 0), (36, *z.shape[1:]))
        return [pointwise_convolution(b, z, 16), pointwise_convolution(b, half, 32)]

    assert gathered(make_network([(32, 4, 4)], write)) == (2, 2)


def test_a_concat_with_another_reader_has_no_gaps(make_network: MakeNetwork) -> None:
    """It is in blocks as one value, or plain."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        concat_op = b.concat([pointwise_convolution(b, x, 24), pointwise_convolution(b, x, 24)], 0)
        return [
            pointwise_convolution(b, shuffled(b, concat_op, 2), 32),
            pointwise_convolution(b, concat_op, 32),
        ]

    count, _ = gathered(make_network([(16, 6, 6)], write))
    assert count == 1


def test_nothing_else_is_a_selection(make_network: MakeNetwork) -> None:
    """Not a shuffle of one value that no sum makes, nor one that moves rows as well."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        concat_op = b.concat([pointwise_convolution(b, x, 16), pointwise_convolution(b, x, 16)], 0)
        n, g, y, z = b.loops_of((16, 2, x.shape[1], x.shape[2]))
        transposed = b.map((n, g, y, z), concat_op[g * 16 + n, z, y])
        return [
            shuffled(b, x, 2),
            b.collapse(transposed, [[0, 1], [2], [3]]),
        ]

    assert gathered(make_network([(16, 6, 6)], write)) == (0, 0)
    told = reasons(GatherChannels(), make_network([(16, 6, 6)], write))
    assert told == ["it moves rows or columns, too"]


def test_rows_that_become_an_image_are_no_selection(make_network: MakeNetwork) -> None:
    """A concat of fewer axes is no image, though a shuffle of it is one."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        concat_op = b.concat([x, x], 0)
        n, g, y, z = b.loops_of((16, 2, 1, x.shape[1]))
        image = b.map((n, g, y, z), concat_op[g * 16 + n, z])
        return [b.collapse(image, [[0, 1], [2], [3]])]

    assert gathered(make_network([(16, 6)], write)) == (0, 0)


@pytest.mark.parametrize("seed", range(12))
def test_random_units(make_network: MakeNetwork, seed: int) -> None:
    """Concats of what was shuffled and split before, in one unit after the other."""
    draw = random.Random(seed)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        left, right = (
            pointwise_convolution(b, x, draw.choice([6, 16, 18, 30, 32])) for _ in range(2)
        )
        for _ in range(3):
            concat_op = b.concat([left, right], 0)
            total = concat_op.shape[0]
            groups = draw.choice([n for n in range(2, total + 1) if total % n == 0])
            z = shuffled(b, concat_op, groups)
            at = draw.choice([total // 2, total // 3, 16 if total > 16 else 1])
            left = b.slice(z, (0, 0, 0), (at, *z.shape[1:]))
            rest = b.slice(z, (at, 0, 0), (total - at, *z.shape[1:]))
            right = pointwise_convolution(b, rest, draw.choice([6, 16, 24]))
        return [left, right]

    count, _ = gathered(make_network([(16, 3, 5)], write))
    assert count == 6


def test_parts_begin_with_blocks_of_their_own() -> None:
    """Lanes behind the last channel of the result are filled with that channel again."""
    assert lanes_of([18, 3], [0, 17, 18, 20])[:4] == [0, 17, 32, 34]
    assert lanes_of([18, 3], [20] * 17) == [34] * 32


@pytest.mark.parametrize(("most", "count"), [(48, 1), (47, 0)])
def test_shuffles_of_very_many_channels_stay(
    make_network: MakeNetwork, most: int, count: int
) -> None:
    """A gather is a list of its channels."""

    def write(b: Builder, x: Tensor) -> Tensor:
        concat_op = b.concat([pointwise_convolution(b, x, 24), pointwise_convolution(b, x, 24)], 0)
        return pointwise_convolution(b, shuffled(b, concat_op, 2), 32)

    costs = COSTS._replace(layout=COSTS.layout._replace(most_gathered_channels=most))
    assert gathered(make_network([(16, 6, 6)], write), costs)[0] == count
