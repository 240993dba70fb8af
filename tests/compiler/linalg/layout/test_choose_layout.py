"""What is packed, and what stays plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.layout.choose_layout import LayoutChoice
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import clamp, to_index
from tests.compiler.linalg.operations import (
    depthwise,
    ones,
    pointwise_convolution,
    relu,
)

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def convolution(b: Builder, x: Tensor, outputs: int, kernel: int = 3) -> Tensor:
    w = b.weight(ones(outputs, x.shape[0], kernel, kernel))
    height, width = (n - kernel + 1 for n in x.shape[1:])
    o, y, z, i, k, m = b.loops(f"o y:{height} z:{width} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


@pytest.fixture
def packed(make_network: MakeNetwork) -> Callable[..., list[bool]]:
    """packed(shape, write): which operations and views the choice packs, in order."""

    def labels(shape: tuple[int, ...], write: Any) -> list[bool]:
        block = network_of(make_network([shape], write)).body.block
        chosen = LayoutChoice(block, PackedAxes(), CostModel()).solve()
        kinds = (GenericOp, tensor.ConcatOp, tensor.PadOp, tensor.CollapseShapeOp)
        return [op in chosen for op in block.ops if isinstance(op, kinds)]

    return labels


Packed: TypeAlias = Callable[..., list[bool]]


@pytest.mark.parametrize(("width", "blocks"), [(32, False), (24, True)])
def test_windows_along_rows(packed: Packed, width: int, blocks: bool) -> None:
    """Rows of whole vectors stay; the half of one behind a vector takes as long as all of it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(4):
            x = depthwise(b, b.pad(x, (0, 1, 1), (0, 1, 1)))
        return x

    assert packed((16, 8, width), write) == [blocks] * 8


@pytest.mark.parametrize(
    ("write", "outputs", "height", "width", "blocks"),
    [
        (convolution, 17, 10, 34, False),
        (convolution, 17, 10, 10, True),
        (convolution, 4, 10, 16, False),
        (convolution, 4, 10, 12, True),
        (pointwise_convolution, 17, 4, 8, False),
        (pointwise_convolution, 17, 1, 10, True),
        (pointwise_convolution, 17, 1, 6, True),
    ],
)
def test_few_outputs_along_rows(
    packed: Packed, write: Any, outputs: int, height: int, width: int, blocks: bool
) -> None:
    """Lanes that overlap at the end of a row weigh as much as lanes without a channel. Rows that
    follow one another in what is read and in the result are one.
    """
    assert packed((64, height, width), lambda b, x: write(b, x, outputs)) == [blocks]


def test_convolutions_are_packed(packed: Packed) -> None:
    """And what stands between them: activations, depthwise convolutions, borders."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = depthwise(b, relu(b, convolution(b, x, 32)))
        return convolution(b, b.pad(y, (0, 1, 1), (0, 1, 1)), 64)

    assert packed((32, 12, 12), write) == [True] * 5


def test_few_channels_stay_plain(packed: Packed) -> None:
    """Where most lanes would be waste."""
    assert packed((3, 12, 12), lambda b, x: convolution(b, x, 4)) == [False]


def test_a_small_conversion_pays_for_a_sum(packed: Packed) -> None:
    """The first layer of a network is packed though its image is not."""
    assert packed((3, 12, 12), lambda b, x: convolution(b, x, 32)) == [True]


def test_a_map_alone_stays_plain(packed: Packed) -> None:
    """It would only be converted there and back."""
    assert packed((32, 12, 12), relu) == [False]


def test_an_activation_follows_its_sum(packed: Packed) -> None:
    """It is stored with it, though what reads it wants plain values and lanes are left over."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, convolution(b, x, 24))
        c, p, q = b.loops_of((24, 10, 10))
        return b.map((c, p, q), y[c, q, p])

    assert packed((32, 12, 12), write) == [True, True, False]


@pytest.mark.parametrize(
    ("rows", "columns", "blocks"),
    [(1, 333, False), (8, 333, False), (64, 333, True), (1, 320, True)],
)
def test_a_matrix_that_is_fed_is_copied_for_many_rows(
    make_network: MakeNetwork, rows: int, columns: int, blocks: bool
) -> None:
    """Where its rows are no whole blocks; where they are, blocks are another view of them."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        m, n, k = b.loops("m n k")
        return b.sum((m, n), over=(k,), of=x[m, k] * y[k, n])

    block = network_of(make_network([(rows, 100), (100, columns)], write)).body.block
    assert len(LayoutChoice(block, PackedAxes(), CostModel()).solve()) == blocks


def test_a_sum_of_rows_follows_its_product(packed: Packed) -> None:
    """However many want it plain: blocks of columns are only another view of rows."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(64, 64))
        m, n, k = b.loops("m n k")
        y = b.sum((m, n), over=(k,), of=x[m, k] * w[n, k])
        m, n = b.loops("m n")
        y = b.map((m, n), x[m, n] + y[m, n])
        rows = []
        for power in range(4):
            m, n = b.loops("m n")
            rows.append(b.sum((m,), over=(n,), of=y[m, n] * float(power)))
        return b.concat(rows, 0)

    assert packed((24, 64), write)[:2] == [True, True]


