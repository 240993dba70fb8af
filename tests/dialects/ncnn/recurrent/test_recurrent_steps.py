"""The statements of recurrent layers, compiled by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from ncc.dialects.code import CodeOp
from ncc.dialects.index_notation import Builder
from ncc.dialects.ncnn.recurrent.cells import Maths, Number, Numbers
from ncc.dialects.ncnn.recurrent.recurrent_steps import (
    HELD,
    ROWS,
    RecurrentOperands,
    Rule,
    add_product,
    expand_steps,
)
from ncc.dialects.statements import Code
from tests.dialects.ncnn.arrays import random, tensor

Array = np.ndarray[Any, Any]
RunCode = Callable[..., list[Array]]


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS + 2])
@pytest.mark.parametrize("columns", [1, 3, 4, 11])
@pytest.mark.parametrize("fro", [0, 1])
def test_a_vector_times_a_matrix(rows: int, columns: int, fro: int, run_code: RunCode) -> None:
    """Added to what the sums hold; blocks of rows, in either order, and what is left of them."""
    code = Code([tensor(rows), tensor(rows, columns)], [((columns,), f32)])
    with code.lanes(columns) as j:
        code.results[0][j] = 2.0
    add_product(code, [code.results[0]], [code.inputs[0]], code.inputs[1], fro)
    x, matrix = random(rows), random(rows, columns)
    (found,) = run_code(code.operation(), [x, matrix])
    np.testing.assert_allclose(found, 2 + x @ matrix, rtol=1e-5)


def integrator(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """Two gates that only add up, and a second state that counts the steps."""
    return [x(0) + r(0) * x(1) + r(1), state(1) + 1.0]


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("held", [0, HELD])
def test_steps(
    directions: int,
    reverse: bool,
    given: bool,
    held: int,
    run_code: RunCode,
) -> None:
    """Whatever the cell: rows in order or turned, states from zeros or from those given, the
    weight read to and fro or always from its begin.
    """
    steps, outputs, hidden = 5, 2 * ROWS + 1, 6
    gates = 2 * hidden
    inputs = random(steps, directions * gates)
    weight, bias = random(directions, outputs, gates), random(directions, gates)
    projection = random(directions, hidden, outputs)
    states = [random(directions, outputs), random(directions, hidden)] if given else []
    arrays = [inputs, weight, bias, projection, *states]
    tensors = [tensor(*array.shape) for array in arrays]
    operands = RecurrentOperands(tensors[0], tensors[1], tensors[2], None, tensors[3], tensors[4:])
    block = Block()
    rule = Rule(integrator, hidden, outputs, 2, reverse, held)
    expand_steps(Builder(block), rule, operands)
    (op,) = (op for op in block.ops if isinstance(op, CodeOp))
    rows, last, counted = run_code(op, arrays)
    for d in range(directions):
        h = states[0][d] if given else np.zeros(outputs)
        turned = d == 1 or (reverse and directions == 1)
        for t in reversed(range(steps)) if turned else range(steps):
            x = inputs[t].reshape(directions, 2, hidden)[d]
            r = (h @ weight[d] + bias[d]).reshape(2, hidden)
            h = (x[0] + r[0] * x[1] + r[1]) @ projection[d]
            np.testing.assert_allclose(rows[t].reshape(directions, -1)[d], h, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(last[d], h, rtol=1e-4, atol=1e-5)
        first = states[1][d] if given else 0
        np.testing.assert_allclose(counted[d], first + steps * np.ones(hidden), rtol=1e-6)
