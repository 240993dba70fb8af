"""Attributes that the IR of a network has many of, each made once: they never change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute


@lru_cache(maxsize=1024)
def integer(value: int) -> IntegerAttr[IntegerType]:
    """A number as i64."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=1024)
def string(value: str) -> StringAttr:
    """A text."""
    return StringAttr(value)


@lru_cache(maxsize=1024)
def symbol(name: str) -> SymbolRefAttr:
    """A function by its name."""
    return SymbolRefAttr(name)


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """A list of i64."""
    return _integers(i64, tuple(values))


def segments(*sizes: int) -> DenseArrayBase[IntegerType]:
    """How many operands each segment of an operation has."""
    return _integers(i32, sizes)


def tensor_type(element: Attribute, shape: Sequence[int]) -> TensorType[Attribute]:
    """The type of a tensor of static shape."""
    return _tensor_type(element, tuple(shape))


@lru_cache(maxsize=1024)
def _integers(kind: IntegerType, values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    made = DenseArrayBase.__new__(DenseArrayBase)  # without looking whether it is one
    object.__setattr__(made, "elt_type", kind)
    object.__setattr__(made, "data", BytesAttr(kind.pack(values)))
    return made


@lru_cache(maxsize=1024)
def _tensor_type(element: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    return TensorType(element, shape)
