"""Steps whose cell is computed in parts: the same numbers, whoever computes which part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block

import ncc
from ncc.dialects.code import CodeOp
from ncc.dialects.index_notation import Builder
from ncc.dialects.ncnn.recurrent.cells import Maths, Number, Numbers
from ncc.dialects.ncnn.recurrent.parted_steps import WORTH_A_THREAD, expand_parted_steps, parts_of
from ncc.dialects.ncnn.recurrent.recurrent_steps import HELD, RecurrentOperands, Rule
from tests.dialects.ncnn.arrays import random, tensor

Array = np.ndarray[Any, Any]


def integrator(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """Two gates that only add up, and a second state that counts the steps."""
    return [x(0) + r(0) * x(1) + r(1) + state(0), state(1) + 1.0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("held", [0, HELD])
def test_steps(
    reverse: bool,
    given: bool,
    held: int,
    run_code: Callable[..., list[Array]],
) -> None:
    """Rows in order or turned, states from zeros or from those given, the weight read to and fro
    or always from its begin.
    """
    steps, hidden, gates, parts = 5, 39, 2, 3
    inputs, bias = random(steps, gates * hidden), random(1, gates * hidden)
    weight = random(hidden, gates, parts, hidden // parts)
    matrices = np.ascontiguousarray(weight.transpose(2, 0, 1, 3)).reshape(parts, hidden, -1)
    states = [random(1, hidden), random(1, hidden)] if given else []
    arrays = [inputs, matrices, bias, *states]
    tensors = [tensor(*array.shape) for array in arrays]
    operands = RecurrentOperands(tensors[0], tensors[1], tensors[2], None, None, tensors[3:])
    block = Block()
    rule = Rule(integrator, hidden, hidden, 2, reverse, held)
    made = expand_parted_steps(Builder(block), rule, operands, parts)
    assert [value.shape for value in made] == [(steps, hidden), (1, hidden), (1, hidden)]
    (op,) = (op for op in block.ops if isinstance(op, CodeOp))
    rows, last, counted, _ = run_code(op, arrays)
    h = states[0][0] if given else np.zeros(hidden, np.float32)
    for t in reversed(range(steps)) if reverse else range(steps):
        x = inputs[t].reshape(gates, hidden)
        r = (h @ weight.reshape(hidden, -1) + bias[0]).reshape(gates, hidden)
        h = x[0] + r[0] * x[1] + r[1] + h
        np.testing.assert_allclose(rows[t], h, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(last[0], rows[0 if reverse else -1])
    first = states[1][0] if given else 0
    np.testing.assert_allclose(counted[0], first + steps * np.ones(hidden), rtol=1e-6)


ENOUGH = 3 * WORTH_A_THREAD


@pytest.mark.parametrize(
    ("hidden", "outputs", "directions", "weights", "threads", "parts"),
    [
        (120, 120, 1, ENOUGH, 1, 1),
        (120, 120, 1, ENOUGH, 2, 2),
        (120, 120, 1, ENOUGH, 3, 3),
        (120, 120, 1, ENOUGH, 8, 3),
        (120, 120, 1, ENOUGH - 1, 3, 2),  # each has enough to do
        (120, 120, 1, WORTH_A_THREAD - 1, 3, 1),
        (128, 128, 1, ENOUGH, 3, 2),  # they are equal
        (127, 127, 1, ENOUGH, 3, 1),
        (120, 120, 2, ENOUGH, 3, 1),  # a thread a direction
        (120, 60, 1, ENOUGH, 3, 1),  # a projection reads the whole cell
    ],
)
def test_parts(
    hidden: int, outputs: int, directions: int, weights: int, threads: int, parts: int
) -> None:
    """Large cells of one direction are parted, where there is who shares them."""
    rule = Rule(integrator, hidden, outputs, 2, False)
    assert parts_of(rule, directions, weights, threads) == parts


NET = """7767517
2 2
Input data 0 1 data 0=24 1=7
{type} recurrent 1 1 data out 0=384 1={count} 2={direction}
"""


@pytest.mark.parametrize(
    ("type", "gates", "direction", "target"),
    [
        ("GRU", 3, 0, "avx512"),
        ("GRU", 3, 1, "baseline"),
        ("LSTM", 4, 0, "avx2"),
        ("LSTM", 4, 1, "avx512"),
    ],
)
def test_parts_give_the_same_bits(
    tmp_path: Path, type: str, gates: int, direction: int, target: str
) -> None:
    """As whole cells on one thread do, from run to run."""
    param = tmp_path / "net.param"
    param.write_text(NET.format(type=type, count=gates * 384 * 24, direction=direction))
    feeds = {"data": random(7, 24)}
    whole = ncc.compile(param, random_weights=1, target=target).run(feeds)["out"]
    for threads in (2, 3):
        model = ncc.compile(param, random_weights=1, target=target, num_threads=threads)
        for _ in range(3):
            np.testing.assert_array_equal(model.run(feeds)["out"], whole)
