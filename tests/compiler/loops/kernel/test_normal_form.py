"""Loops in normal form: which are dropped, joined or split, and what else then moves with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block

from ncc.compiler.cost_model import CostModel
from ncc.compiler.loops.kernel import normal_form
from ncc.compiler.loops.kernel.kernel import (
    Access,
    Bf16Split,
    Gap,
    GatherTable,
    Kernel,
    KSplit,
    Stage,
)
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import row_sums, work
from tests.compiler.loops.conftest import Kernels

THREADS = CostModel().threads
LONG, FEWEST_ITERATIONS = THREADS.long_loop, THREADS.fewest_part_iterations


def normalised(kernel: Kernel) -> Kernel:
    return normal_form.normalised(kernel, THREADS)


def test_loops_merge(kernels: Kernels) -> None:
    """Contiguous neighbours walk memory as one loop would."""
    (kernel,) = kernels(work, (2, 3, 4))
    assert kernel.extents == (24,) and kernel.store.coefficients == (1,)


def test_a_long_loop_can_be_shared(kernels: Kernels) -> None:
    """One long loop becomes two, the outer one even if possible; short ones stay one."""
    extents = [kernels(work, (16, n))[0].extents for n in (5880, 2842, 64)]
    assert extents == [(94080 // 14, 14), (45472 // 7, 7), (1024,)]
    (kernel,) = kernels(work, (16, 5880))
    assert kernel.store.coefficients == (1, 94080 // 14)


def test_a_long_loop_can_be_shared_unevenly(kernels: Kernels) -> None:
    """Parts begin with a line of the caches if they can, else anywhere where they are long; those
    of a sum do not.
    """
    extents = [kernels(work, (16, n))[0].extents for n in (5625, 5881, 271)]
    assert extents == [(6000, 15), (5881, 16), (16 * 271,)]

    def summed(b: Builder, x: Tensor) -> Tensor:
        k, c = b.loops_of(x.shape)
        return b.sum((c,), over=(k,), of=x[k, c])

    (kernel,) = kernels(summed, (3, 16 * 5881))
    assert kernel.extents == (3, 16 * 5881)


def test_a_frame_keeps_rows_apart(kernels: Kernels) -> None:
    """Between the rows inside a frame is border; where the first cell is, the buffer says."""
    (kernel,) = kernels(lambda b, x: b.pad(work(b, x), (0, 1, 1), (0, 1, 1)), (2, 3, 4))
    assert kernel.extents == (2, 3, 4)
    assert kernel.store == Access(1, 0, (30, 6, 1))


def test_loops_of_one_iteration_vanish(kernels: Kernels) -> None:
    """A 1x1 convolution has no window loops; its image is one loop."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((8, 4, 1, 1), np.float32)))
        o, y, z, i, k, m = b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i k m")
        return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])

    (kernel,) = kernels(write, (4, 5, 6))
    assert kernel.extents == (8, 30, 4) and kernel.reduced == {2}


def test_a_reduction_never_merges_with_a_parallel_loop(kernels: Kernels) -> None:
    """Rows of x are contiguous, but one loop is summed over and the other stored."""
    (kernel,) = kernels(row_sums, (3, 8))
    assert kernel.extents == (3, 8) and kernel.reduced == {1}


