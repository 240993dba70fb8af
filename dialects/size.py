"""Extents that a compilation leaves open: integers that depend on the shapes of the inputs.

    h = Size.symbol("h", hint=224)
    (h - 3) // 2 + 1                  is (h - 1) // 2, and 111 as a number

A `Size` is an integer that knows its expression (`size_form.py`) and its hint: the value for one
size of the inputs, for which decisions are taken. Arithmetic gives sizes again, and a number where
the sizes cancel. Two sizes are equal if their expressions are. No number equals a size, not even 0:
so a size is true.

A comparison decides for all inputs. If its answer is not the same for all of them, it is the one
for the hint, and `assuming` notes it: the code is right for inputs that meet all notes. A decision
about costs compares hints, and assumes nothing: so does a function under `by_hint`, and
`hint(size)` is a number.

Operators that are not exact raise `NeedsNumbers`, but for those that give floats: costs are floats,
and see the hint. So do Python's own functions (`range`, for one): what they make is for it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, isinf
from typing import NoReturn, Self

from ncc.dialects.size_atoms import Extremum, Symbol, TileSize
from ncc.dialects.size_form import ZERO, Form, is_at_least, least, of_tile


class Size(int):
    """An integer that depends on the shapes of the inputs."""

    form: Form

    @staticmethod
    def of(form: Form) -> int:
        """The integer of a form: a number where it is constant."""
        if form.constant is not None:
            return form.constant
        size = int.__new__(Size, form.hint)
        size.form = form
        return size

    @staticmethod
    def symbol(name: str, hint: int, least: int = 1, most: int | None = None) -> int:
        """An extent of an input."""
        return Size.of(Form.atom(Symbol(name, hint, least, most)))

    def __array_ufunc__(self, *_: object, **__: object) -> NoReturn:
        raise NeedsNumbers("numpy computes with numbers, and its inputs decide this one")

    def _needs_number(self, *_: object) -> NoReturn:
        raise NeedsNumbers(f"a number is needed in place of {self.form}")

    __int__ = __round__ = __pow__ = __rpow__ = __invert__ = _needs_number
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _needs_number
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _needs_number
    bit_length = bit_count = as_integer_ratio = _needs_number

    def __add__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return Size.of(self.form.plus(form_of(other)))

    __radd__ = __add__

    def __sub__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return Size.of(self.form.plus(form_of(other), -1))

    def __rsub__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return Size.of(form_of(other).plus(self.form, -1))

    def __neg__(self) -> int:
        return Size.of(ZERO.plus(self.form, -1))

    def __pos__(self) -> int:
        return self

    __trunc__ = __floor__ = __ceil__ = conjugate = __pos__
    real = numerator = property(__pos__)

    def __abs__(self) -> int:
        return self if self >= 0 else -self

    def __mul__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return Size.of(self.form.times(form_of(other)))

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return Size.of(self.form.over(form_of(other)))

    def __rfloordiv__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return Size.of(form_of(other).over(self.form))

    def __mod__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return self - self // other * other

    def __rmod__(self, other: int) -> int:
        if not isinstance(other, int):
            return NotImplemented
        return other - other // self * self

    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return other // self, other % self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.form == other.form

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.form)

    def __lt__(self, other: float) -> bool:
        return _is_below(self, other)

    def __le__(self, other: float) -> bool:
        return not _is_below(other, self)

    def __gt__(self, other: float) -> bool:
        return _is_below(other, self)

    def __ge__(self, other: float) -> bool:
        return not _is_below(self, other)

    def __bool__(self) -> bool:
        return hint(self) != 0 if _is_guessing.get() else True

    def __repr__(self) -> str:
        return f"[{self.form}]"

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return str(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Size.of, (self.form,)


class NeedsNumbers(NotImplementedError):
    """What is asked for cannot be done with sizes: it needs the extents as numbers."""


def form_of(value: int) -> Form:
    """The expression of a size, or of a number."""
    return value.form if isinstance(value, Size) else Form.number(int(value))


def symbol_in(extent: int) -> Symbol | None:
    """The extent of an input that a size is, and nothing else."""
    match form_of(extent).terms:
        case (((Symbol() as symbol,), 1),):
            return symbol
    return None


def begun(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape in a first run: extents are 0 that may be 0, as the rows of a cache."""
    symbols = {symbol for extent in shape for symbol in form_of(extent).symbols}
    none = {symbol.name: ZERO for symbol in symbols if symbol.least == 0}
    return tuple(Size.of(form_of(extent).with_values(none)) for extent in shape)


def hint(value: int) -> int:
    """The number for the hint, for decisions about what costs less."""
    return int.__int__(value)


def is_open(*values: int) -> bool:
    """Whether some of these are sizes."""
    return any(isinstance(value, Size) for value in values)


def smallest(*values: int) -> int:
    """The least of some numbers, for all inputs."""
    return _extremum("min", values) if is_open(*values) else min(values)


def largest(*values: int, hint: int | None = None) -> int:
    """The largest of some numbers, for all inputs.

    hint: another hint than the value for the hints of the inputs. A part that these images do not
    have at all is made for its size in images that have it.
    """
    return _extremum("max", values, hint) if is_open(*values) else max(values)


