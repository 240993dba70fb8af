"""One text for one value: equal in every process, different for different values.

Names of kernels and keys of the cache are made from it. So it must not depend on the order of a
hash table, and must not round a number: floats are in hexadecimal, and sets in the order of their
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from types import NoneType
from typing import Any

from xdsl.ir import Attribute, Data, ParametrizedAttribute, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.attributes import memoized
from ncc.dialects.operation import operands_of, ops_of


def stable_text(value: object) -> str:
    """The text of a value made of numbers, strings, containers, records and attributes.

    Raises CompilerBug for anything else: a value without a text must not take part in a key.
    """
    kind = type(value)
    writer = _WRITERS.get(kind)
    if writer is None:
        writer = _WRITERS[kind] = _writer_of(kind)
    return writer(value)


_WRITERS: dict[type, Callable[[Any], str]] = {}
"""A function for each type so far, which makes the texts of its values."""


def _writer_of(kind: type) -> Callable[[Any], str]:
    if issubclass(kind, bool | int | str | bytes | NoneType):
        return _name if issubclass(kind, Enum) else repr
    if issubclass(kind, float):
        return float.hex
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return lambda value: f"{kind.__name__}{_sequence_text(value)}"
    if issubclass(kind, tuple | list):
        return _sequence_text
    if issubclass(kind, Attribute):
        return _attribute_text
    if issubclass(kind, Set):
        return lambda value: f"{{{','.join(sorted(map(stable_text, value)))}}}"
    if issubclass(kind, Mapping):
        return _mapping_text
    if issubclass(kind, Enum):
        return lambda value: f"{kind.__name__}.{value.name}"
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
        return lambda value: (
            f"{kind.__name__}({','.join([stable_text(getattr(value, name)) for name in names])})"
        )
    raise CompilerBug(f"a {kind.__name__} in the key of a kernel")


def _name(value: Enum) -> str:
    return value.name


def _sequence_text(value: Sequence[object]) -> str:
    # Most are numbers, and there are many.
    return f"({','.join([repr(v) if type(v) is int else stable_text(v) for v in value])})"


def _mapping_text(value: Mapping[Any, Any]) -> str:
    items = (f"{stable_text(key)}:{stable_text(held)}" for key, held in value.items())
    return f"{{{','.join(sorted(items))}}}"


@memoized
def _attribute_text(attribute: Attribute) -> str:
    if isinstance(attribute, Data):
        return f"{attribute.name}<{stable_text(attribute.data)}>"
    if isinstance(attribute, ParametrizedAttribute):
        return f"{attribute.name}<{','.join(map(stable_text, attribute.parameters))}>"
    raise CompilerBug(f"the attribute {attribute} in the key of a kernel")


def region_text(region: Region) -> str:
    """The text of nested operations: equal for equal regions, whatever layers they are of.

    It is made much faster than the text that xDSL prints, and is only a key.
    """
    numbers: dict[SSAValue, int] = {}
    parts: list[str] = []

    def add(values: Sequence[SSAValue]) -> str:
        for value in values:
            numbers[value] = len(numbers)
        return _sequence_text([value.type for value in values])

    def walk(region: Region) -> None:
        parts.append("{")
        for block in region.blocks:
            parts.append(add(block.args))
            for op in ops_of(block):
                operands = _sequence_text([numbers[value] for value in operands_of(op)])
                held = [_without_layer(one) for one in (op.properties, op.attributes) if one]
                said = map(_mapping_text, held)
                for inner in op.regions:
                    walk(inner)
                parts.append(f"{op.name}{operands}{''.join(said)}{add(op.results)}")
        parts.append("}")

    walk(region)
    return "\n".join(parts)


def _without_layer(held: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    return {name: value for name, value in held.items() if name != "doc"} if "doc" in held else held


def digest(text: str) -> str:
    """32 hexadecimal digits that stand for a text."""
    return sha256(text.encode()).hexdigest()[:32]
