"""Declarations of the parameters and weights of a layer, and their form in the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f32,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, base
from xdsl.utils.exceptions import VerifyException

from ncc.dialects import attributes
from ncc.dialects.attributes import SizeAttr
from ncc.dialects.shapes import Shape
from ncc.dialects.size import NeedsNumbers, is_open
from ncc.dialects.weights.weight import WeightAttr

T = TypeVar("T")
ParamValue: TypeAlias = (
    int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | WeightAttr
)


class LayerError(VerifyException):
    """A layer says what ncnn's loader or its run would refuse.

    `param` names the culprit where there is one, for the caret in the user's file.
    """

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class NotYet(LayerError):
    """A layer says what is right and what ncc cannot do. `how`: the way to go on, if any."""

    def __init__(self, message: str, how: str | None = None) -> None:
        super().__init__(message)
        self.how = how


class Param(property, Generic[T]):
    """One parameter of a layer: ncnn's id, ncnn's name (the attribute's), ncnn's default.

    A default that is a string names the parameter to follow when this one is absent. In the IR an
    absent parameter is an absent property. (A `property`, so that IRDL takes it for an accessor.)
    Made by `integer`, `real`, `integers`, `reals` and `string`.
    """

    def __init__(self, id: int, kind: str, default: T | str) -> None:
        super().__init__()
        self.id = id
        self.kind = kind  # one of PARAM_TYPES
        self.default = default
        self.follows = default if isinstance(default, str) and kind != "string" else None
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, op: None, owner: type | None = None) -> Param[T]: ...
    @overload
    def __get__(self, op: Any, owner: type | None = None) -> T: ...
    def __get__(self, op: Any, owner: type | None = None) -> Param[T] | T:
        if op is None:
            return self
        value: Any = self.default
        attribute = op.properties.get(self.name)
        if attribute is not None:
            value = from_attribute(attribute)
        elif self.follows is not None:
            value = getattr(op, self.follows)
        found: T = value
        return found


def integer(id: int, default: int | str = 0) -> Param[int]:
    """An integer."""
    return Param(id, "int", default)


def real(id: int, default: float | str = 0.0) -> Param[float]:
    """A float32."""
    return Param(id, "float", default)


def integers(id: int) -> Param[tuple[int, ...]]:
    """An array of integers; absent is empty."""
    return Param(id, "ints", ())


def reals(id: int) -> Param[tuple[float, ...]]:
    """An array of float32; absent is empty."""
    return Param(id, "floats", ())


def string(id: int) -> Param[str]:
    """A string; absent is empty."""
    return Param(id, "string", "")


def to_attribute(kind: str, value: ParamValue) -> Attribute:
    """A parameter's value as the property that holds it."""
    match kind:
        case "int":
            return _integer(_number(cast(int, value)))
        case "float":
            return FloatAttr(cast(float, value), f32)
        case "ints":
            return DenseArrayBase.from_list(i32, list(map(_number, cast(Sequence[int], value))))
        case "floats":
            return DenseArrayBase.from_list(f32, cast(Sequence[float], value))
        case "int64":
            return attributes.integer(cast(int, value))
        case "ints64":
            return attributes.integers(cast(Sequence[int], value))
        case "strings":
            return ArrayAttr(map(StringAttr, cast(Sequence[str], value)))
        case "tensor":
            return cast(WeightAttr, value)
        case _:
            return StringAttr(cast(str, value))


def _number(value: int) -> int:
    """The same. Raises `NeedsNumbers` for a size, which no .param can say."""
    if is_open(value):
        raise NeedsNumbers("a parameter of a layer is a number, and shapes decide this one")
    return value


@lru_cache(maxsize=1024)
def _integer(value: int) -> Attribute:
    return IntegerAttr(value, i32)


def from_attribute(attribute: Attribute) -> ParamValue:
    """The inverse of `to_attribute`."""
    if isinstance(attribute, (IntegerAttr, FloatAttr)):
        return attribute.value.data
    if isinstance(attribute, DenseArrayBase):
        return tuple(attribute.get_values())
    if isinstance(attribute, StringAttr | BytesAttr):
        return text_of(attribute)
    if isinstance(attribute, SizeAttr):
        return attribute.data
    if isinstance(attribute, ArrayAttr):
        return tuple(map(_item, attribute))
    if isinstance(attribute, WeightAttr):
        return attribute
    raise LayerError(f"a parameter cannot be {attribute}")


def _item(attribute: Attribute) -> Any:
    """A text, a number or a size of a list."""
    if isinstance(attribute, StringAttr | BytesAttr):
        return text_of(attribute)
    return attributes.number_of(attribute)


def text_of(attribute: Attribute) -> str:
    """The text of a string. xDSL prints what is not ASCII as escapes, and reads these as bytes."""
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, BytesAttr):
        return attribute.data.decode()
    raise LayerError(f"{attribute} is no text")


PARAM_TYPES: Mapping[str, AttrConstraint] = {
    "int": base(IntegerAttr),
    "float": base(FloatAttr),
    "ints": base(DenseArrayBase),
    "floats": base(DenseArrayBase),
    "string": base(StringAttr) | base(BytesAttr),
    "int64": base(IntegerAttr) | base(SizeAttr),
    "ints64": base(DenseArrayBase) | base(ArrayAttr),
    "strings": base(ArrayAttr),
    "tensor": base(WeightAttr),
}
"""The attribute of a parameter in the IR, by its kind."""


class Weight(property):
    """One weight of a layer, in the order ncnn loads them.

    `shape` computes its shape from the layer; None means that this layer has no such weight.
    `tagged` buffers start with a tag that tells their encoding, the others are raw fp32. `packed`
    ones are tagged, and bytes that hold numbers of another size. `around` tells what the values
    should lie around where somebody makes them up and their size matters.
    """

    def __init__(
        self,
        shape: Callable[[Any], Shape | None],
        *,
        tagged: bool = False,
        packed: bool = False,
        around: Callable[[Any], float] | None = None,
    ) -> None:
        super().__init__()
        self.shape = shape
        self.tagged = tagged or packed
        self.packed = packed
        self.around = around
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, op: None, owner: type | None = None) -> Weight: ...
    @overload
    def __get__(self, op: Any, owner: type | None = None) -> WeightAttr | None: ...
    def __get__(self, op: Any, owner: type | None = None) -> Weight | WeightAttr | None:
        return self if op is None else op.properties.get(self.name)


def held(weight: WeightAttr | None, name: str) -> WeightAttr:
    """A weight that the layer must have."""
    if weight is None:
        raise LayerError(f"weight '{name}' is missing")
    return weight
