"""The names and types of a network in C.

Names of blobs may be any text: they become identifiers, which differ from each other and from all
words of C and C++.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from ncc.compiler.library.limits import limits, twins
from ncc.compiler.library.names_of_c import is_taken
from ncc.runtime.artifact import DTYPES, DYNAMIC_HEADER, Artifact, Binding
from ncc.runtime.errors import InputError
from ncc.runtime.extents import OPEN
from ncc.runtime.pixel_form import TYPE as PIXELS

FUNCTIONS = (
    "supported", "create", "destroy", "run", "check", "bytes", "init", "work", "quit",
)  # fmt: skip
"""The functions of a library, without the name of the network in front."""

INFER_SHAPES = "infer_shapes"
"""Another function, if the shape of an output is open."""

_OF_A_LIBRARY = (*FUNCTIONS, INFER_SHAPES, "info", "sizes", "shapes", "end")
"""What stands behind the name of a library in names of the headers."""

TYPES = {
    "float32": "float",
    "float16": "uint16_t",
    "float64": "double",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint64": "uint64_t",
    "uint32": "uint32_t",
    "uint16": "uint16_t",
    "uint8": "uint8_t",
    "bool": "uint8_t",
}
"""The types of elements; of float16 and bfloat16 the type of their bits; of bool 0 and 1."""

_TAKEN = {*FUNCTIONS, "info", "end", "net", "size_t", *TYPES.values()}
"""What other things are called: functions, arguments, types."""

_TAKEN_BY_SIZES = {INFER_SHAPES, "sizes", "shapes"}
"""The same where shapes are open."""

_AXES = ("c", "d", "h", "w")
"""What ncnn calls the last axes of a blob: the last one w, the one before it h; of three the first
one c.
"""

_WORDS = set(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await "
    "co_return co_yield compl concept const const_cast consteval constexpr constinit continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern false "
    "float for friend goto if inline int long main mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq complex errno imaginary I INFINITY linux NAN "
    "noreturn EOF NULL unix ncc std".split()
)
"""What is no name in C or in C++, or is the name of a macro or of a namespace."""


def identifier(text: str) -> str:
    """An identifier like any text: letters, digits and underscores that do not begin with a digit.

    Names with two underscores, or with one in front, belong to the C library.
    """
    words = _joined(text)
    return f"{words}_" if words in _WORDS else words


def _joined(text: str) -> str:
    words = "_".join(re.findall(r"[A-Za-z0-9]+", text))
    return words if words and not words[0].isdigit() else f"n{words}"


def name_like(text: str) -> str:
    """The name of a library, like any text: an identifier that is not taken, nor any of the names
    that begin with it.
    """
    words = _joined(text)
    return next(filter(_is_free, (words, f"{words}_net", f"net_{words}")))


def _is_free(name: str) -> bool:
    names = {name, *(f"{name}_{one}" for one in _OF_A_LIBRARY)}
    return names.isdisjoint(_WORDS) and not any(map(is_taken, names))


def name_of(text: str) -> str:
    """The name of a library, as a user writes it.

    Raises InputError where it is no identifier of C, or taken.
    """
    if name_like(text) != text:
        wanted = f"an identifier that C, C++ and POSIX leave free, like {name_like(text)}"
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


COLOURS = (3, 4)
"""The numbers of channels of pixels that are not gray."""


def axis_names(binding: Binding) -> Sequence[str]:
    """What the axes of a blob are called: c, h, w; other numbers where there are more than four.
    Pixels have their channels last.
    """
    rank = len(binding.shape)
    if rank == 3 and binding.dtype == PIXELS and binding.shape[-1] in COLOURS:
        return ("h", "w", "c")
    if rank > len(_AXES):
        return [str(axis) for axis in range(rank)]
    return _AXES if rank == len(_AXES) else ("c", "h", "w")[-rank:]


@dataclass(frozen=True)
class OpenExtent:
    """An extent that a call tells, in a field of `sizes`, and what it may be."""

    name: str
    input: int
    axis: int
    least: int
    most: int


@dataclass(frozen=True)
class Argument:
    """An input or an output as an argument of the run."""

    name: str
    binding: Binding
    extents: Sequence[str] = ()
    """The extents that are open, in C, if there are some."""

    @property
    def type(self) -> str:
        """The type of its elements."""
        return TYPES[self.binding.dtype]

    @property
    def elements(self) -> str:
        """The number of its elements: a number, or a product with what a call tells."""
        if self.binding.is_open:
            known = prod(extent for extent in self.binding.shape if extent != OPEN)
            return f"({' * '.join([str(known), *(f'(size_t){one}' for one in self.extents)])})"
        size = self.binding.nbytes - DYNAMIC_HEADER * self.binding.dynamic
        return str(size // DTYPES[self.binding.dtype])


@dataclass(frozen=True)
class Signature:
    """The names of one library. name: an identifier of C."""

    name: str
    artifact: Artifact

    @property
    def upper(self) -> str:
        """The name in front of constants."""
        return self.name.upper()

    @property
    def is_open(self) -> bool:
        """Whether calls decide an extent."""
        return self.artifact.sizes is not None

    @property
    def functions(self) -> Sequence[str]:
        """The functions of the library, without the name of the network in front."""
        is_open = any(binding.is_open for binding in self.artifact.outputs)
        return (*FUNCTIONS, INFER_SHAPES) if is_open else FUNCTIONS

    @cached_property
    def _taken(self) -> set[str]:
        return _TAKEN | _TAKEN_BY_SIZES if self.is_open else _TAKEN

    @cached_property
    def _arguments(self) -> list[str]:
        bindings = (*self.artifact.inputs, *self.artifact.outputs)
        return distinct([binding.name for binding in bindings], self._taken)

    @cached_property
    def open_extents(self) -> list[OpenExtent]:
        """The extents that a call tells, in order."""
        if not self.is_open:
            return []
        places = limits(self.artifact)
        for twin in twins(self.artifact):
            del places[twin]
        sizes = self.artifact.sizes
        told = {} if sizes is None else {one[:2]: one.name for one in sizes.program.extents}
        letters = dict(enumerate(map(axis_names, self.artifact.inputs)))
        names = [
            told.get((place, axis), f"{self._arguments[place]}_{letters[place][axis]}")
            for place, axis in places
        ]
        pairs = zip(distinct(names, ()), places.items(), strict=True)
        return [OpenExtent(name, *place, *bounds) for name, (place, bounds) in pairs]

    @property
    def inputs(self) -> list[Argument]:
        """The inputs, in order."""
        pairs = zip(self._arguments, self.artifact.inputs, strict=False)
        return [
            Argument(name, binding, self._told(place))
            for place, (name, binding) in enumerate(pairs)
        ]

    def _told(self, place: int) -> list[str]:
        """The open extents of an input, as fields of what `sizes` points to."""
        names = {(one.input, one.axis): one.name for one in self.open_extents}
        axes = [a for a, extent in enumerate(self.artifact.inputs[place].shape) if extent == OPEN]
        same = twins(self.artifact)
        told = (same.get((place, axis), (place, axis)) for axis in axes)
        return [f"(sizes)->{names[one]}" for one in told]

    @property
    def outputs(self) -> list[Argument]:
        """The outputs, in order."""
        names = self._arguments[len(self.artifact.inputs) :]
        pairs = zip(names, self.artifact.outputs, strict=True)
        return [Argument(name, binding, _inferred(name, binding)) for name, binding in pairs]


def _inferred(name: str, output: Binding) -> list[str]:
    """The open extents of an output, as elements of a field of what `shapes` points to."""
    axes = enumerate(output.shape)
    return [f"(shapes)->{name}[{axis}]" for axis, extent in axes if extent == OPEN]
