"""Transposes of transposes move every element once, to the right index."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.layout.blocks import pack, unpack
from ncc.compiler.linalg.layout.fold_transposes import FoldTransposes
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def transposed(b: Builder, x: Tensor) -> Tensor:
    """The first two axes in the other order."""
    *at, last = b.loops_of((x.shape[1], x.shape[0], x.shape[2]))
    return b.map((*at, last), x[at[1], at[0], last])


def shuffled(b: Builder, x: Tensor, groups: int) -> Tensor:
    """Channel j of group p becomes channel j * groups + p."""
    inner = x.shape[0] // groups
    j, p, y, z = b.loops_of((inner, groups, *x.shape[1:]))
    return b.collapse(b.map((j, p, y, z), x[p * inner + j, y, z]), [[0, 1], [2], [3]])


def blocks(b: Builder, channels: int, x: Tensor) -> Tensor:
    """x as a value of so many channels, unpacked from blocks."""
    return unpack(b, x, 0, (channels, *x.shape[1:-1]))


@pytest.fixture
def moved(make_network: MakeNetwork) -> Callable[..., list[tuple[int, ...]]]:
    """moved(shapes, write): the shapes of all moves behind the pass; values are the same."""

    def shapes_of(shapes: list[tuple[int, ...]], write: Any) -> list[tuple[int, ...]]:
        views = after(make_network(shapes, write), FoldTransposes())
        return [shape_of(linalg_op.op.results[0]) for linalg_op in views]

    return shapes_of


Moved: TypeAlias = Callable[..., list[tuple[int, ...]]]


def test_there_and_back_is_no_move(moved: Moved) -> None:
    """What would read what it writes is the value itself."""
    assert moved([(3, 4, 5)], lambda b, x: transposed(b, transposed(b, x))) == []


def rows_of_heads(b: Builder, x: Tensor) -> Tensor:
    """Matrices of scores, a head each, as rows of what all heads have of two elements."""
    i, j, h = b.loops_of((*x.shape[1:], x.shape[0]))
    return b.reshape(b.map((i, j, h), x[h, i, j]), (x.shape[1] * x.shape[2], x.shape[0]))


def test_there_and_back_through_reshapes_is_no_move(moved: Moved) -> None:
    """Axes that were made one and are taken apart as they were."""

    def write(b: Builder, x: Tensor) -> Tensor:
        rows = rows_of_heads(b, x)
        m, h = b.loops_of(rows.shape)
        heads = b.reshape(b.map((h, m), rows[m, h]), x.shape)
        return transposed(b, heads)

    assert moved([(4, 3, 5)], write) == [(3, 4, 5)]


def test_axes_taken_apart_elsewhere(moved: Moved) -> None:
    """Where nothing says what a loop of the second move is one of the first, both stay."""

    def write(b: Builder, x: Tensor) -> Tensor:
        rows = b.reshape(transposed(b, x), (7, 4, 3))
        return transposed(b, rows)

    assert moved([(3, 4, 7)], write) == [(4, 3, 7), (4, 7, 3)]


def test_every_second_row_comes_back(moved: Moved) -> None:
    """As many axes, and fewer elements."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = transposed(b, x)
        i, j, k = b.loops_of((x.shape[0], x.shape[1] // 2, x.shape[2]))
        return b.map((i, j, k), y[j * 2, i, k])

    assert moved([(3, 4, 5)], write) == [(3, 2, 5)]


def test_a_shuffle_reads_blocks(moved: Moved) -> None:
    """Whole blocks and the rest of the last each go to their channels at once."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return shuffled(b, blocks(b, 24, x), 1)

    assert moved([(2, 3, 3, 16)], write) == [(16, 1, 3, 3), (8, 1, 3, 3)]


def test_a_shuffle_of_a_concat_is_a_concat(moved: Moved) -> None:
    """The parts of ShuffleNet v2: a slice of what was before, and blocks."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        half = b.slice(x, (0, 0, 0), (20, 3, 3))
        return shuffled(b, b.concat([half, blocks(b, 20, y)], 0), 2)

    found = moved([(40, 3, 3), (2, 3, 3, 16)], write)
    assert found == [(20, 1, 3, 3), (16, 1, 3, 3), (4, 1, 3, 3)]


def test_a_read_that_goes_on_in_the_next_row(moved: Moved) -> None:
    """As many elements as a row has, but from the second one on: no loop of a reshaped axis."""

    def write(b: Builder, x: Tensor) -> Tensor:
        flat = b.collapse(transposed(b, x), [[0, 1, 2]])
        (k,) = b.loops_of((x.shape[2],))
        return b.map((k,), flat[k + 1])

    assert moved([(3, 4, 5)], write) == [(4, 3, 5), (5,)]


def test_channels_dealt_out(moved: Moved) -> None:
    """The other way round: even channels first, then odd ones. Loops are split at blocks."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        concat_op = b.concat([blocks(b, 32, x), blocks(b, 32, y)], 0)
        p, j, r, s = b.loops_of((2, 32, 3, 3))
        return b.collapse(b.map((p, j, r, s), concat_op[j * 2 + p, r, s]), [[0, 1], [2], [3]])

    assert moved([(2, 3, 3, 16), (2, 3, 3, 16)], write) == [(2, 2, 8, 3, 3)] * 2


def test_what_two_read_is_moved_once(moved: Moved) -> None:
    """Folded into both, it would be read from afar twice."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        first = transposed(b, x)
        return [transposed(b, first), first]

    assert moved([(3, 4, 5)], write) == [(4, 3, 5), (3, 4, 5)]


@pytest.mark.parametrize("seed", range(60))
def test_random_moves(make_network: MakeNetwork, seed: int) -> None:
    """Nothing changes, whatever follows on whatever."""
    draw = random.Random(seed)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        values = [x]
        for _ in range(draw.randint(2, 8)):
            v = draw.choice(values[-2:])
            count, height, width = v.shape
            kind = draw.choice(["transposed", "shuffled", "blocks", "concat", "slice", "rows"])
            if kind == "transposed":
                values.append(transposed(b, v))
            elif kind == "shuffled":
                groups = [g for g in range(1, count + 1) if count % g == 0]
                values.append(shuffled(b, v, draw.choice(groups)))
            elif kind == "blocks":
                axis = draw.choice([0, 1, 2])
                values.append(unpack(b, pack(b, v, axis), axis, v.shape))
            elif kind == "concat" and count < 200:
                others = [o for o in values if o.shape[1:] == v.shape[1:]]
                values.append(b.concat([v, draw.choice(others)], 0))
            elif kind == "slice" and count > 2:
                values.append(b.slice(v, (1, 0, 0), (count - 2, height, width)))
            else:
                flat = b.reshape(v, (count * height, 1, width))
                values.append(transposed(b, flat))
        return [values[-1]]

    for linalg_op in after(make_network([(12, 4, 3)], write), FoldTransposes()):
        assert len(linalg_op.extents) == len(linalg_op.op.iterator_types)


def test_what_is_left_of_an_axis_is_not_walked(tmp_path: Path) -> None:
    """One block of three rows of four: the loop over its rows is alone, and shorter than they are.

    The copies in front of it are moves as well.
    """
    path = tmp_path / "net.param"
    path.write_text(
        "7767517\n3 3\nInput x 0 1 x 0=7 1=4 2=3\nTile t 1 1 x a 0=0 1=2\nReorg r 1 1 a y 0=3 1=0\n"
    )
    x = np.random.default_rng(0).standard_normal((3, 4, 7), dtype=np.float32)
    expected = ncc.compile(path, opt_level=0)(x)
    np.testing.assert_array_equal(ncc.compile(path)(x), expected)
    whole = np.concatenate([x, x])[:, :3, :6].reshape(6, 3, 2, 3)
    np.testing.assert_array_equal(expected[:, 0], whole.transpose(0, 1, 3, 2).reshape(54, 2))
