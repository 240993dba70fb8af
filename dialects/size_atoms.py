"""What sizes are sums and products of: extents of inputs, quotients, extrema, sizes of tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ncc.dialects.size_form import Form


@dataclass(frozen=True)
class Symbol:
    """An extent of an input: the hint that decisions are taken for, and its range.

    most: None where there is no limit.
    """

    name: str
    hint: int
    least: int = 1
    most: int | None = None

    @property
    def text(self) -> str:
        return self.name

    def value(self, of: Mapping[str, int]) -> int:
        return of[self.name]


@dataclass(frozen=True)
class Quotient:
    """dividend / divisor, rounded down."""

    dividend: Form
    divisor: Form

    @cached_property
    def text(self) -> str:
        sides = self.dividend.text, self.divisor.text
        return " // ".join(f"({side})" if " " in side else side for side in sides)

    @cached_property
    def hint(self) -> int:
        return self.dividend.hint // self.divisor.hint

    def value(self, of: Mapping[str, int]) -> int:
        return self.dividend.value(of) // self.divisor.value(of)


@dataclass(frozen=True)
class Extremum:
    """The least or the largest of some forms. name: `min` or `max`.

    about: the number that decisions are taken for, where that is not its value for the hints.
    """

    name: str
    forms: tuple[Form, ...]
    about: int | None = None

    @cached_property
    def text(self) -> str:
        about = [] if self.about is None else [f"about={self.about}"]
        return f"{self.name}({', '.join([*map(str, self.forms), *about])})"

    @cached_property
    def hint(self) -> int:
        if self.about is not None:
            return self.about
        return EXTREMA[self.name](form.hint for form in self.forms)

    def value(self, of: Mapping[str, int]) -> int:
        return EXTREMA[self.name](form.value(of) for form in self.forms)


EXTREMA = {"min": min, "max": max}


@dataclass(frozen=True)
class TileSize:
    """How much of a range an iteration of a loop over tiles does: `full`, but in the last iteration
    `last`, which is neither negative nor more.
    """

    full: Form
    last: Form

    @cached_property
    def text(self) -> str:
        return f"tile({self.full}, {self.last})"

    @property
    def hint(self) -> int:
        return self.full.hint

    def value(self, of: Mapping[str, int]) -> int:
        return self.full.value(of)


Atom: TypeAlias = Symbol | Quotient | Extremum | TileSize
