"""One text for one value: equal in every process, different for different values.

Names of kernels and keys of the cache are made from it. So it must not depend on the order of a
hash table, and must not round a number: floats are in hexadecimal, and sets in the order of their
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from types import NoneType
from typing import Any

from xdsl.ir import Attribute, Block, Data, ParametrizedAttribute, Region, SSAValue

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
    return "\n".join(_lines(region.blocks, {}, ("doc",)))


def body_text(block: Block, outside: Mapping[SSAValue, object], unnamed: Collection[str]) -> str:
    """The same for one block. outside: what values from elsewhere are. unnamed: properties and
    attributes that do not count.
    """
    return "\n".join(_lines([block], dict(outside), unnamed))


def _lines(
    blocks: Iterable[Block], numbers: dict[SSAValue, object], unnamed: Collection[str]
) -> Iterator[str]:
    """Lines of blocks that lie side by side; each value gets a number."""

    def add(values: Sequence[SSAValue]) -> str:
        for value in values:
            numbers[value] = len(numbers)
        return _sequence_text([value.type for value in values])

    yield "{"
    for block in blocks:
        yield add(block.args)
        for op in ops_of(block):
            operands = _sequence_text([numbers[value] for value in operands_of(op)])
            said = [_named(held, unnamed) for held in (op.properties, op.attributes) if held]
            for inner in op.regions:
                yield from _lines(inner.blocks, numbers, unnamed)
            yield f"{op.name}{operands}{''.join(map(_mapping_text, said))}{add(op.results)}"
    yield "}"


def _named(held: Mapping[str, Attribute], unnamed: Collection[str]) -> Mapping[str, Attribute]:
    if held.keys().isdisjoint(unnamed):
        return held
    return {name: value for name, value in held.items() if name not in unnamed}


def digest(text: str) -> str:
    """32 hexadecimal digits that stand for a text."""
    return sha256(text.encode()).hexdigest()[:32]
