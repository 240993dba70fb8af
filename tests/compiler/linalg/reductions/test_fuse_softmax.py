"""Softmax is one operation where its rows, or its columns, fill vectors; others stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.reductions.fuse_softmax import FuseSoftmax
from ncc.compiler.target import Target
from ncc.dialects.attributes import number_of
from ncc.dialects.code import CodeOp
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.reduction.reduction import softmax, softmax_array
from ncc.dialects.scalar import exp
from ncc.dialects.shapes import Shape
from tests.compiler.linalg.compiled import compiled
from tests.compiler.loops.conftest import model_of
from tests.crossed import crossed
from tests.runnable import NAMES, each_target

Write: TypeAlias = Callable[..., Tensor | list[Tensor]]
Shared: TypeAlias = Callable[[Shape, Write], list[tuple[Shape, int]]]


@pytest.fixture
def shared(make_network: Callable[..., ModuleOp]) -> Shared:
    """shared(shape, write): shape and iterations of each fused softmax."""

    def behind(shape: Shape, write: Write) -> list[tuple[Shape, int]]:
        module = make_network([shape], write)
        before = str(module)
        FuseSoftmax().apply(Context(), module)
        module.verify()
        ops = list(network_of(module).body.block.ops)
        found = [op for op in ops if isinstance(op, CodeOp)]
        if found:
            assert not any(isinstance(op, GenericOp) for op in ops)
        else:
            assert str(module) == before
        shapes = [op.results[0].type.get_shape() for op in found]  # type: ignore[attr-defined]
        return [
            (s, number_of(op.iterations))
            for s, op in zip(shapes, found, strict=True)
            if op.iterations
        ]

    return behind


@pytest.mark.parametrize(
    ("shape", "axis", "found"),
    [
        ((3, 20, 50), 2, [((60, 50), 8)]),
        ((2, 5, 200), 2, [((10, 200), 2)]),
        ((4, 3000), 1, [((4, 3000), 4)]),
        ((3, 20, 50), 0, [((1, 3, 1000), 2)]),
        ((3, 20, 64), 1, [((3, 20, 64), 3)]),
        ((2, 1200), 0, [((1, 2, 1200), 3)]),
    ],
)
def test_iterations(
    shared: Shared, shape: Shape, axis: int, found: list[tuple[Shape, int]]
) -> None:
    """An iteration takes some rows, or a piece of the columns; columns lie in one row."""
    assert shared(shape, lambda b, x: softmax(b, x, [axis])) == found


@pytest.mark.parametrize(("shape", "axis"), [((30, 47), 1), ((3, 20, 63), 1), ((3, 7, 9), 0)])
def test_short_rows_and_few_columns_stay(shared: Shared, shape: Shape, axis: int) -> None:
    """They leave lanes of their vectors empty."""
    assert shared(shape, lambda b, x: softmax(b, x, [axis])) == []


def test_several_axes(shared: Shared) -> None:
    """Neighbouring axes are one, axes apart are not."""

    def of(kept: tuple[int, ...]) -> Write:
        return lambda b, x: _softmax(b, x, kept)

    assert shared((10, 8, 10), of((0,))) == [((10, 80), 2)]
    assert shared((3, 2, 80), of((2,))) == [((1, 6, 80), 1)]
    assert shared((10, 8, 10), of((1,))) == []


@pytest.mark.parametrize("which", ["largest", "powers", "sums"])
def test_what_others_read_stays(shared: Shared, which: str) -> None:
    """It is computed anyway."""

    def shown(b: Builder, x: Tensor) -> list[Tensor]:
        held: dict[str, Tensor] = {}
        return [_softmax(b, x, (0,), held=held), held[which]]

    assert shared((10, 80), shown) == []


@pytest.mark.parametrize("start", ["largest", "sums"])
def test_folds_that_start_from_something_stay(shared: Shared, start: str) -> None:
    """They take in more than the row has."""
    starts = {start: 3.0}
    assert shared((10, 80), lambda b, x: _softmax(b, x, (0,), starts)) == []


def test_sums_in_another_order_stay(shared: Shared) -> None:
    """Rows of columns are not columns of rows."""
    assert shared((10, 8, 80), lambda b, x: _softmax(b, x, (1, 0))) == []


def _softmax(
    b: Builder,
    x: Tensor,
    kept: tuple[int, ...],
    starts: dict[str, float] | None = None,
    held: dict[str, Tensor] | None = None,
) -> Tensor:
    """Softmax along all axes but those that are kept, in this order in maxima and sums."""
    starts, held = starts or {}, {} if held is None else held
    at = b.loops_of(x.shape)
    to, over = [at[k] for k in kept], [at[k] for k in range(x.rank) if k not in kept]
    largest = held["largest"] = b.max(to, over, x[at], starts.get("largest", float("-inf")))
    b.loops_of(x.shape)
    powers = held["powers"] = b.map(at, exp(x[at] - largest[to]))
    b.loops_of(x.shape)
    sums = held["sums"] = b.sum(to, over, powers[at], starts.get("sums", 0.0))
    b.loops_of(x.shape)
    return b.map(at, powers[at] / sums[to])


OF_AXES = [((9, 50), 1), ((3, 1030), 1), ((5, 30, 41), 0), ((2, 3, 64), 1), ((2, 1, 100), 1)]


@pytest.mark.parametrize(("of_axis", "target"), crossed(OF_AXES, NAMES))
def test_the_numbers(tmp_path: Path, of_axis: tuple[Shape, int], target: str) -> None:
    """Those of softmax on every target, of infinite and of large numbers, too."""
    shape, axis = of_axis
    ids = {2: (0, 1), 3: (0, 1, 2)}[len(shape)]
    said = " ".join(f"{k}={n}" for k, n in zip(ids, reversed(shape), strict=True))
    param = tmp_path / "softmax.param"
    param.write_text(f"7767517\n2 2\nInput x 0 1 x {said}\nSoftmax y 1 1 x y 0={axis} 1=1\n")
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 3
    x.reshape(-1)[[0, 1, 7]] = -np.inf, 90.0, -200.0
    plain, shares = compiled(param, x, target)
    np.testing.assert_allclose(shares, softmax_array(x, axis), rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(shares, plain, rtol=2e-6, atol=1e-7)


@each_target
@pytest.mark.parametrize("axis", [0, 1])
def test_under_a_mask_hidden_rows_and_columns_are_zeros(
    axis: int, target: Target, make_network: Callable[..., ModuleOp]
) -> None:
    """Whether lanes run along what is summed or beside it; those that are partly hidden are not."""
    module = make_network([(70, 80)], lambda b, x: softmax(b, x, [axis], zeros=True))
    FuseSoftmax().apply(Context(), module)
    assert not any(isinstance(op, GenericOp) for op in network_of(module).body.block.ops)
    x = np.random.default_rng(0).standard_normal((70, 80)).astype(np.float32)
    x[3], x[:, 5], x[7, 1:], x[9:, 11] = (-np.inf,) * 4
    (y,) = model_of(module, target, 1).run({"input0": x}).values()
    np.testing.assert_allclose(y, softmax_array(x, axis, zeros=True), rtol=2e-6, atol=1e-7)
    assert not y[3].any() and not y[:, 5].any()
    assert (y[7, 0] == 1) == (axis == 1)


def test_what_is_no_number_stays_so(tmp_path: Path) -> None:
    """Rows of nothing but -inf, and those with inf, have no shares; others do."""
    param = tmp_path / "softmax.param"
    param.write_text("7767517\n2 2\nInput x 0 1 x 0=60 1=4\nSoftmax y 1 1 x y 0=1 1=1\n")
    x = np.ones((4, 60), np.float32)
    x[0], x[1, 5] = -np.inf, np.inf
    plain, shares = compiled(param, x, "host")
    np.testing.assert_array_equal(np.isnan(shares), np.isnan(plain))
    np.testing.assert_allclose(shares[2:], 1 / 60, rtol=1e-6)
