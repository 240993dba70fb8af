"""What sizes are sums and products of: extents of inputs, quotients, extrema, sizes of tiles.

Each but an extent is made of forms, its `parts`.
"""

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
    def parts(self) -> tuple[Form, ...]:
        return ()

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

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.dividend, self.divisor

    @cached_property
    def text(self) -> str:
        sides = self.dividend.text, self.divisor.text
        return " // ".join(f"({side})" if " " in side or "-" in side else side for side in sides)

    @cached_property
    def hint(self) -> int:
        return self.dividend.hint // self.divisor.hint

    def value(self, of: Mapping[str, int]) -> int:
        divisor = self.divisor.value(of)
        return self.dividend.value(of) // divisor if divisor else 0


@dataclass(frozen=True)
class Extremum:
    """The least or the largest of some forms. name: `min` or `max`.

    own_hint: its hint, where that is not its value for the hints of the inputs.
    """

    name: str
    forms: tuple[Form, ...]
    own_hint: int | None = None

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.forms

    @cached_property
    def text(self) -> str:
        own = [] if self.own_hint is None else [f"hint={self.own_hint}"]
        return f"{self.name}({', '.join([*map(str, self.forms), *own])})"

    @cached_property
    def hint(self) -> int:
        if self.own_hint is not None:
            return self.own_hint
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

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.full, self.last

    @cached_property
    def text(self) -> str:
        return f"tile({self.full}, {self.last})"

    @property
    def hint(self) -> int:
        return self.full.hint

    def value(self, of: Mapping[str, int]) -> int:
        return self.full.value(of)


Atom: TypeAlias = Symbol | Quotient | Extremum | TileSize
