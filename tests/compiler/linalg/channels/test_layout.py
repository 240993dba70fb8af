"""The minimum cut is a minimum, and packs what should be packed."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects import tensor, test
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation

from ncc.compiler.linalg.channels.layout import _Cut, choose
from ncc.compiler.linalg.network import network_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import clamp, to_index
from ncc.dialects.weight import WeightAttr
from tests.compiler.linalg.computations import relu

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


# --- the cut --------------------------------------------------------------------------------


class Costs:
    """The problem as a plain sum over labels: what the cut has to minimise."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.ops: list[Operation] = []
        for _ in range(draw.randint(1, 9)):
            read = [op.results[0] for op in self.ops if draw.random() < 0.4]
            self.ops.append(test.TestOp(read, [f32]))
        self.conversions = {op.results[0]: draw.randint(1, 15) for op in self.ops}
        self.single = [draw.choice([(0, 0), (30, 0), (0, 30), (7, 9)]) for _ in self.ops]
        self.extra = [draw.choice([0, 0, 7]) for _ in self.ops]
        self.pairs = [
            (a, b, draw.randint(0, 15), draw.randint(0, 15))
            for a in range(len(self.ops))
            for b in range(a + 1, len(self.ops))
            if draw.random() < 0.5
        ]

    def problem(self) -> _Cut:
        cut = _Cut()
        for op, (packed, plain), extra in zip(self.ops, self.single, self.extra, strict=True):
            cut.prefer(op, packed, plain)
            cut.pay_if_packed(op, extra)
        for a, b, to_plain, to_packed in self.pairs:
            cut.connect(self.ops[a], self.ops[b], to_plain, to_packed)
        for value, cost in self.conversions.items():
            for use in value.uses:
                cut.read_plain(value, value.owner, use.operation, cost)
                cut.read_packed(value, value.owner, use.operation, cost)
        return cut

    def total(self, packed: tuple[bool, ...]) -> float:
        """The cost of a labelling; where both labels cost the same, packed is preferred by 1."""
        singles = zip(packed, self.single, self.extra, strict=True)
        cost = sum(s[0] + extra if is_packed else s[1] + 1.0 for is_packed, s, extra in singles)
        for a, b, to_plain, to_packed in self.pairs:
            cost += to_plain if packed[a] and not packed[b] else 0
            cost += to_packed if packed[b] and not packed[a] else 0
        label = dict(zip(self.ops, packed, strict=True))
        for op, is_packed in label.items():
            value = op.results[0]
            converted = any(label[use.operation] is not is_packed for use in value.uses)
            cost += self.conversions[value] * converted
        return cost


def test_no_labelling_is_cheaper() -> None:
    """On random graphs, all labellings tried: the cut costs as little as the best."""
    for seed in range(300):
        costs = Costs(seed)
        found = costs.problem().solve()
        chosen = tuple(op in found for op in costs.ops)
        best = min(map(costs.total, product([False, True], repeat=len(costs.ops))))
        assert costs.total(chosen) == best, f"seed {seed}"


def test_paths_of_one_length_are_found_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a chain of layers is, it is searched as often as its paths have lengths."""
    draw = random.Random(0)
    cut, searches = _Cut(), 0
    ops = [test.TestOp([], [f32]) for _ in range(2000)]
    for op in ops:
        cut.prefer(op, *draw.choice([(30, 0), (0, 30)]))
    for source, reader in pairwise(ops):
        cut.connect(source, reader, draw.randint(1, 40), draw.randint(1, 40))
    search = cut._search

    def counted() -> dict[int, int]:
        nonlocal searches
        searches += 1
        return search()

    monkeypatch.setattr(cut, "_search", counted)
    cut.solve()
    assert searches < 20


# --- what is packed -------------------------------------------------------------------------


def ones(*shape: int) -> WeightAttr:
    return WeightAttr.of(np.ones(shape, np.float32))


def convolution(b: Builder, x: Tensor, outputs: int, kernel: int = 3) -> Tensor:
    w = b.weight(ones(outputs, x.shape[0], kernel, kernel))
    height, width = (n - kernel + 1 for n in x.shape[1:])
    o, y, z, i, k, m = b.loops(f"o y:{height} z:{width} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def depthwise(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(x.shape[0], 3, 3))
    c, y, z, k, m = b.loops(f"c y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y + k, z + m] * w[c, k, m])


@pytest.fixture
def packed(make_network: MakeNetwork) -> Callable[..., list[bool]]:
    """packed(shape, write): which computations and views the choice packs, in order."""

    def labels(shape: tuple[int, ...], write: Any) -> list[bool]:
        block = network_of(make_network([shape], write)).body.block
        chosen = choose(block)
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


def test_joints_between_blocks_are_packed(packed: Packed) -> None:
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
        cells = [y.at(b.index(c), row, column) for row in near for column in near]
        return b.map((c, p, q), sum(cells[1:], cells[0]))

    assert packed((3, 12, 12), write) == [False, False]
    assert packed((32, 12, 12), write) == [True, True]


def test_reads_at_computed_places_are_packed(packed: Packed) -> None:
    """A block at once pays for conversions there and back; of one channel, there are no blocks."""

    def write(b: Builder, x: Tensor) -> Tensor:
        rows = b.table(np.array([3, 1, 4, 1, 5, 9, 2, 6]))
        c, y, z = b.loops_of((x.shape[0], 8, 12))
        return b.map((c, y, z), x.at(b.index(c), rows[y], b.index(z)))

    assert packed((32, 12, 12), write) == [True]
    assert packed((1, 12, 12), write) == [False]
