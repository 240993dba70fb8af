"""What is softmax among operations, and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.softmax import Softmax
from ncc.compiler.linalg.rewrite.insert import generic_of, tensor_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar, divisor, equal, exp, select

ODD = (
    "other zeros", "zeros by a half", "zeros of powers", "zeros below",
    "other powers", "a smaller one", "of columns", "a turned image", "turned powers", "products",
    "weighted", "a multiple", "added", "a part", "a difference", "of others", "upside down",
)  # fmt: skip


def divisor_of(odd: str, total: Scalar, power: Scalar) -> Scalar:
    """What divides where nothing is divided by 0; `odd`: what is otherwise."""
    match odd:
        case "other zeros":
            return select(equal(total, 1.0), 1.0, total)
        case "zeros by a half":
            return select(equal(total, 0.0), 0.5, total)
        case "zeros of powers":
            return select(equal(power, 0.0), 1.0, total)
        case "zeros below":
            return select(total < 0.0, 1.0, total)
        case "zeros":
            return divisor(total)
    return total


def softmax(x: Tensor, b: Builder, odd: str = "") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The largest of each row, powers, sums and quotients; `odd`: what is otherwise."""
    s, t = b.loops_of(x.shape)
    largest = (b.min if odd == "a smaller one" else b.max)((s,), (t,), x[s, t])
    s, t = b.loops_of(x.shape)
    value = x[t, s] if odd == "a turned image" else x[s, t]
    most = largest[t] if odd == "of columns" else largest[s]
    exponent = value + most if odd == "added" else value - most
    powers = b.map((s, t), exponent * exponent if odd == "other powers" else exp(exponent))
    s, t = b.loops_of(x.shape)
    term = powers[s, t]
    if odd in ("a multiple", "weighted"):
        term = term * (2.0 if odd == "a multiple" else x[s, t])
    sums = (b.product if odd == "products" else b.sum)((s,), (t,), term)
    s, t = b.loops_of(x.shape)
    divided = b.map((s, t), exp(exponent)) if odd == "of others" else powers
    s, t = b.loops_of(x.shape)
    above = divided[(t, s) if odd == "turned powers" else (s, t)]
    below = divisor_of(odd, sums[s], above)
    if odd == "upside down":
        above, below = below, above
    share = above - below if odd == "a difference" else above / below
    return largest, powers, sums, b.map((s, t), share + 1.0 if odd == "a part" else share)


def argument(*shape: int) -> tuple[Tensor, Builder]:
    block = Block(arg_types=[TensorType(f32, shape)])
    return tensor_of(block.args[0]), Builder(block)


def test_what_a_quotient_was_made_of() -> None:
    """By values, and the axes that sums still have."""
    x, b = argument(6, 6)
    largest, powers, sums, quotients = softmax(x, b)
    expected = Softmax(x.value, largest.value, powers.value, sums.value, kept=(0,))
    assert Softmax.of(generic_of(quotients)) == expected
    assert expected.least == -np.inf


def test_rows_that_are_zeros_under_a_mask() -> None:
    """1 divides where a sum is 0, and the largest is a number."""
    x, b = argument(6, 6)
    largest, powers, sums, quotients = softmax(x, b, "zeros")
    expected = Softmax(x.value, largest.value, powers.value, sums.value, kept=(0,), zeros=True)
    assert Softmax.of(generic_of(quotients)) == expected
    assert expected.least == np.finfo(np.float32).min


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_softmax(odd: str) -> None:
    """Each is so in one respect; what would be divided later were another number."""
    *_, quotients = softmax(*argument(6, 6), odd)
    assert Softmax.of(generic_of(quotients)) is None


def test_a_step_of_it_is_no_softmax() -> None:
    """Powers and sums are none by themselves."""
    for made in softmax(*argument(6, 6))[:3]:
        assert Softmax.of(generic_of(made)) is None
