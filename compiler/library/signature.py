"""The names and types of a network in C.

Names of blobs may be any text: they become identifiers, which differ from each other and from all
words of C and C++.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ncc.runtime.artifact import DTYPES, DYNAMIC_HEADER, Artifact, Binding, counters
from ncc.runtime.errors import InputError

FUNCTIONS = (
    "supported", "create", "destroy", "run", "check", "bytes", "init", "work", "quit",
)  # fmt: skip
"""The functions of a library, without the name of the network in front."""

TYPES = {
    "float32": "float",
    "float16": "uint16_t",
    "int64": "int64_t",
    "int32": "int32_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
}
"""The types of elements; of float16 and bfloat16 the type of their bits."""

_TAKEN = {*FUNCTIONS, "info", "end", "net", "size_t", *TYPES.values()}
"""What other things are called: functions, arguments, types."""

_WORDS = set(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await "
    "co_return co_yield compl concept const const_cast consteval constexpr constinit continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern false "
    "float for friend goto if inline int long main mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq errno linux NULL unix ncc".split()
)
"""What is no name in C or in C++, or is the name of a macro or of the namespace of ncc."""


def identifier(text: str) -> str:
    """An identifier like any text: letters, digits and underscores that do not begin with a digit.

    Names with two underscores, or with one in front, belong to the C library.
    """
    words = "_".join(re.findall(r"[A-Za-z0-9]+", text))
    if not words or words[0].isdigit():
        words = f"n{words}"
    return f"{words}_" if words in _WORDS else words


def name_of(text: str) -> str:
    """The name of a network, as a user writes it.

    Raises InputError where it is no identifier of C.
    """
    if identifier(text) != text:
        wanted = f"an identifier of C, like {identifier(text)}"
        raise InputError("no such name of a library", None, wanted, repr(text))
    return text


def distinct(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Identifiers like the names, each another one, in upper case as well."""
    used, found = {one.upper() for one in taken}, []
    for name in map(identifier, names):
        other, number = name, 1
        while other.upper() in used:
            number += 1
            other = f"{name}_{number}"
        used.add(other.upper())
        found.append(other)
    return found


@dataclass(frozen=True)
class Argument:
    """An input or an output as an argument of the run."""

    name: str
    binding: Binding
    counters: Sequence[str]
    """The names of all counters."""

    @property
    def type(self) -> str:
        """The type of its elements."""
        return TYPES[self.binding.dtype]

    @property
    def elements(self) -> str:
        """The number of its elements: a number, or a product with what it has grown by."""
        count = (self.binding.nbytes - DYNAMIC_HEADER * self.binding.dynamic) // DTYPES[
            self.binding.dtype
        ]
        if self.binding.axis < 0:
            return str(count)
        others = 1
        for axis, extent in enumerate(self.binding.shape):
            others *= extent if axis != self.binding.axis else 1
        more = self.binding.shape[self.binding.axis]
        return f"({others} * (size_t)({more} + ({self.counter})))"

    @property
    def counter(self) -> str:
        """The name of the counter that it grows by; empty where it does not."""
        return self.counters[self.binding.counter] if self.binding.axis >= 0 else ""


@dataclass(frozen=True)
class Signature:
    """The names of one library. name: an identifier of C."""

    name: str
    artifact: Artifact

    @property
    def upper(self) -> str:
        """The name in front of constants."""
        return self.name.upper()

    @cached_property
    def _arguments(self) -> list[str]:
        bindings = (*self.artifact.inputs, *self.artifact.outputs)
        return distinct([binding.name for binding in bindings], _TAKEN)

    @cached_property
    def counters(self) -> list[str]:
        """The names of the arguments that say what inputs have grown by."""
        count = counters(self.artifact.inputs)
        names = ["grown"] if count == 1 else [f"grown{n}" for n in range(count)]
        return distinct(names, {*_TAKEN, *self._arguments})

    @property
    def inputs(self) -> list[Argument]:
        """The inputs, in order."""
        pairs = zip(self._arguments, self.artifact.inputs, strict=False)
        return [Argument(name, binding, self.counters) for name, binding in pairs]

    @property
    def outputs(self) -> list[Argument]:
        """The outputs, in order."""
        names = self._arguments[len(self.artifact.inputs) :]
        pairs = zip(names, self.artifact.outputs, strict=True)
        return [Argument(name, binding, self.counters) for name, binding in pairs]
