"""Statements for `rt.code`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32, i32, i64
from xdsl.dialects.test import TestOp

from ncc.dialects.index_notation import Tensor
from ncc.dialects.size import Size
from ncc.dialects.statements import Code
from ncc.dialects.structured import shape_of_tensor

RunCode = Callable[..., list[np.ndarray[Any, Any]]]


def vector(size: int) -> Tensor:
    return Tensor(TestOp(result_types=[TensorType(f32, [size])]).results[0], (size,))


def test_the_example_of_the_module(run_code: RunCode) -> None:
    """A filter: what passes is packed, and counted."""
    code = Code([vector(8)], [((8,), f32), ((1,), i64)])
    count = code.variable(0)
    with code.range(8) as i, code.if_(code.inputs[0][i] > 0.5):
        code.results[0][count.value] = code.inputs[0][i]
        count.value += 1
    code.results[1][0] = count.value
    x = np.array([1, 0, 2, 0, 0.5, 3, 0, 4], np.float32)
    kept, counted = run_code(code.operation(), [x])
    assert counted[0] == 4
    assert kept[:4].tolist() == [1, 2, 3, 4]


def test_while_computes_its_condition_anew(run_code: RunCode) -> None:
    """The greatest common divisor by subtraction; a loop whose condition is false never runs."""
    code = Code([], [((2,), i64)])
    a, b = code.variable(84), code.variable(36)
    with code.while_(lambda: (a.value > 0) & (b.value > 0)):
        larger = code.maximum(a.value, b.value)
        smaller = code.minimum(a.value, b.value)
        a.value = larger - smaller
        b.value = smaller
    code.results[0][0] = b.value
    never = code.variable(7)
    with code.while_(lambda: never.value < 0):
        never.value = 0
    code.results[0][1] = never.value
    assert run_code(code.operation(), [])[0].tolist() == [12, 7]


def test_arithmetic_of_floats_and_indices(run_code: RunCode) -> None:
    """Numbers take the type of what stands beside them, on either side."""
    code = Code([vector(1)], [((6,), f32), ((3,), i64)])
    x, floats, whole = code.inputs[0][0], code.results[0], code.results[1]
    floats[0] = 1 - x * 2
    floats[1] = 6 / x
    floats[2] = code.sigmoid(x - 3)
    floats[3] = code.select((x >= 3) | (x < 0), -x, x)
    with code.range(5, 3) as i:
        floats[i + 1] = code.to_float(2 * i)
        whole[i - 3] = 10 - i
    whole[2] = code.select(x <= 2.5, 1, 0)
    values, places = run_code(code.operation(), [np.array([3.0])])
    assert values.tolist() == [-5, 2, 0.5, -3, 6, 8]
    assert places.tolist() == [7, 6, 0]


def test_comparisons_with_nan_are_false(run_code: RunCode) -> None:
    """As C's are."""
    code = Code([vector(1)], [((2,), i64)])
    code.results[0][0] = code.select(code.inputs[0][0] < 1, 1, 0)
    code.results[0][1] = code.select(code.inputs[0][0] >= 1, 1, 0)
    assert run_code(code.operation(), [np.array([np.nan])])[0].tolist() == [0, 0]


@pytest.mark.parametrize("iterations", [None, 3])
def test_memory_of_an_open_size_is_a_result(iterations: int | None) -> None:
    """No stack has room for it: the plan gives it some, and each iteration a part."""
    size = Size.symbol("h", 8)
    code = Code([vector(8)], [((1,), f32)], iterations=iterations)
    memory = code.scratch((size, 2))
    memory[0, 1] = 1.0
    op = code.operation()
    op.verify()
    assert op.scratch is None
    parts = () if iterations is None else (iterations,)
    assert [shape_of_tensor(result) for result in op.results] == [(1,), (*parts, size, 2)]


def test_memory_has_the_axes_of_its_shape() -> None:
    """Another number of places is refused when the statement is written."""
    code = Code([vector(8)], [((2, 3), f32)])
    with pytest.raises(IndexError, match="1 indices into memory of shape"):
        code.results[0][0] = 1.0


def test_two_products_at_once(run_code: RunCode) -> None:
    """Pairs hold what int16 does, of either sign."""
    code = Code([vector(4)], [((1,), f32)])
    a, c, d, e = (code.convert(code.inputs[0][k], i32) for k in range(4))
    dot = code.dot(code.pair(a, c), code.pair(d, e))
    code.results[0][0] = code.convert(dot, f32)
    op = code.operation()
    for x in ([-128, 127, 127, -128], [-1, -1, -1, 5], [300, -32768, 100, 2]):
        assert run_code(op, [np.array(x)])[0].tolist() == [x[0] * x[2] + x[1] * x[3]]
