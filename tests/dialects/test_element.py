"""Element types: what holds them in numpy, and which numbers they hold."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, NoneAttr, bf16, f16, f32, i8, i32
from xdsl.dialects.test import TestOp

from ncc.dialects.element import (
    BLOB_ELEMENTS,
    dtype_of,
    element_of,
    element_of_dtype,
    holds,
    i20,
    i24,
    is_integer,
    name_of,
    number,
)


def test_blobs_have_a_type_in_numpy() -> None:
    """Each by a name that users write; bfloat16 by its bits."""
    for name, element in BLOB_ELEMENTS.items():
        assert name_of(element) == name and element_of_dtype(dtype_of(element)) == element
    assert dtype_of(bf16) == np.uint16
    for fraction, size in ((i20, 2), (i24, 3)):
        assert element_of_dtype(dtype_of(fraction)) == fraction
        assert dtype_of(fraction).itemsize == size
    with pytest.raises(TypeError, match="float64"):
        element_of_dtype(np.dtype(np.float64))
    with pytest.raises(TypeError, match="no type for"):
        dtype_of(NoneAttr())
    with pytest.raises(TypeError, match="no tensor"):
        element_of(TestOp(result_types=[f32]).results[0])


def test_numbers_that_integers_hold() -> None:
    """Both ends of the range, what is rounded towards zero into it, and no NaN."""
    assert holds(i8, 127.9) and holds(i8, -128.0) and holds(f32, np.nan)
    for beyond in (128.0, -129.0, np.nan, np.inf):
        assert not holds(i8, beyond)


def test_numbers_as_attributes() -> None:
    """Integers lose what is behind the point; float32 is rounded, beyond all of them to infinity;
    fp16 is rounded by who reads it.
    """
    assert number(-2.7, i32).value.data == -2 and number(3, IndexType()).type == IndexType()
    assert number(0.1, f32).value.data == np.float32(0.1)
    assert number(-1e39, f32).value.data == -np.inf
    assert number(0.1, f16).type == f16
    with pytest.raises(TypeError, match="no numbers"):
        number(1.0, NoneAttr())


def test_arithmetic_by_type() -> None:
    """Places are integers, bits of half precision are not."""
    assert is_integer(i8) and is_integer(IndexType()) and not is_integer(bf16)
