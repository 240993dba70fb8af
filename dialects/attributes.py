"""Attributes are immutable: common ones are made once, and cache values computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TypeVar

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

AttributeT = TypeVar("AttributeT", bound=Attribute)
ResultT = TypeVar("ResultT")


_VALUES = f"{__name__}.values"


def memoized(function: Callable[[AttributeT], ResultT]) -> Callable[[AttributeT], ResultT]:
    """`function` with results cached in the attributes: a table would hash all their parts."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def look_up(attribute: AttributeT) -> ResultT:
        held = attribute.__dict__
        if name not in held:
            held[name] = function(attribute)
        found: ResultT = held[name]
        return found

    return look_up


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
    return _integers(tuple(values))


@lru_cache(maxsize=1024)
def segments(*sizes: int) -> DenseArrayBase[IntegerType]:
    """How many operands each segment of an operation has, as i32."""
    return _array(i32, sizes)


def values_of(array: DenseArrayBase[IntegerType]) -> Sequence[int]:
    """The numbers of a list: those that it was made of here, or else those of its bytes."""
    held: Sequence[int] | None = vars(array).get(_VALUES)
    return array.get_values() if held is None else held


def tensor_type(element: Attribute, shape: Sequence[int]) -> TensorType[Attribute]:
    """The type of a tensor of static shape."""
    return _tensor_type(element, tuple(shape))


@lru_cache(maxsize=1024)
def _integers(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return _array(i64, values)


def _array(kind: IntegerType, values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    made = DenseArrayBase.__new__(DenseArrayBase)  # without looking whether it is one
    object.__setattr__(made, "elt_type", kind)
    object.__setattr__(made, "data", BytesAttr(kind.pack(values)))
    vars(made)[_VALUES] = values
    return made


@lru_cache(maxsize=1024)
def _tensor_type(element: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    return TensorType(element, shape)