def test_a_value_is_converted_once_for_all_that_read_it(packed: Packed) -> None:
    """A sum across channels is plain; so is what is stored with it, of the value that it sums."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = convolution(b, x, 32)
        wide = b.pad(y, (1, 0, 0), (1, 0, 0))
        c, p, q, k = b.loops(f"c:{y.shape[0]} p q k:3")
        near = wide[c + k, p, q]
        total = b.sum((c, p, q), over=(k,), of=near * near)
        c, p, q = b.loops_of(y.shape)
        return convolution(b, b.map((c, p, q), y[c, p, q] * total[c, p, q]), 32)

    assert packed((32, 12, 12), write) == [True, False, False, False, True]


def test_more_channels_are_packed(packed: Packed) -> None:
    """The shortcut of BlazeFace: zeros behind the channels, to be added to more of them."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = convolution(b, x, 24)
        more, z = b.pad(y, (0, 0, 0), (4, 0, 0)), convolution(b, y, 28, 1)
        at = b.loops_of(z.shape)
        return convolution(b, b.map(at, more[at] + z[at]), 32)

    assert packed((32, 12, 12), write) == [True] * 5


def test_concats_between_blocks_are_packed(packed: Packed) -> None:
    """32 and 16 channels join whole blocks; 24 and 16 do not."""

    def write(first: int) -> Callable[[Builder, Tensor], Tensor]:
        return lambda b, x: convolution(
            b, b.concat([convolution(b, x, first), convolution(b, x, 16)], 0), 32
        )

    assert packed((32, 12, 12), write(32)) == [True, True, True, True]
    assert packed((32, 12, 12), write(24))[2] is False


def test_few_channels_are_read_at_places_of_their_own(packed: Packed) -> None:
    """Lanes are points where the blocks of channels would be mostly waste."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = b.pad(x, (0, 1, 1), (0, 1, 1))
        c, p, q = b.loops_of(x.shape)
        near = [to_index(clamp(x[0, p, q] + k, 0.0, x.shape[1])) for k in (0.0, 1.0)]
        elements = [y.at(b.index(c), row, column) for row in near for column in near]
        return b.map((c, p, q), sum(elements[1:], elements[0]))

    assert packed((3, 12, 12), write) == [False, False]
    assert packed((32, 12, 12), write) == [True, True]


def test_reads_at_computed_places_are_packed(packed: Packed) -> None:
    """A block at once pays for conversions there and back; of one channel, there are no blocks."""

    def write(b: Builder, x: Tensor) -> Tensor:
        columns = b.table(np.array([3, 1, 4, 1, 5, 9, 2, 6]))
        c, y, z = b.loops_of((x.shape[0], 8, 12))
        return b.map((c, y, z), x.at(b.index(c), b.index(z), columns[y]))

    assert packed((32, 12, 12), write) == [True]
    assert packed((1, 12, 12), write) == [False]


def test_rows_at_computed_places_stay_plain(packed: Packed) -> None:
    """Neighbours are read side by side, as rows of an image that is resized are."""

    def write(b: Builder, x: Tensor) -> Tensor:
        rows = b.table(np.array([3, 1, 4, 1, 5, 9, 2, 6]))
        c, y, z = b.loops_of((x.shape[0], 8, 12))
        return b.map((c, y, z), x.at(b.index(c), rows[y], b.index(z)))

    assert packed((3, 12, 12), write) == [False]
    assert packed((32, 12, 12), write) == [False]


@pytest.mark.parametrize(("width", "blocks"), [(12, False), (3, True)])
def test_images_are_summed_where_they_lie(packed: Packed, width: int, blocks: bool) -> None:
    """A vector of partial sums costs less than blocks of what is given, but of few elements."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, p, q = b.loops("c p q")
        return b.sum((c,), over=(p, q), of=x[c, p, q])

    assert packed((32, width, width), write) == [blocks]


def test_one_sum_is_no_block(packed: Packed) -> None:
    """As those of a softmax along a vector are: fifteen others would be computed beside each."""

    def write(b: Builder, x: Tensor) -> Tensor:
        one, k = b.loops(f"one:1 k:{x.shape[0]}")
        return b.sum((one,), over=(k,), of=x[k + one * 0])

    assert packed((1000,), write) == [False]


def test_why_a_value_is_packed_or_not(make_network: MakeNetwork) -> None:
    """By the costs of both layouts, or for a reason that blocks are impossible."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        sums = convolution(b, x, 32)
        c, y = b.loops_of((32, 8))
        return [sums, b.map((c, y), x[c, y, y])]

    module = make_network([(32, 8, 8)], write)
    [sums, diagonal] = PackChannels().explain(module)
    assert sums.fired and sums.reason.startswith("estimated cost by itself: in blocks 0 kB, plain ")
    assert not diagonal.fired and diagonal.reason == "it does not read channel by channel"
