"""Random networks of several element types: -O2 makes what numpy makes of their linalg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pytest
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.dialects.casts import cast
from ncc.dialects.element import ELEMENTS, as_stored, element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import absolute, constant, maximum, select
from ncc.dialects.weights.sources import Array
from tests.structured.evaluate import evaluate
from tests.typed import Typed, network, numbers, run, whole

MOST = 40_000
"""Elements of a value that is not made larger."""
TYPES = list(ELEMENTS.values())
CLOSE = {"float16": 2e-2, "float32": 1e-2, "float64": 1e-9}
"""Of the largest result; bfloat16 is among float32 here."""

SEEDS = [pytest.param(seed, marks=pytest.mark.sweep if seed > 5 else ()) for seed in range(60)]


@dataclass
class Writer:
    """Writes operations on values that were written before, or are given."""

    draw: np.random.Generator
    b: Builder
    pool: list[Tensor]

    def step(self) -> None:
        """One more operation on one of the last values."""
        x = self.pool[int(self.draw.integers(max(0, len(self.pool) - 3), len(self.pool)))]
        steps = [self.cast, self.compare, self.reduce, self.move, self.resize, self.bias]
        if x.element_type != i1:
            steps += [self.compute, self.product, self.convolution]
        steps[int(self.draw.integers(len(steps)))](x)

    def weights(self, x: Tensor, *shape: int) -> Tensor:
        element = x.element_type
        return self.b.constant(as_stored(whole(element, shape, shape[0]), element), element)

    def map(self, x: Tensor, of: object) -> None:
        at = self.b.loops_of(x.shape)
        assert callable(of)
        self.pool.append(self.b.map(at, of(x[at])))

    def cast(self, x: Tensor) -> None:
        element = TYPES[int(self.draw.integers(len(TYPES)))]
        self.map(x, lambda value: cast(value, element))

    def compute(self, x: Tensor) -> None:
        ways = (lambda v: v + 1, absolute, lambda v: maximum(v, 0), lambda v: v * 2, lambda v: -v)
        self.map(x, ways[int(self.draw.integers(len(ways)))])

    def compare(self, x: Tensor) -> None:
        element = x.element_type
        at = self.b.loops_of(x.shape)
        mask = self.b.map(at, x[at] > constant(element != i1, element))
        at = self.b.loops_of(x.shape)
        self.pool += [mask, self.b.map(at, select(mask[at], x[at], constant(0, element)))]

    def reduce(self, x: Tensor) -> None:
        at, axis = self.b.loops_of(x.shape), int(self.draw.integers(x.rank))
        combine = self.b.max if x.element_type == i1 or self.draw.random() < 0.5 else self.b.sum
        kept = [loop for k, loop in enumerate(at) if k != axis]
        self.pool.append(combine(kept, [at[axis]], x[at]))

    def move(self, x: Tensor) -> None:
        order = [int(axis) for axis in self.draw.permutation(x.rank)]
        to = self.b.loops_of([x.shape[axis] for axis in order])
        self.pool.append(self.b.map(to, x[[to[order.index(k)] for k in range(x.rank)]]))

    def resize(self, x: Tensor) -> None:
        """Padded, doubled or cut."""
        way = int(self.draw.integers(3))
        sides = [int(side) for side in self.draw.integers(0, 3, x.rank)]
        if way == 0 or prod(x.shape) > MOST:
            begin = [min(side, extent - 1) for side, extent in zip(sides, x.shape, strict=True)]
            size = [extent - first for extent, first in zip(x.shape, begin, strict=True)]
            self.pool.append(self.b.slice(x, begin, size))
        elif way == 1:
            self.pool.append(self.b.pad(x, sides, sides[::-1], 1.0))
        else:
            self.pool.append(self.b.concat([x, x], int(self.draw.integers(x.rank))))

    def bias(self, x: Tensor) -> None:
        axis = int(self.draw.integers(x.rank))
        held, at = self.weights(x, x.shape[axis]), self.b.loops_of(x.shape)
        with_bias = x[at] | held[at[axis]] if x.element_type == i1 else x[at] + held[at[axis]]
        self.pool.append(self.b.map(at, with_bias))

    def product(self, x: Tensor) -> None:
        """By a matrix along the last axis."""
        columns = int(self.draw.choice([1, 4, 16, 33]))
        held = self.weights(x, x.shape[-1], columns)
        names = " ".join(f"d{k}:{extent}" for k, extent in enumerate(x.shape))
        *at, k, n = self.b.loops(f"{names} n:{columns}")
        self.pool.append(self.b.sum([*at, n], [k], x[[*at, k]] * held[k, n]))

    def convolution(self, x: Tensor) -> None:
        if x.rank < 3 or min(x.shape[-2:]) < 3:
            return
        outputs, stride = int(self.draw.choice([1, 8, 16, 20])), int(self.draw.choice([1, 2]))
        held = self.weights(x, outputs, x.shape[-3], 3, 3)
        rows, columns = ((extent - 3) // stride + 1 for extent in x.shape[-2:])
        images = " ".join(f"n{k}:{extent}" for k, extent in enumerate(x.shape[:-3]))
        *n, o, y, z, c, r, s = self.b.loops(f"{images} o y:{rows} z:{columns} c r s")
        of = x[[*n, c, y * stride + r, z * stride + s]] * held[o, c, r, s]
        self.pool.append(self.b.sum([*n, o, y, z], [c, r, s], of))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks(seed: int) -> None:
    """Results of integers are equal, those of floats close."""
    draw = np.random.default_rng(seed)
    shape = tuple(int(n) for n in draw.choice([1, 2, 3, 5, 8, 16, 17, 32, 33], draw.integers(2, 5)))
    types: list[Typed] = [(shape, TYPES[int(draw.integers(len(TYPES)))]) for _ in range(2)]
    arrays = [whole(element, shape, seed + k) for k, (_, element) in enumerate(types)]

    def write(b: Builder, *given: Tensor) -> Sequence[Tensor]:
        writer = Writer(np.random.default_rng(seed), b, list(given))
        while len(writer.pool) < 8:
            writer.step()
        return writer.pool[-4:]

    found = run(types, write, arrays, 2, ("avx512", "avx2", "baseline")[seed % 3])
    for made, exact in zip(found, evaluated(types, write, arrays), strict=True):
        assert made.dtype == exact.dtype
        a, b = (array.astype(np.float64) for array in (made, exact))
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
        known = np.isfinite(b)
        close = CLOSE.get(str(made.dtype), 0) * np.abs(b[known]).max(initial=0)
        assert np.abs(a[known] - b[known]).max(initial=0) <= close


def evaluated(types: Sequence[Typed], write: object, arrays: Sequence[Array]) -> list[Array]:
    """The results by numpy."""
    assert callable(write)
    function = network_of(network(types, write))
    returned = function.body.block.last_op
    assert returned is not None
    elements: list[Attribute] = [element_of(value) for value in returned.operands]
    fed = [as_stored(array, element) for array, (_, element) in zip(arrays, types, strict=True)]
    results = evaluate(function, fed)
    return [numbers(array, element) for array, element in zip(results, elements, strict=True)]
