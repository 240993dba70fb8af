"""One text for one value: equal in every process, different for different values.

Kernels are named and kept by it, so nothing may depend on the order of a hash table or round a
number: floats are written in hexadecimal, sets in the order of their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from hashlib import sha256

from xdsl.ir import Attribute, Data, ParametrizedAttribute

from ncc.compiler.diagnostics import CompilerBug


def stable_text(value: object) -> str:
    """The text of a value made of numbers, strings, containers, dataclasses and attributes.

    Raises CompilerBug for anything else: a value without a text must not take part in a key.
    """
    if value is None or isinstance(value, bool | int | str | bytes):
        return value.name if isinstance(value, Enum) else repr(value)
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple | list):
        return f"({','.join(map(stable_text, value))})"
    if isinstance(value, Attribute):
        return _attribute_text(value)
    if isinstance(value, Set):
        return f"{{{','.join(sorted(map(stable_text, value)))}}}"
    if isinstance(value, Mapping):
        items = (f"{stable_text(key)}:{stable_text(held)}" for key, held in value.items())
        return f"{{{','.join(sorted(items))}}}"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if is_dataclass(value):
        held = ",".join(stable_text(getattr(value, field.name)) for field in fields(value))
        return f"{type(value).__name__}({held})"
    raise CompilerBug(f"a {type(value).__name__} in the key of a kernel")


@lru_cache(maxsize=4096)
def _attribute_text(attribute: Attribute) -> str:
    if isinstance(attribute, Data):
        return f"{attribute.name}<{stable_text(attribute.data)}>"
    if isinstance(attribute, ParametrizedAttribute):
        return f"{attribute.name}<{','.join(map(stable_text, attribute.parameters))}>"
    raise CompilerBug(f"the attribute {attribute} in the key of a kernel")


def digest(text: str) -> str:
    """32 hexadecimal digits that stand for a text."""
    return sha256(text.encode()).hexdigest()[:32]
