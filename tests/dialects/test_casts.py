"""Every number of every element type becomes the right one of every other."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.dialects.builtin import f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Block

from ncc.compiler.linalg.rewrite.insert import generic_of
from ncc.dialects.casts import cast, saturated_int8
from ncc.dialects.element import (
    ELEMENTS,
    as_stored,
    bits_of,
    dtype_of,
    is_integer,
    least,
    ui32,
    ui64,
)
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.quantization.int8 import quantize_array
from ncc.dialects.scalar import Scalar, maximum
from ncc.dialects.weights.sources import Array
from tests.structured.evaluate import evaluate_value
from tests.typed import every_type, numbers, run, samples

LIMITS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38], np.float32)
HALVES = np.arange(-260, 261, dtype=np.float32) / 2
NUMBERS = np.concatenate([LIMITS, HALVES, np.nextafter(HALVES, 0), np.nextafter(HALVES, 1e9)])


@pytest.mark.parametrize("floor", [None, 0.0, 2.5, -3.0])
@pytest.mark.parametrize("scale", [None, 0.25, -2.0])
def test_saturated_int8(floor: float | None, scale: float | None) -> None:
    """Rounded and limited as ever where it is known that nothing is negative, or NaN."""

    b = Builder(Block())
    x = b.table(NUMBERS)
    at = b.loops_of(x.shape)
    value: Scalar = x[at] if floor is None else maximum(x[at], floor)
    made = b.map(at, saturated_int8(value if scale is None else value * scale))
    signs = [isinstance(op, math.CopySignOp) for op in generic_of(made).body.block.ops]
    assert any(signs) != (floor in (0.0, 2.5) and scale in (None, 0.25))
    found = evaluate_value(made.value)
    expected = NUMBERS if floor is None else np.fmax(NUMBERS, np.float32(floor))
    np.testing.assert_array_equal(found, quantize_array(expected, np.float32(scale or 1)))


def converted(x: Array, source: Attribute, target: Attribute) -> Array:
    """What numpy makes of numbers; of floats that are no integers of a type, as on x86."""
    if target == i1:
        return np.asarray(x != 0)
    if is_integer(source) or not is_integer(target):
        return rounded(x, target)
    by = i64 if target in (i64, ui32, ui64) else i32
    wide = x.astype(np.float64)
    whole = [int(n) if abs(n) < 2.0 ** (bits_of(by) - 1) else int(least(by)) for n in wide]
    found = np.array(whole, dtype_of(by)).astype(dtype_of(target))
    if target == ui64:
        above = (wide >= 2.0**63) & (wide < 2.0**64)
        found[above] = wide[above].astype(np.uint64)
    return found


def rounded(x: Array, target: Attribute) -> Array:
    """The nearest numbers of a type; of float64, the nearest bfloat16 is not that of a float32."""
    if is_integer(target) or target == f16 and x.dtype.kind == "f" or target in (f32, f64):
        return x.astype(dtype_of(target))
    if x.dtype == np.float64:
        near = x.astype(np.float32)
        toward = np.nextafter(near, np.where(x > near, np.inf, -np.inf).astype(np.float32))
        odd = np.where(near.view(np.uint32) & 1, near, toward)
        x = np.where((near == x) | np.isnan(x) | np.isinf(near), near, odd)
    return numbers(as_stored(x.astype(np.float32), target), target)


CORNERS = [
    300.7, -1.5, -300.7, 2.5, 6e4, -6e4, 65504, 127.99, 255.5, 1e-8, 1.0009765625, 1e-7,
    3e9, -3e9, 2147483520, 1e19, 1.5e19, -9e18, 65520, 1.00048828125 + 1e-12,
    1.00048828125 - 1e-12, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 1e300, 3.4e38,
]  # fmt: skip


@every_type
def test_cast(name: str, level: int, target: str) -> None:
    """From one type to all, the least and the greatest numbers, NaN and infinities among them."""
    source = ELEMENTS[name]
    x = samples(source)
    if not is_integer(source):
        x = np.concatenate([x, numbers(as_stored(np.array(CORNERS), source), source)])
    elements = list(ELEMENTS.values())

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        made = []
        for element in elements:
            at = b.loops_of(x.shape)
            made.append(b.map(at, cast(x[at], element)))
        return made

    found = run([(x.shape, source)], write, [x], level, target)
    for element, y in zip(elements, found, strict=True):
        with np.errstate(all="ignore"):
            expected = converted(x, source, element)
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y, expected, err_msg=f"{name} to {element}")
