"""Loops of independent iterations as vectors, on every target that runs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf, vector
from xdsl.dialects.builtin import f32, f64, i32

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.lanes import widen
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target
from ncc.dialects.code import CodeOp
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.statements import Code, Value
from ncc.runtime.session import Model
from tests.runnable import each_target
from tests.typed import run

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48]

Array = np.ndarray[Any, Any]


@pytest.fixture
def run_codes_of(
    make_network: Callable[..., Any], make_model: Callable[..., Model]
) -> Callable[..., list[Array]]:
    """run_codes_of(write, target, arrays, room): the results of a code for each array.

    write(code, n) fills as many results as `room` says for an array of n.
    """

    def run(
        write: Callable[[Code, int], None],
        target: Target,
        arrays: Sequence[Array],
        room: Callable[[int], int],
    ) -> list[Array]:
        def network(b: Builder, *xs: Tensor) -> list[Tensor]:
            results = []
            for x in xs:
                code = Code([x], [((room(x.shape[0]),), f32)])
                write(code, x.shape[0])
                results += b.code(code.operation())
            return results

        model = make_model(make_network([array.shape for array in arrays], network), target)
        found = model.run({f"input{k}": array for k, array in enumerate(arrays)})
        return [found[f"output{k}"] for k in range(len(arrays))]

    return run


@each_target
def test_every_extent(target: Target, run_codes_of: Callable[..., list[Array]]) -> None:
    """Whole vectors and a masked rest compute what iterations do, and write nothing else."""

    def write(code: Code, n: int) -> None:
        (out,) = code.results
        with code.range(n + 2) as i:
            out[i] = -1.0
        scale = code.inputs[0][0]
        with code.lanes(n) as i:
            value = code.inputs[0][i]
            out[i + 1] = code.select(value > 3, code.tanh(value) * scale, value - 0.5)

    arrays = [np.linspace(2, 5, n).astype(np.float32) for n in SIZES]
    found = run_codes_of(write, target, arrays, lambda n: n + 2)
    for x, y in zip(arrays, found, strict=True):
        inner = np.where(x > 3, np.tanh(x) * x[0], x - np.float32(0.5))
        np.testing.assert_allclose(y, [-1, *inner, -1], rtol=1e-6)


@each_target
def test_bounds_of_the_run(
    target: Target, make_network: Callable[..., Any], make_model: Callable[..., Model]
) -> None:
    """A triangle: the bounds are computed, also where there is nothing to do."""

    def write(b: Builder, x: Tensor) -> Tensor:
        rows, columns = x.shape
        code = Code([x], [(x.shape, f32)])
        with code.range(rows) as j:
            with code.lanes(columns) as k:
                code.results[0][j, k] = 0.0
            with code.lanes(j, start=j - code.minimum(j, 20)) as k:
                code.results[0][j, k] = code.inputs[0][j, k] + 1.0
        return b.code(code.operation())[0]

    x = np.arange(40 * 41, dtype=np.float32).reshape(40, 41)
    model = make_model(make_network([x.shape], write), target)
    j, k = np.indices(x.shape)
    expected = np.where((k < j) & (k >= j - 20), x + 1, 0)
    np.testing.assert_array_equal(model.run({"input0": x})["output0"], expected)


@each_target
def test_pairs(
    target: Target, make_network: Callable[..., Any], make_model: Callable[..., Model]
) -> None:
    """Two int16 in an int32, multiplied and added: whole vectors, a remainder, and one alone."""

    def write(b: Builder, *xs: Tensor) -> list[Tensor]:
        results = []
        for x in xs:
            _, n = x.shape
            code = Code([x], [((n,), f32)])
            with code.lanes(n) as i:
                a, c, d, e = (code.convert(code.inputs[0][k, i], i32) for k in range(4))
                product = code.dot(code.pair(a, c), code.pair(d, e))
                code.results[0][i] = code.convert(product, f32)
            results += b.code(code.operation())
        return results

    generator = np.random.default_rng(1)
    arrays = [generator.integers(-127, 128, (4, n)).astype(np.float32) for n in SIZES]
    model = make_model(make_network([array.shape for array in arrays], write), target)
    found = model.run({f"input{k}": array for k, array in enumerate(arrays)})
    for k, (a, c, d, e) in enumerate(arrays):
        np.testing.assert_array_equal(found[f"output{k}"], a * d + c * e)


def written(body: Callable[[Code, Any], None], extent: int = 24) -> CodeOp:
    """An `rt.code` of one loop of lanes."""
    code = Code([], [((extent, extent), f32)])
    with code.lanes(extent) as i:
        body(code, i)
    return code.operation()


@pytest.mark.parametrize(
    ("extent", "target", "vectors"),
    [
        (24, AVX512, ["vector.store", "vector.maskedstore"]),
        (24, AVX2, ["vector.store"] * 3),
        (72, AVX2, ["vector.store"]),
        (12, AVX512, ["vector.maskedstore"]),
        (8, AVX512, ["vector.store"]),
        (3, AVX2, ["vector.maskedstore"]),
        (1, BASELINE, ["vector.store"]),
    ],
)
def test_short_loops_take_short_vectors(extent: int, target: Target, vectors: list[str]) -> None:
    """Few vectors are unrolled, whole ones have no mask, and none is longer than needed."""

    def body(code: Code, i: Any) -> None:
        code.results[0][0, i] = 1.0

    op = written(body, extent)
    widen(op.body.block, target)
    stores = [inner.name for inner in op.walk() if inner.name.endswith("store")]
    assert stores == vectors
    wide = [inner for inner in op.walk() if isinstance(inner, vector.StoreOp)]
    assert all(inner.operands[0].type.get_shape()[0] <= max(extent, 1) for inner in wide)  # type: ignore


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda code, i: code.results[0].__setitem__((i, 0), 1.0), "not neighbours in memory"),
        (
            lambda code, i: code.results[0].__setitem__((0, 0), 1.0),
            "all lanes write to one address",
        ),
        (lambda code, i: code.results[0].__setitem__((0, i * 2), 1.0), "of the index of a lane"),
        (lambda code, i: code.results[0].__setitem__((0, 23 - i), 1.0), "of the index of a lane"),
    ],
)
def test_refuses(body: Callable[[Code, Any], None], message: str) -> None:
    """Indices that no vector has are a fault of the code's author."""
    op = written(body)
    with pytest.raises(CompilerBug, match=message):
        widen(op.body.block, AVX2)


