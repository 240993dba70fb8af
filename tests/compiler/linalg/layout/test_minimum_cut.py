"""The minimum cut is a minimum, and found in little time."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise, product

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from ncc.compiler.linalg.layout.minimum_cut import Cut
from tests.executed_lines import lines_of


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

    def problem(self) -> Cut:
        cut = Cut()
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


def chain_of_many_ends(length: int) -> Cut:
    """Layers one behind the other, about half of which would be packed."""
    draw = random.Random(0)
    cut = Cut()
    ops = [test.TestOp([], [f32]) for _ in range(length)]
    for op in ops:
        cut.prefer(op, *draw.choice([(30, 0), (0, 30)]))
    for source, reader in pairwise(ops):
        cut.connect(source, reader, draw.randint(1, 40), draw.randint(1, 40))
    return cut


def chain_to_one_end(length: int) -> Cut:
    """Layers that would be packed, one behind the other, in front of one that would not."""
    cut = Cut()
    ops = [test.TestOp([], [f32]) for _ in range(length)]
    for op in ops:
        cut.prefer(op, 0, 3)
    cut.prefer(ops[-1], 5000, 0)
    for source, reader in pairwise(ops):
        cut.connect(source, reader, 5000, 5000)
    return cut


@pytest.mark.parametrize("chain", [chain_of_many_ends, chain_to_one_end])
def test_twice_as_long_a_chain_takes_twice_as_long(chain: Callable[[int], Cut]) -> None:
    """Paths of all lengths are found together, and flows that meet go on as one."""
    once, twice = (lines_of(chain(length).solve) for length in (300, 600))
    assert twice < 3 * once  # of lengths squared: 4