def test_reduced_loops_merge(kernels: Kernels) -> None:
    """A mean over an image is a sum over one loop."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, y, z = b.loops_of(x.shape)
        return b.sum((c,), over=(y, z), of=x[c, y, z])

    (kernel,) = kernels(write, (3, 4, 5))
    assert kernel.extents == (3, 20) and kernel.reduced == {1}


def kernel(
    extents: tuple[int, ...], read: tuple[int, ...], store: tuple[int, ...], **other: Any
) -> Kernel:
    """One that copies, by the coefficients of what it reads and stores."""
    whole = Kernel(
        extents=extents,
        reduced=frozenset(),
        valid_extents=(),
        anchor=Stage(Block(), (Access(0, 0, read),)),
        accumulates=False,
        initial=0.0,
        epilogue=(),
        store=Access(1, 0, store),
        element_types=(f32, f32),
        captured={},
        index_of={},
    )
    return replace(whole, **other)


H, W = Size.symbol("h", 9), Size.symbol("w", 5)


def products(rows: int, columns: int, pitch: int, frame: int = 2, lanes: bool = True) -> Kernel:
    """Sums of products at each point of an image, by how far its rows lie apart; rows of results
    lie in a frame.

    lanes: whether results of a point lie side by side, or those of a row.
    """
    sums = Block(arg_types=[f32] * 3)
    data, weight, so_far = sums.args
    product = arith.MulfOp(data, weight)
    total = arith.AddfOp(so_far, product)
    sums.add_ops([product, total, YieldOp(total)])
    side, point = (1, 16) if lanes else (999, 1)
    return Kernel(
        extents=(rows, columns, 16, 8),
        reduced=frozenset({3}),
        valid_extents=(),
        anchor=Stage(sums, (Access(0, 0, (8 * pitch, 8, 0, 1)), Access(1, 0, (0, 0, 1, 16)))),
        accumulates=True,
        initial=0.0,
        epilogue=(),
        store=Access(2, 0, (point * (columns + frame), point, side, 0)),
        element_types=(f32,) * 3,
        captured={},
        index_of={},
    )


def test_open_rows_of_products_are_one_loop() -> None:
    """They are read like one; where they are stored, the frame lies between them."""
    found = normalised(products(H, W, W))
    assert found.extents == (H * W, 16, 8) and found.reduced == {2}
    assert found.store == Access(2, 0, (16, 1, 0), gap=Gap(0, W, 32))
    assert [one.gap for one in found.anchor.reads] == [None, None]


@pytest.mark.parametrize(
    "kernel",
    [
        products(9, 5, 5),
        products(H, 5, 5),
        products(H, W, W + 2),
        products(H, W, W, lanes=False),
        replace(products(H, W, W), index_of={0: 1}),
        replace(products(H, W, W), valid_extents=((1, 2, 70),)),
    ],
    ids=["known", "known width", "read apart", "a vector of a row", "numbered", "a tail"],
)
def test_other_rows_stay_loops(kernel: Kernel) -> None:
    """Tiles of a known width fit it; and what is not read like one loop, or has more to say."""
    found = normalised(kernel)
    assert found.extents == kernel.extents and found.store.gap is None


def test_rows_without_a_frame_are_one_loop_without_gaps() -> None:
    """So they are for any operation."""
    found = normalised(products(H, W, W, frame=0))
    assert found.extents == (H * W, 16, 8) and found.store == Access(2, 0, (16, 1, 0))


def test_loops_that_one_access_walks_apart_stay() -> None:
    """A transposition stores contiguously what it reads a row apart."""
    assert normalised(kernel((4, 8), (1, 4), (8, 1))).extents == (4, 8)
    assert normalised(kernel((4, 8), (8, 1), (8, 1))).extents == (32,)


def test_the_order_of_loops_does_not_matter() -> None:
    """The outer loop is the one with the larger stride, in any order."""
    assert normalised(kernel((8, 4), (1, 8), (1, 8))).extents == (32,)


def test_loops_whose_numbers_a_body_asks_for_stay() -> None:
    """The index of a joined loop would be another one; a loop of one iteration has index 0."""
    found = normalised(kernel((1, 4, 8), (0, 8, 1), (0, 8, 1), index_of={0: 0, 1: 2}))
    assert found.extents == (4, 8) and found.index_of == {0: None, 1: 1}


def test_loops_with_a_tail_stay() -> None:
    """Valid extents are of two loops together."""
    found = normalised(kernel((1, 4, 8), (0, 8, 1), (0, 8, 1), valid_extents=((1, 2, 30),)))
    assert found.extents == (4, 8) and found.valid_extents == ((0, 1, 30),)


def test_a_single_block() -> None:
    """Of results, its loop stays and says which lanes nobody reads; of what is summed, the loop
    inside is as long as there is something.
    """
    block = kernel((1, 8), (8, 1), (8, 1), valid_extents=((0, 1, 5),))
    assert normalised(block).extents == (1, 8)
    summed = normalised(replace(block, reduced=frozenset({0, 1}), store=Access(1, 0, (0, 0))))
    assert (summed.extents, summed.valid_extents, summed.reduced) == ((5,), (), frozenset({0}))


def test_loops_that_choose_a_number_of_a_table_stay() -> None:
    """Numbers of a table have no common stride."""
    table = GatherTable(Access(2, 0, (1, 0)), most=64)
    read = Access(0, 0, (8, 1), table)
    found = normalised(kernel((4, 8), (8, 1), (8, 1), anchor=Stage(Block(), (read,))))
    assert found.extents == (4, 8)


def test_blocks_that_are_stored_by_pairs_stay() -> None:
    """As bf16 numbers, odd blocks have other addresses, so that their loop is not collapsed."""
    store = Access(1, 0, (0, 32, 8, 1))
    bf16_split = Bf16Split(Stage(Block(), (None,)), store, 128, pairs=1, back=16, alone=True)
    found = normalised(kernel((1, 2, 4, 8), (0, 32, 8, 1), (0, 0, 0, 0), bf16_split=bf16_split))
    assert found.extents == (2, 32) and found.bf16_split is not None
    assert (found.bf16_split.pairs, found.bf16_split.store.coefficients) == (0, (32, 1))


def test_a_block_that_splits_k_stays() -> None:
    """The loop over blocks says which one splits k, also if there is only one block."""
    folded = kernel((1, 4, 1, 8), (0, 8, 0, 1), (0, 8, 0, 1), k_split=KSplit(0, 3, 2))
    found = normalised(folded)
    assert (found.extents, found.k_split) == ((1, 4, 8), KSplit(0, 2, 2))
    assert normalised(replace(folded, k_split=None)).extents == (32,)


def test_a_long_loop_among_others_is_not_split() -> None:
    """There is another one for threads to share; a short one that is interleaved along it is not:
    its iterations lie in one vector.
    """
    wide, narrow = (kernel((n, 2 * LONG), (1, n), (2 * LONG, 1)) for n in (40, 2))
    assert normalised(wide).extents == (40, 2 * LONG)
    assert normalised(narrow).extents == (2, 2 * LONG // 16, 16)


def test_where_a_loop_is_long() -> None:
    """From the first extent on; one with a tail, and what would be too short a part, stays."""
    assert normalised(kernel((LONG,), (1,), (1,))).extents == (LONG // 16, 16)
    assert normalised(kernel((LONG - 32,), (1,), (1,))).extents == (LONG - 32,)
    tail = kernel((2, LONG), (LONG, 1), (LONG, 1), valid_extents=((0, 1, LONG + 9),), reduced={0})
    assert normalised(tail).extents == (2, LONG)
    odd = FEWEST_ITERATIONS + 1
    assert normalised(kernel((5 * odd,), (1,), (1,))).extents == (odd, 5)
    assert normalised(kernel((5 * (odd - 2),), (1,), (1,))).extents == (5 * (odd - 2),)
