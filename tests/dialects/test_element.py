"""Element types: what holds them in numpy, and which numbers they hold."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, NoneAttr, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.dialects.test import TestOp

from ncc.dialects.element import (
    BLOB_ELEMENTS,
    ELEMENTS,
    as_stored,
    dtype_of,
    element_of,
    element_of_dtype,
    greatest,
    holds,
    i20,
    i24,
    is_integer,
    is_unsigned,
    least,
    name_of,
    number,
    signless,
    ui8,
    ui16,
    ui32,
    ui64,
)


def test_blobs_have_a_type_in_numpy() -> None:
    """Each by a name that users write; bfloat16 by its bits."""
    for name, element in ELEMENTS.items():
        assert name_of(element) == name
        assert element_of_dtype(dtype_of(element)) == (bf16 if element == ui16 else element)
    assert dtype_of(bf16) == dtype_of(ui16) == np.uint16
    assert set(BLOB_ELEMENTS) < set(ELEMENTS)
    for fraction, size in ((i20, 2), (i24, 3)):
        assert element_of_dtype(dtype_of(fraction)) == fraction
        assert dtype_of(fraction).itemsize == size
    with pytest.raises(TypeError, match="complex64"):
        element_of_dtype(np.dtype(np.complex64))
    with pytest.raises(TypeError, match="no type for"):
        dtype_of(NoneAttr())
    with pytest.raises(TypeError, match="no tensor"):
        element_of(TestOp(result_types=[f32]).results[0])


def test_numbers_that_integers_hold() -> None:
    """Both ends of the range, what is rounded towards zero into it, and no NaN."""
    assert holds(i8, 127.9) and holds(i8, -128.0) and holds(f32, np.nan)
    for beyond in (128.0, -129.0, np.nan, np.inf):
        assert not holds(i8, beyond)
    assert holds(ui8, 255.9) and not holds(ui8, 256) and not holds(ui8, -1)


def test_limits() -> None:
    """Those of numpy; of floats infinities."""
    for element in (i8, i16, i32, i64, ui8, ui16, ui32, ui64):
        info = np.iinfo(dtype_of(element))
        assert (least(element), greatest(element)) == (info.min, info.max)
        assert number(-np.inf, element).value.data == info.min
    assert (least(i1), greatest(i1)) == (0, 1)
    assert (least(f16), greatest(f16)) == (-np.inf, np.inf)


def test_types_without_a_sign() -> None:
    """Truth values have none either; constants are of signless types."""
    assert all(map(is_unsigned, (ui8, ui64, i1))) and not any(map(is_unsigned, (i8, f32)))
    assert signless(ui16) == i16 and signless(i1) == i1 and signless(f64) == f64
    assert number(-1, ui8).value.data == number(255, ui8).value.data == 255


def test_what_memory_holds() -> None:
    """Numbers of bfloat16 are rounded to bits, bits stay."""
    assert as_stored(np.array([1.0, 0.1]), bf16).tolist() == [0x3F80, 0x3DCD]
    assert as_stored(np.array([0x3F80], np.uint16), bf16).tolist() == [0x3F80]
    assert as_stored(np.array([[2.0, 0.0]]), i1).dtype == np.bool_


def test_numbers_as_attributes() -> None:
    """Integers lose what is behind the point; floats are rounded, at most to infinity."""
    assert number(-2.7, i32).value.data == -2 and number(3, IndexType()).type == IndexType()
    assert number(0.1, f32).value.data == np.float32(0.1)
    assert number(-1e39, f32).value.data == -np.inf
    assert number(0.1, f16).value.data == np.float16(0.1)
    assert number(0.1, bf16).value.data == 0.10009765625
    assert number(2**62 + 1, i64).value.data == 2**62 + 1
    with pytest.raises(TypeError, match="no numbers"):
        number(1.0, NoneAttr())


def test_arithmetic_by_type() -> None:
    """Places are integers, bits of half precision are not."""
    assert is_integer(i8) and is_integer(IndexType()) and not is_integer(bf16)
