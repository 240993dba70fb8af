"""Declarations of the attributes of ONNX operators, with ONNX's names and defaults.

A default of None means that the operator does something of its own where the attribute is absent;
`required` ones have no default at all.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from ncc.dialects.ncnn.param import LayerError, Param
from ncc.dialects.weights.weight import WeightAttr

__all__ = ["integer", "integers", "real", "reals", "required", "string", "strings", "tensor"]

T = TypeVar("T")


@overload
def integer(default: int) -> Param[int]: ...
@overload
def integer(default: None = None) -> Param[int | None]: ...
def integer(default: int | None = None) -> Any:
    """An integer of 64 bits."""
    return Param(-1, "int64", default)


@overload
def real(default: float) -> Param[float]: ...
@overload
def real(default: None = None) -> Param[float | None]: ...
def real(default: float | None = None) -> Any:
    """A float32."""
    return Param(-1, "float", default)


@overload
def string(default: str) -> Param[str]: ...
@overload
def string(default: None = None) -> Param[str | None]: ...
def string(default: str | None = None) -> Any:
    """A text."""
    return Param(-1, "string", default)


@overload
def integers(default: tuple[int, ...]) -> Param[tuple[int, ...]]: ...
@overload
def integers(default: None = None) -> Param[tuple[int, ...] | None]: ...
def integers(default: tuple[int, ...] | None = None) -> Any:
    """Integers of 64 bits."""
    return Param(-1, "ints64", default)


@overload
def reals(default: tuple[float, ...]) -> Param[tuple[float, ...]]: ...
@overload
def reals(default: None = None) -> Param[tuple[float, ...] | None]: ...
def reals(default: tuple[float, ...] | None = None) -> Any:
    """Numbers of float32."""
    return Param(-1, "floats", default)


def strings(default: tuple[str, ...] | None = None) -> Param[tuple[str, ...] | None]:
    """Texts."""
    return Param(-1, "strings", default)


def tensor() -> Param[WeightAttr | None]:
    """A constant."""
    return Param(-1, "tensor", None)


def required(value: T | None, name: str) -> T:
    """The value of an attribute that has to be there."""
    if value is None:
        raise LayerError(f"the attribute {name!r} is missing", name)
    return value
