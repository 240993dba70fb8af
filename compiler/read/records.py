"""The content of a .param file, layer by layer, before any schema checks it.

Every name and every value has its position, so that later checks (of the schema, the weights, the
shapes) can point at its characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from ncc.compiler.diagnostics import ModelError, Problem

MOST_PROBLEMS = 20
"""Reading stops after so many problems: a file with more is not a model."""

Number: TypeAlias = int | float
Scalar: TypeAlias = int | float | str


@dataclass(frozen=True, slots=True)
class Location:
    """A position: line and column (from 1) in a text, or byte offset in a binary."""

    line: int | None = None
    column: int | None = None
    width: int = 1
    offset: int | None = None


class Name(NamedTuple):
    """A layer type, or the name of a layer or blob."""

    text: str
    place: Location

    def __str__(self) -> str:
        return self.text


class Spelling(StrEnum):
    """The notation of a value. The schema of the layer decides its meaning."""

    INT = "integer"
    FLOAT = "float"
    STRING = "string"
    WORD = "word"  # of a .param.bin: the bits of an integer or of a float


class RawValue(NamedTuple):
    """A parameter's value as it is spelled.

    A scalar has one value. Words are kept as signed integers.
    """

    spelling: Spelling
    values: tuple[Scalar, ...]
    place: Location
    is_array: bool = False

    def __str__(self) -> str:
        if self.spelling is Spelling.STRING:
            return repr(self.values[0])
        if not self.is_array:
            return f"the {self.spelling} {self.values[0]}"
        few = ",".join(map(str, self.values[:4])) + (",..." if len(self.values) > 4 else "")
        return f"the array {few}" if self.values else "an empty array"


class LayerRecord(NamedTuple):
    """One layer of the file.

    `params` is keyed by ncnn's id. `words` are the `id=value` of a text as they stand there,
    without shape hints.
    """

    type: Name
    name: Name
    inputs: tuple[Name, ...]
    outputs: tuple[Name, ...]
    params: Mapping[int, RawValue]
    words: tuple[str, ...] = ()

    @property
    def position(self) -> Location:
        return self.type.place

    def __str__(self) -> str:
        return f"{self.type} {self.name.text!r}"


@dataclass(frozen=True)
class Source:
    """A file and, if it is text, its lines: what a diagnostic quotes from."""

    path: str
    lines: tuple[str, ...] = field(default=(), repr=False)

    def problem(
        self,
        message: str,
        place: Location | None = None,
        *,
        expected: str | None = None,
        found: str | None = None,
        suggestion: str | None = None,
        how: str | None = None,
    ) -> Problem:
        """A problem at a place of this file."""
        place = place or Location()
        if place.offset is not None:
            message += f" (at byte {place.offset})"
        quoted = self.lines[place.line - 1] if place.line and self.lines else None
        return Problem(
            message,
            self.path,
            place.line,
            place.column,
            quoted,
            expected=expected,
            found=found,
            suggestion=suggestion,
            width=place.width,
            how=how,
        )

    def error(self, message: str, place: Location | None = None, **said: str | None) -> ModelError:
        """The same as an error to raise."""
        return ModelError(self.problem(message, place, **said))

    def warning(self, message: str, place: Location | None = None) -> str:
        """One line about something that ncnn ignores."""
        line = f":{place.line}" if place is not None and place.line is not None else ""
        return f"{self.path}{line}: warning: {message}"


@dataclass(frozen=True)
class Graph:
    """A whole .param file: its layers in file order, and what ncnn silently ignores in it.

    problems: what is wrong in its text; layers that could not be read for it are left out.
    """

    source: Source
    layers: tuple[LayerRecord, ...]
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def path(self) -> str:
        return self.source.path
