"""Operations on scalars say what numpy says, for every element type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.dialects.builtin import f16, f32, f64, i1, i32
from xdsl.ir import Attribute

from ncc.dialects import scalar
from ncc.dialects.element import ELEMENTS, as_stored, is_half, is_integer
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar, unary
from ncc.dialects.weights.sources import Array
from tests.typed import divided, every_type, numbers, run, samples

Of: TypeAlias = tuple[Callable[..., Scalar], Callable[..., Array]]

BOTH: Mapping[str, Of] = {
    "less": (lambda x, y: x < y, np.less),
    "less or equal": (lambda x, y: x <= y, np.less_equal),
    "greater": (lambda x, y: x > y, np.greater),
    "greater or equal": (lambda x, y: x >= y, np.greater_equal),
    "equal": (scalar.equal, np.equal),
    "not equal": (scalar.not_equal, np.not_equal),
    "maximum": (scalar.maximum, np.fmax),
    "minimum": (scalar.minimum, np.fmin),
    "maximum or NaN": (scalar.nan_maximum, np.maximum),
    "minimum or NaN": (scalar.nan_minimum, np.minimum),
    "select": (
        lambda x, y: scalar.select(x < y, x, y),
        lambda x, y: np.asarray(np.where(x < y, x, y)),
    ),
}
ARITHMETIC: Mapping[str, Of] = {
    "add": (lambda x, y: x + y, np.add),
    "subtract": (lambda x, y: x - y, np.subtract),
    "multiply": (lambda x, y: x * y, np.multiply),
    "divide": (lambda x, y: x / y, divided),
    "negate": (lambda x, y: -x, lambda x, y: np.negative(x)),
    "absolute": (lambda x, y: scalar.absolute(x), lambda x, y: np.abs(x)),
    "sign": (lambda x, y: scalar.sign(x), lambda x, y: np.sign(x)),
    "next": (lambda x, y: x + 1, lambda x, y: x + np.ones_like(x)),
}
BITS: Mapping[str, Of] = {
    "and": (lambda x, y: x & y, np.bitwise_and),
    "or": (lambda x, y: x | y, np.bitwise_or),
    "xor": (lambda x, y: x ^ y, np.bitwise_xor),
    "not": (lambda x, y: ~x, lambda x, y: np.invert(x)),
}
REAL: Mapping[str, Of] = {
    "floor": (lambda x, y: scalar.floor(x), lambda x, y: np.floor(x)),
    "ceil": (lambda x, y: scalar.ceil(x), lambda x, y: np.ceil(x)),
    "trunc": (lambda x, y: scalar.trunc(x), lambda x, y: np.trunc(x)),
    "round": (lambda x, y: scalar.round_even(x), lambda x, y: np.rint(x)),
    "root": (lambda x, y: scalar.sqrt(x), lambda x, y: np.sqrt(x)),
    "NaN": (lambda x, y: scalar.is_nan(x), lambda x, y: np.isnan(x)),
    "infinite": (lambda x, y: scalar.is_infinite(x), lambda x, y: np.isinf(x)),
    "three": (lambda x, y: x * y - 0.1, lambda x, y: x * y - x.dtype.type(0.1)),
}


def powers(x: Array, y: Array) -> Array:
    """Powers of integers, which wrap around; negative ones are rounded towards zero."""
    modulus = 1 << (8 * x.dtype.itemsize)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    found = [
        pow(a, n, modulus) if n >= 0 else (a if n % 2 else 1) * (a in (1, -1)) for a, n in pairs
    ]
    return np.array([n % modulus for n in found], f"u{x.dtype.itemsize}").view(x.dtype)


def operations(element: Attribute) -> dict[str, Of]:
    """All that a type has."""
    found = {**BOTH}
    if element != i1:
        found.update(ARITHMETIC)
    found.update(BITS if is_integer(element) else REAL)
    if is_integer(element) and element != i1:
        found["power"] = scalar.power, powers
    return found


@every_type
def test_operations(name: str, level: int, target: str) -> None:
    """Bit by bit; of half precision, in float32 and rounded."""
    element = ELEMENTS[name]
    x = samples(element)
    y = np.roll(samples(element, 1), 5)
    of = operations(element)

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        made = []
        for compute, _ in of.values():
            at = b.loops_of(x.shape)
            made.append(b.map(at, compute(x[at], y[at])))
        return made

    found = run([(x.shape, element)] * 2, write, [x, y], level, target)
    for (said, (_, exact)), made in zip(of.items(), found, strict=True):
        with np.errstate(all="ignore"):
            expected = exact(x, y)
        if said == "three":
            if not is_half(element):  # one operation may round both
                np.testing.assert_allclose(made, expected, rtol=1e-5)
                continue
            product, tenth = (as_stored(n, element) for n in (x * y, np.array(0.1)))
            expected = numbers(product, element) - numbers(tenth, element)
        if made.dtype != np.bool_ and is_half(element):
            expected = numbers(as_stored(expected, element), element)
        assert made.dtype == expected.dtype, said
        np.testing.assert_array_equal(made, expected, err_msg=said)


def test_operands_of_two_types_are_refused() -> None:
    """Nothing is converted by itself."""
    with pytest.raises(TypeError, match="are not one type"):
        scalar.constant(1.0, f32) + scalar.constant(1, i32)


def test_half_precision_is_computed_in_float32() -> None:
    """An operation of arith sees no half precision, and a constant is converted here."""
    total = scalar.constant(0.1, f16) + 1.0
    assert isinstance(total, scalar.Apply)
    (inside,) = total.operands
    assert isinstance(inside, scalar.Apply)
    assert {operand.type for operand in inside.operands} == {f32}
    assert all(isinstance(operand, scalar.Constant) for operand in inside.operands)


@pytest.mark.parametrize("name", ["float64", "float16"])
def test_functions(name: str) -> None:
    """Any function of mathematics takes any type of floats."""
    element = ELEMENTS[name]
    x = numbers(as_stored(np.linspace(0.1, 0.9, 21), element), element)
    functions = (math.TanOp, math.AsinOp, math.AcoshOp, math.Log1pOp)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        made = []
        for function in functions:
            at = b.loops_of(x.shape)
            made.append(b.map(at, unary(function)(x[at] + (function is math.AcoshOp) * 1.0)))
        return made

    found = run([(x.shape, element)], write, [x], 2, "host")
    expected = (np.tan(x), np.arcsin(x), np.arccosh(x + x.dtype.type(1)), np.log1p(x))
    for made, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(made, exact, rtol=1e-15 if element == f64 else 1e-3)