@lru_cache(maxsize=1 << 16)
def _extremum(name: str, values: tuple[int, ...], own_hint: int | None = None) -> int:
    """Without those that another one is never beyond."""
    forms = list(dict.fromkeys(map(form_of, values)))
    sign = 1 if name == "max" else -1
    kept: list[Form] = []
    for place, form in enumerate(forms):
        others = [*kept, *forms[place + 1 :]]
        if not any(is_at_least(ZERO.plus(other.plus(form, -1), sign), 0) for other in others):
            kept.append(form)
    if len(kept) == 1:
        return Size.of(kept[0])
    return Size.of(Form.atom(Extremum(name, tuple(kept), own_hint)))


def tile_size(full: int, last: int) -> int:
    """What an iteration of a loop over tiles does: `full`, but in the last one `last`, which is
    never more.
    """
    one, other = form_of(full), form_of(last)
    return full if one == other else Size.of(Form.atom(TileSize(one, other)))


def in_full_tile(value: int) -> int:
    """The value in all iterations but the last, where it depends on the tile (`tile_size`)."""
    return Size.of(of_tile(value.form, False)) if isinstance(value, Size) else value


def in_last_tile(value: int) -> int:
    """The value in the last iteration."""
    return Size.of(of_tile(value.form, True)) if isinstance(value, Size) else value


def in_all_tiles(value: int, count: int) -> int:
    """The sum of the values in so many iterations."""
    return in_full_tile(value) * (count - 1) + in_last_tile(value)


def is_of_tile(*values: int) -> bool:
    """Whether some of these may differ in the last iteration."""
    return any(isinstance(value, Size) and value.form.is_of_tile for value in values)


# --- what is assumed ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assumption:
    """What was taken for granted: that a form is 0, is not 0, or is not negative."""

    form: Form
    relation: str

    def holds(self, value: int) -> bool:
        """Whether it holds where the form has this value."""
        return {"==": value == 0, "!=": value != 0, ">=": value >= 0}[self.relation]

    def __str__(self) -> str:
        """As a comparison: what is added on the left, what is subtracted on the right."""
        terms = dict(self.form.terms)
        left = Form.of({part: n for part, n in terms.items() if n > 0})
        right = Form.of({part: -n for part, n in terms.items() if n < 0})
        if left.constant is None:
            return f"{left} {self.relation} {right}"
        return f"{right} {self.relation.replace('>', '<')} {left}"


_assumed: ContextVar[dict[Assumption, None] | None] = ContextVar("assumed", default=None)
_is_guessing: ContextVar[bool] = ContextVar("is_guessing", default=False)


@contextmanager
def assuming(kept: bool = True) -> Iterator[dict[Assumption, None]]:
    """All that comparisons of sizes inside of the block take for granted, in order.

    kept: whether a block around this one assumes it, too.
    """
    found: dict[Assumption, None] = {}
    token = _assumed.set(found)
    try:
        yield found
    finally:
        _assumed.reset(token)
        around = _assumed.get()
        if kept and around is not None:
            around.update(found)


def assume_all(assumed: Iterable[Assumption]) -> None:
    """Take for granted what was assumed elsewhere."""
    found = _assumed.get()
    if found is not None:
        found.update(dict.fromkeys(assumed))


@contextmanager
def by_hint() -> Iterator[None]:
    """Inside of the block, or of a function with this decorator, comparisons answer for the hint
    and assume nothing: its decisions are right for all inputs, and good for some.

    (`==` asks there, too, whether sizes are the same expression.)
    """
    token = _is_guessing.set(True)
    try:
        yield
    finally:
        _is_guessing.reset(token)


def _assume(form: Form, relation: str) -> None:
    found = _assumed.get()
    if found is not None:
        for is_last in (False, True):
            found.setdefault(Assumption(of_tile(form, is_last), relation))


def _is_below(a: float, b: float) -> bool:
    """Whether a < b, where one of them is a size."""
    if isinstance(a, float):
        if isinf(a):
            return a < 0
        a = floor(a)
    if isinstance(b, float):
        if isinf(b):
            return b > 0
        b = ceil(b)
    if _is_guessing.get():
        return hint(a) < hint(b)
    difference = form_of(b).plus(form_of(a), -1)
    if is_at_least(difference, 1):
        return True
    back = ZERO.plus(difference, -1)
    if is_at_least(back, 0):
        return False
    found = difference.hint > 0
    _assume(difference.plus(Form.number(1), -1) if found else back, ">=")
    return found


def most_of(value: int) -> int | None:
    """A number that a size is never above; None if none is found."""
    if not is_open(value):
        return value
    low = least(ZERO.plus(form_of(value), -1))
    return None if low is None else floor(-low)


def hint_of_inputs(value: int) -> int:
    """The largest hint of the extents of inputs that a size depends on; a number is its own."""
    return max((one.hint for one in form_of(value).symbols), default=value)


def is_never_below(a: int, b: int) -> bool:
    """Whether a >= b for all inputs, as far as that can be proved."""
    if not is_open(a, b):
        return a >= b
    return is_at_least(form_of(a).plus(form_of(b), -1), 0)


def are_equal(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes are equal, by the same rule."""
    return len(one) == len(other) and all(map(is_equal, one, other))


def is_equal(a: int, b: int) -> bool:
    """Whether two numbers are equal: where sizes are compared, by what they are for the hint.

    (`==` asks whether they are the same expression.)
    """
    if not is_open(a, b):
        return a == b
    if _is_guessing.get():
        return hint(a) == hint(b)
    difference = form_of(a).plus(form_of(b), -1).without_common_factors()
    if difference.constant is not None:
        return difference.constant == 0
    if any(is_at_least(one, 1) for one in (difference, ZERO.plus(difference, -1))):
        return False
    found = difference.hint == 0
    _assume(difference, "==" if found else "!=")
    return found