def fold(code: Code, n: int) -> None:
    """Five folds of a vector of n."""
    cells, out = code.inputs[0], code.results[0]
    count = code.variable(n).value

    def square(i: Value) -> Value:
        return cells[i] * cells[i]

    out[0] = code.sum(n, square)
    out[1] = code.sum(count, square, initial=1.0)
    out[2] = code.sum(count, lambda i: code.exp(cells[i]))
    out[3] = code.largest(n, lambda i: -cells[i], initial=-9.0)
    out[4] = code.largest(0, square, initial=7.0)


@each_target
def test_folds(target: Target, run_codes_of: Callable[..., list[Array]]) -> None:
    """Sums of products, sums and maxima of any extent, known when compiling or not."""
    arrays = [np.linspace(-2, 1, n).astype(np.float32) for n in [*SIZES, 64, 300, 1000]]
    found = run_codes_of(fold, target, arrays, lambda n: 5)
    for x, y in zip(arrays, found, strict=True):
        square = float((x.astype(np.float64) ** 2).sum())
        np.testing.assert_allclose(y, [square, square + 1, np.exp(x).sum(), 2, 7], rtol=1e-5)


@pytest.mark.parametrize(
    ("extent", "target", "carried"),
    [
        (128, AVX512, []),
        (240, AVX512, [1]),
        (256, AVX512, [4, 1]),
        (1000, AVX512, [4, 1]),
        (200, AVX2, [4, 1]),
        (None, AVX512, [4, 1]),
    ],
)
def test_long_folds_do_not_wait(extent: int | None, target: Target, carried: list[int]) -> None:
    """A long reduction, or one of dynamic length, has four partial vectors."""
    code = Code([], [((1000,), f32)])
    (out,) = code.results
    out[0] = code.sum(extent or code.variable(1000).value, lambda i: out[i])
    op = code.operation()
    widen(op.body.block, target)
    loops = [inner for inner in op.walk() if isinstance(inner, scf.ForOp)]
    assert [len(loop.results) for loop in loops] == carried


@pytest.mark.parametrize("target", ["baseline", "avx2", "avx512"])
def test_numbers_of_64_bits(target: str) -> None:
    """Vectors of half as many lanes: sums and extrema, and what each lane writes."""
    shape = (3, 37)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        code = Code([x], [(shape, f64), ((3,), f64)])
        (inside,), (out, sums) = code.inputs, code.results
        with code.range(3) as j:
            largest = code.largest(37, lambda k: inside[j, k], code.value(-1e300, f64))
            with code.lanes(37) as k:
                out[j, k] = code.exp(inside[j, k] - largest)
            sums[j] = code.sum(37, lambda k: out[j, k])
        return b.code(code.operation())

    x = np.random.default_rng(0).standard_normal(shape)
    powers, sums = run([(shape, f64)], write, [x], 2, target)
    expected = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(powers, expected, rtol=1e-15)
    np.testing.assert_allclose(sums, expected.sum(1), rtol=1e-14)
