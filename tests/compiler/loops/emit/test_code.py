"""Kernels that are loops from the start: their operands, and who runs their iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32

from ncc.compiler.loops.build_network import build
from ncc.compiler.target import BASELINE
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.statements import Code
from ncc.runtime.session import Model

MakeNetwork = Callable[..., Any]
MakeModel = Callable[..., Model]


def doubled(b: Builder, x: Tensor, iterations: int | None = None) -> Tensor:
    """2 x, row by row; with iterations, each row is one."""
    code = Code([x], [(x.shape, f32)], iterations)
    rows, columns = x.shape
    if iterations is not None:
        with code.lanes(columns) as k:
            code.results[0][code.iteration, k] = code.inputs[0][code.iteration, k] * 2
    else:
        with code.range(rows) as j, code.lanes(columns) as k:
            code.results[0][j, k] = code.inputs[0][j, k] * 2
    (y,) = b.code(code.operation())
    return y


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_windows_of_other_values(make_network: MakeNetwork, make_model: MakeModel) -> None:
    """An operand may be a slice, or lie inside a padded value; a result inside a concatenation."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        middle = b.slice(x, (1, 2), (3, 5))
        at = b.loops_of(middle.shape)
        moved = b.map(at, middle[at] + 1.0)
        padded = b.pad(moved, (1, 1), (0, 2))
        both = b.concat([doubled(b, middle), doubled(b, moved)], 1)
        return [both, padded]

    x = numbers(5, 9)
    model = make_model(make_network([x.shape], write))
    found = model.run({"input0": x})
    middle = x[1:4, 2:7]
    expected = np.concatenate([middle * 2, (middle + 1) * 2], axis=1)
    np.testing.assert_array_equal(found["output0"], expected)
    np.testing.assert_array_equal(found["output1"], np.pad(middle + 1, ((1, 0), (1, 2))))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_iterations_are_shared_among_threads(
    make_network: MakeNetwork, make_model: MakeModel, threads: int
) -> None:
    """Each iteration runs once, on any thread; later kernels see all results."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return doubled(b, doubled(b, x, x.shape[0]), x.shape[0])

    x = numbers(7, 33)
    model = make_model(make_network([x.shape], write), threads=threads)
    for _ in range(5):
        np.testing.assert_array_equal(model.run({"input0": x})["output0"], x * 4)


def test_equal_codes_on_equal_strides_are_one_kernel(
    make_network: MakeNetwork, make_plan: Callable[..., Any]
) -> None:
    """The strides of subviews are part of the kernel, the values are not."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        part = b.slice(x, (0, 0), (2, 4))
        return [doubled(b, doubled(b, x)), doubled(b, part)]

    loops = build(make_plan(make_network([(2, 8)], write)), BASELINE, 1)
    names = [step.kernel for step in loops.steps]
    assert names[0] == names[1] != names[2]


def test_codes_that_differ_around_their_statements_are_several_kernels(
    make_network: MakeNetwork, make_model: MakeModel
) -> None:
    """By the order of operands, and by the number of iterations."""

    def weighed(b: Builder, *of: Tensor) -> Tensor:
        code = Code(of, [(of[0].shape, f32)])
        first, second, third = code.inputs
        with code.lanes(of[0].shape[0]) as k:
            code.results[0][k] = first[k] + second[k] * 2 + third[k] * 4
        (y,) = b.code(code.operation())
        return y

    def first_rows(b: Builder, x: Tensor, iterations: int) -> Tensor:
        code = Code([x], [(x.shape, f32)], iterations)
        with code.lanes(x.shape[1]) as k:
            code.results[0][code.iteration, k] = code.inputs[0][code.iteration, k] * 2
        (y,) = b.code(code.operation())
        return b.slice(y, (0, 0), (iterations, x.shape[1]))

    def write(b: Builder, x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
        sums = [weighed(b, *of) for of in ((x, x, y), (x, y, x), (x, y, y))]
        return [*sums, first_rows(b, z, 3), first_rows(b, z, 5)]

    feeds = {"input0": numbers(9), "input1": numbers(9) + 100, "input2": numbers(5, 9)}
    found = make_model(make_network([x.shape for x in feeds.values()], write)).run(feeds)
    x, y, z = feeds.values()
    for k, wanted in enumerate((3 * x + 4 * y, 5 * x + 2 * y, x + 6 * y, 2 * z[:3], 2 * z)):
        np.testing.assert_array_equal(found[f"output{k}"], wanted)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_step_sees_all_of_the_one_before(
    make_network: MakeNetwork, make_model: MakeModel, threads: int
) -> None:
    """Each iteration adds its row and that of its neighbour; two rows take turns."""
    steps, iterations = 9, 5

    def write(b: Builder, x: Tensor) -> Tensor:
        code = Code([x], [((2, iterations), f32)], iterations, steps)
        (given,), (y,) = code.inputs, code.results
        before, after = y.part((code.step + 1) % 2), y.part(code.step % 2)
        with code.if_(code.step < 1):
            after[code.iteration] = given[code.iteration]
        with code.if_(code.step > 0):
            after[code.iteration] = (
                before[code.iteration] + before[(code.iteration + 1) % iterations]
            )
        (made,) = b.code(code.operation())
        at = b.loops_of(made.shape)
        return b.map(at, made[at] * 2.0)

    x = numbers(iterations)
    model = make_model(make_network([x.shape], write), threads=threads)
    expected = x
    for _ in range(steps - 1):
        expected = expected + np.roll(expected, -1)
    for _ in range(5):
        found = model.run({"input0": x})["output0"]
        np.testing.assert_array_equal(found[(steps - 1) % 2], expected * 2)
