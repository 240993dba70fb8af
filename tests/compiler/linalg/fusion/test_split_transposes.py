"""Moves in two: which ones are, by how both sides meet vectors, and that every value arrives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.fusion.split_transposes import SplitTransposes
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape
from tests.compiler.linalg.operations import relu
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import after, marked
from tests.crossed import crossed

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
ORDERS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
"""The axes of what ncnn's Permute makes, by its order."""


def permuted(b: Builder, x: Tensor, order: tuple[int, ...]) -> Tensor:
    """The axes of x in another order."""
    at = b.loops_of([x.shape[axis] for axis in order])
    return b.map(at, x[[at[order.index(axis)] for axis in range(x.rank)]])


@pytest.fixture
def moved(make_network: MakeNetwork) -> Callable[..., list[Shape]]:
    """moved(shape, order): the shapes of all moves behind the pass; values are the same."""

    def shapes_of(shape: Shape, order: tuple[int, ...], target: Target = AVX512) -> list[Shape]:
        module = make_network([shape], lambda b, x: permuted(b, x, order))
        return [
            shape_of(linalg_op.op.results[0])
            for linalg_op in after(module, SplitTransposes(target))
        ]

    return shapes_of


Moved: TypeAlias = Callable[..., list[Shape]]


def test_as_many_neighbours_as_kernels_interleave() -> None:
    """The pass and the schedules mean the same by a few channels."""


@pytest.mark.parametrize("channels", [2, 3, 4, 7, 8])
def test_channels_to_and_from_the_last_axis(moved: Moved, channels: int) -> None:
    """Across rows, both ways: squares are those of rows and columns."""
    c = channels
    assert moved((c, 16, 17), (2, 1, 0)) == [(c, 17, 16), (17, 16, c)]
    assert moved((16, c, 17), (2, 0, 1)) == [(c, 17, 16), (17, 16, c)]
    assert moved((16, 17, c), (2, 1, 0)) == [(c, 16, 17), (c, 17, 16)]
    assert moved((16, 17, c), (1, 2, 0)) == [(c, 16, 17), (17, c, 16)]


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((3, 16, 17), (1, 2, 0)),
        ((3, 16, 17), (0, 2, 1)),
        ((3, 16, 17), (1, 0, 2)),
        ((3, 16, 17), (2, 0, 1)),
        ((16, 17, 3), (2, 0, 1)),
        ((16, 17, 3), (1, 0, 2)),
        ((16, 3, 17), (2, 1, 0)),
        ((1, 16, 17), (2, 1, 0)),
        ((9, 16, 17), (2, 1, 0)),
        ((16, 17, 18), (2, 1, 0)),
        ((3, 15, 17), (2, 1, 0)),
        ((3, 17, 15), (2, 1, 0)),
        ((15, 17, 3), (2, 1, 0)),
        ((3, 4, 17), (2, 1, 0)),
    ],
)
def test_one_move_is_enough(moved: Moved, shape: Shape, order: tuple[int, ...]) -> None:
    """Squares or channels alone, more channels than are interleaved, no axis of two vectors."""
    assert moved(shape, order) == [tuple(shape[axis] for axis in order)]


@pytest.mark.parametrize(("target", "fewest"), [(AVX512, 16), (AVX2, 8), (BASELINE, 4)])
def test_vectors_are_those_of_the_target(moved: Moved, target: Target, fewest: int) -> None:
    """Rows and columns of one vector each; four channels are one of 128 bits themselves."""
    assert len(moved((3, fewest, fewest), (2, 1, 0), target)) == 2
    assert len(moved((3, fewest, fewest - 1), (2, 1, 0), target)) == 1
    assert len(moved((4, 16, 16), (2, 1, 0), target)) == (1 if target is BASELINE else 2)


@pytest.mark.parametrize("shape", [(3, 4, 5, 6), (3, 1, 4, 5), (2, 5, 4, 2)])
def test_all_orders(moved: Moved, shape: Shape) -> None:
    """Axes of extent 1 do not count, others go along; and some moves of each shape are two."""
    found = [moved(shape, order, BASELINE) for order in permutations(range(4))]
    assert {len(shapes) for shapes in found} == {1, 2}
    for shapes, order in zip(found, permutations(range(4)), strict=True):
        assert shapes[-1] == tuple(shape[axis] for axis in order)


def test_other_moves_stay(make_network: MakeNetwork) -> None:
    """Rows upside down, and elements that are repeated: no axes in another order."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        q, p, c = b.loops("q:17 p:17 c:3")
        upside_down = b.map((q, p, c), x[c, p * -1 + 16, q])
        q, p, c = b.loops("q:17 p:17 c:3")
        return [upside_down, b.map((q, p, c), x[c, p, p])]

    assert len(after(make_network([(3, 17, 17)], write), SplitTransposes())) == 2


def test_what_a_kernel_computes_besides(make_network: MakeNetwork) -> None:
    """What follows goes along with the second move; what is not a kernel stays: a fill's values."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        first, init = relu(b, permuted(b, x, (2, 1, 0))), permuted(b, relu(b, x), (2, 1, 0))
        q, p, c, k = b.loops("q:17 p:16 c:3 k:3")
        total = b.sum((q, p, c), over=(k,), of=x[k, p, q] * x[c, p, q], init=init)
        return [first, total]

    assert reasons(SplitTransposes(), make_network([(3, 16, 17)], write)) == [
        "a kernel computes it with its operand, or its reader"
    ]
    found = after(make_network([(3, 16, 17)], write), SplitTransposes())
    assert sum(shape_of(linalg_op.op.results[0]) == (3, 17, 16) for linalg_op in found) == 1


def test_what_says_more_of_itself_stays(make_network: MakeNetwork) -> None:
    """Attributes of an operation hold of it alone."""
    module = marked(make_network([(3, 16, 17)], lambda b, x: permuted(b, x, (2, 1, 0))))
    assert len(after(module, SplitTransposes())) == 1


@pytest.mark.parametrize(
    ("shape", "target"),
    crossed(
        [(3, 37, 50), (50, 37, 4), (33, 3, 49), (8, 16, 16)],
        ["avx512", "avx2", "baseline"],
        usual=2,
    ),
)
def test_compiled(tmp_path: Path, shape: Shape, target: str) -> None:
    """Every order of an image, bit by bit, on any number of threads."""
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    c, h, w = shape
    for number, order in enumerate(ORDERS):
        path = tmp_path / f"{number}.param"
        path.write_text(
            f"7767517\n2 2\nInput x 0 1 x 0={w} 1={h} 2={c}\nPermute y 1 1 x y 0={number}\n"
        )
        for threads in (1, 3):
            found = ncc.compile(path, target=target, num_threads=threads)(x)
            np.testing.assert_array_equal(found, x.transpose(order))
