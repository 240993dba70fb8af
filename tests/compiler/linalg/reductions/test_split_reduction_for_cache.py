"""Large sums are cut where neither operand stays in a cache, and go on bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, i8, i32

from ncc.compiler.cost_model import CostModel, Reductions
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.reductions.split_reduction_for_cache import (
    SplitReductionForCache,
    parts_of,
)
from ncc.compiler.options import Options
from ncc.compiler.target import AVX512, ONE_UNIT, TWO_UNITS, Core, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.same_numbers import after, marked
from tests.crossed import crossed

Cut: TypeAlias = Callable[..., list[list[tuple[int, ...]]]]

SMALL = replace(AVX512, core=replace(TWO_UNITS, l2_bytes=96 << 10))
"""A target whose cache few rows fill."""


def matrix(b: Builder, x: Tensor, outputs: int) -> Tensor:
    """x (rows, inputs) times weights in blocks, from a bias."""
    inputs, blocks = x.shape[1], outputs // 16
    draw = np.random.default_rng(1)
    weights = b.weight(WeightAttr.of(draw.integers(-3, 4, (blocks, inputs, 16))))
    bias = b.weight(WeightAttr.of(draw.integers(-3, 4, (blocks, 16))))
    p, o, lane = b.loops_of((x.shape[0], blocks, 16))
    start = b.map([p, o, lane], bias[o, lane])
    p, o, k, lane = b.loops("p o k l")
    return b.sum((p, o, lane), over=(k,), of=x[p, k] * weights[o, k, lane], init=start)


def image(b: Builder, x: Tensor) -> Tensor:
    """A 1x1 convolution of (blocks, rows, columns, 16)."""
    draw = np.random.default_rng(1)
    weights = b.weight(WeightAttr.of(draw.integers(-3, 4, (64, x.shape[0], 16, 16))))
    o, y, z, i, lane, k = b.loops("o y z i l k")
    of = x[i, y, z, k] * weights[o, i, k, lane]
    return b.sum((o, y, z, lane), over=(i, k), of=of)


def batch(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """Products of two values of the run, one of each head."""
    h, p, o, k = b.loops("h p o k")
    return b.sum((h, p, o), over=(k,), of=x[h, p, k] * y[h, k, o])


@pytest.fixture
def cut(make_network: Callable[..., ModuleOp]) -> Cut:
    """The shapes of what each sum reads; the numbers stay the same."""

    def rewritten(
        write: Callable[..., Tensor], *shapes: tuple[int, ...], target: Target = SMALL
    ) -> list[list[tuple[int, ...]]]:
        views = after(make_network(list(shapes), write), SplitReductionForCache(target))
        return [
            [shape_of(read.value) for read in linalg_op.reads]
            for linalg_op in views
            if linalg_op.reduced
        ]

    return rewritten


def test_equal_parts(cut: Cut) -> None:
    """Three parts of the data stay near; they share a kernel."""
    assert cut(lambda b, x: matrix(b, x, 1024), (14, 1536)) == [[(14, 512), (64, 512, 16)]] * 3


def test_uneven_parts(cut: Cut) -> None:
    """What no number of parts divides is cut as evenly as can be."""
    found = cut(lambda b, x: matrix(b, x, 1024), (14, 1537))
    assert [shapes[0][1] for shapes in found] == [512, 512, 513]


def test_blocks_of_channels(cut: Cut) -> None:
    """Where two loops are summed over, the longer one is cut."""
    found = cut(image, (96, 3, 5, 16))
    assert len(found) > 1
    assert {shapes[0][1:] for shapes in found} == {(3, 5, 16)}
    assert sum(shapes[0][0] for shapes in found) == 96


def test_windows_are_cut_by_channels(cut: Cut) -> None:
    """Rows of a window, though more, do not move along an axis alone; few channels may not do."""

    def patches(b: Builder, x: Tensor) -> Tensor:
        weights = b.weight(WeightAttr.of(np.ones((32, x.shape[0], 28, 28, 16), np.int64)))
        o, y, z, i, k, m, lane = b.loops("o y:4 z:4 i k m l")
        of = x[i, y * 28 + k, z * 28 + m] * weights[o, i, k, m, lane]
        return b.sum((o, y, z, lane), over=(i, k, m), of=of)

    for l2_bytes, parts in ((192 << 10, 3), (96 << 10, 1)):
        target = replace(AVX512, core=replace(TWO_UNITS, l2_bytes=l2_bytes))
        found = cut(patches, (3, 112, 112), target=target)
        assert [shapes[0] for shapes in found] == [(3 // parts, 112, 112)] * parts


def test_factors_of_a_run_stay_near_themselves(cut: Cut) -> None:
    """Their vectors lie apart: parts of them stay, however few the rows of the data are."""
    found = cut(batch, (1, 200, 512), (1, 512, 64))
    assert found == [[(1, 200, 128), (1, 128, 64)]] * 4


def test_heads_are_weighed_one_by_one(cut: Cut) -> None:
    """What stays near is what one product reads, not all of a batch."""
    assert len(cut(batch, (8, 200, 64), (8, 64, 64))) == 1
    assert len(cut(batch, (2, 200, 512), (2, 512, 64))) == 4


def test_strides_leave_out_what_no_sum_reads(cut: Cut) -> None:
    """A quarter of an image stays near where all of it would not."""

    def strided(b: Builder, x: Tensor) -> Tensor:
        weights = b.weight(WeightAttr.of(np.ones((32, x.shape[0], 16, 16), np.int64)))
        o, y, z, i, lane, k = b.loops("o y:2 z:2 i l k")
        of = x[i, y * 2, z * 2, k] * weights[o, i, k, lane]
        return b.sum((o, y, z, lane), over=(i, k), of=of)

    assert len(cut(strided, (96, 4, 4, 16))) == 1


def test_results_across_change_roles(cut: Cut) -> None:
    """Results lie side by side along the first factor: its vectors are those that lie apart."""

    def across(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        p, o, k = b.loops("p o k")
        return b.sum((p, o), over=(k,), of=x[k, o] * y[p, k])

    assert len(cut(across, (512, 64), (200, 512))) == 4
    assert len(cut(across, (512, 64), (12, 512))) == 1


def depthwise(b: Builder, x: Tensor) -> Tensor:
    weights = b.weight(WeightAttr.of(np.ones((x.shape[0], 3, 3, 16), np.int64)))
    c, y, z, k, m, lane = b.loops(f"c y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m l")
    return b.sum((c, y, z, lane), (k, m), x[c, y + k, z + m, lane] * weights[c, k, m, lane])


def side_by_side(b: Builder, x: Tensor) -> Tensor:
    """Each vector of the data by one of weights."""
    weights = b.weight(WeightAttr.of(np.ones((x.shape[1], 16), np.int64)))
    p, k, lane = b.loops("p k l")
    return b.sum((p, lane), (k,), x[p, k, lane] * weights[k, lane])


def apart(b: Builder, x: Tensor) -> Tensor:
    """Results of which every other is none."""
    weights = b.weight(WeightAttr.of(np.ones((x.shape[1], 64), np.int64)))
    into = b.full((x.shape[0], 128), 0.5)
    p, o, k = b.loops("p o k")
    return b.sum((p, o * 2), (k,), x[p, k] * weights[k, o], init=into)


@pytest.mark.parametrize(
    ("write", "shape"),
    [(depthwise, (8, 66, 66, 16)), (side_by_side, (200, 512, 16)), (apart, (200, 1536))],
)
def test_sums_without_vectors_of_one_operand_stay_whole(
    cut: Cut, write: Callable[..., Tensor], shape: tuple[int, ...]
) -> None:
    """Nothing is read again for the next vector of results."""
    assert len(cut(write, shape)) == 1


def along_a_diagonal(b: Builder, x: Tensor) -> Tensor:
    """Each term is read from another column on."""
    weights = b.weight(WeightAttr.of(np.ones((512, 64), np.int64)))
    p, o, k = b.loops("p:200 o k")
    return b.sum((p, o), over=(k,), of=x[k, p + k] * weights[k, o])


def largest(b: Builder, x: Tensor) -> Tensor:
    """The largest product, where nothing is summed."""
    weights = b.weight(WeightAttr.of(np.ones((512, 64), np.int64)))
    p, o, k = b.loops("p o k")
    return b.max((p, o), over=(k,), of=x[p, k] * weights[k, o])


def of_bytes(b: Builder, x: Tensor) -> Tensor:
    """Sums of int8, in int32: a quarter of the memory."""
    at = b.loops_of(x.shape)
    narrow = b.map(at, convert(x[at], i8))
    weights = b.weight(WeightAttr.of(np.ones((512, 64), np.int8)))
    p, o, k = b.loops("p o k")
    of = convert(narrow[p, k], i32) * convert(weights[k, o], i32)
    return b.sum((p, o), over=(k,), of=of)


@pytest.mark.parametrize(
    ("write", "shape"),
    [(along_a_diagonal, (512, 711)), (largest, (200, 512)), (of_bytes, (200, 512))],
)
def test_what_is_no_product_along_one_axis_stays_whole(
    cut: Cut, write: Callable[..., Tensor], shape: tuple[int, ...]
) -> None:
    """A part of a diagonal is no part of an axis; what others fold or read has other costs."""
    assert len(cut(write, shape)) == 1


@pytest.mark.parametrize("rows", [1, 6], ids=["a vector", "few rows"])
def test_few_rows_stay_whole(cut: Cut, rows: int) -> None:
    """They stay near by themselves."""
    assert len(cut(lambda b, x: matrix(b, x, 1024), (rows, 1536))) == 1


def test_a_larger_cache_holds_all(cut: Cut) -> None:
    """The cache of the target decides."""
    assert len(cut(lambda b, x: matrix(b, x, 1024), (14, 1536), target=AVX512)) == 1


@pytest.mark.parametrize(
    ("core", "rows", "inputs", "parts"),
    [
        (TWO_UNITS, 60, 512, 2),
        (TWO_UNITS, 60, 384, 1),  # they stay as they are
        (TWO_UNITS, 24, 512, 1),  # two tiles of points read them
        (ONE_UNIT, 60, 512, 1),  # they come as fast as their products are made
    ],
)
def test_vectors_of_a_tile_stay_near(
    cut: Cut, core: Core, rows: int, inputs: int, parts: int
) -> None:
    """Though all data may be read again from farther away, for few vectors of results."""
    target = replace(AVX512, core=replace(core, l2_bytes=96 << 10))
    found = cut(lambda b, x: matrix(b, x, 512), (rows, inputs), target=target)
    assert found == [[(rows, inputs // parts), (32, inputs // parts, 16)]] * parts


def test_parts_are_counted_against_their_sums() -> None:
    """Many parts write the sums too often for what they save."""
    assert parts_of(data=1000, traffic=20_000, sums=300, room=400, worth=4) == 3
    assert parts_of(data=1000, traffic=20_000, sums=3000, room=400, worth=4) == 1
    # Sums are written and read again between parts: 2 * (1000 + 2 * 2 * 300) bytes.
    assert parts_of(data=1000, traffic=4400, sums=300, room=400, worth=2) == 1
    assert parts_of(data=1000, traffic=4401, sums=300, room=400, worth=2) == 3
    assert parts_of(data=4000, traffic=80_000, sums=3000, room=400, worth=4) == 1


GEMM = """7767517
3 3
Input data 0 1 data 0=1536 1=50
Gemm sums 1 1 data y 3=1 5=1 6=1 8=1024 9=1536 10=4
GELU last 1 1 y out
"""

MATMUL = """7767517
4 4
Input data 0 1 data 0=400 1=50
Input factor 0 1 factor 0=90 1=400
MatMul sums 2 1 data factor y
GELU last 1 1 y out
"""


PRODUCTS = {"gemm": GEMM, "matmul": MATMUL}


@pytest.mark.parametrize(
    ("product", "target"), crossed(list(PRODUCTS), ["avx512", "avx2", "baseline"])
)
def test_compiled_sums_go_on_bit_by_bit(tmp_path: Path, product: str, target: str) -> None:
    """Bias and activation are those of whole sums, for any number of threads."""
    param = tmp_path / "net.param"
    param.write_text(PRODUCTS[product])
    draw = np.random.default_rng(2)
    options = Options.of(random_weights=1, target=target)
    whole = compile_with(param, None, options)
    feeds = {b.name: draw.standard_normal(b.shape).astype(np.float32) for b in whole.inputs}
    costs = CostModel(reductions=Reductions(operand_share=0.03, reduction_part_share=0.05))
    small = replace(options.target, costs=costs)
    for threads in (1, 2, 3):
        cut = compile_with(param, None, replace(options, target=small, num_threads=threads))
        assert len(cut.artifact.info["steps"]) > len(whole.artifact.info["steps"])
        np.testing.assert_array_equal(cut.run(feeds)["out"], whole.run(feeds)["out"])


def test_sums_with_attributes_stay(make_network: Callable[..., ModuleOp]) -> None:
    """A tail is one of all terms."""
    module = marked(make_network([(14, 1536)], lambda b, x: matrix(b, x, 1024)))
    assert (
        sum(bool(linalg_op.reduced) for linalg_op in after(module, SplitReductionForCache(SMALL)))
        == 1
    )
