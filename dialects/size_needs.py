"""What a list of assumptions comes to: ranges of extents, and what these do not imply.

(h + 7) // 8 - 4 >= 0, (h + 15) // 16 - 2 >= 0, h - w >= 0     ->      h - 25 >= 0, h - w >= 0
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ncc.dialects.size import Assumption
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import ZERO, Form, least


def needed(assumed: Iterable[Assumption]) -> list[Assumption]:
    """Fewer assumptions that hold for the same extents, up to the hints and beyond.

    One that only says how large an extent is comes to a number, and the largest of these counts.
    """
    given = list(dict.fromkeys(assumed))
    from_on: dict[Symbol, int] = {}
    others: list[Assumption] = []
    for one in given:
        symbol = _grows_with(one.form) if one.relation == ">=" else None
        if symbol is None:
            others.append(one)
        else:
            from_on[symbol] = max(_first(one.form, symbol), from_on.get(symbol, symbol.least))
    ranges = {one.name: Form.atom(replace(one, least=n)) for one, n in from_on.items()}
    bounds = [
        Assumption(Form.atom(one).plus(Form.number(n), -1), ">=")
        for one, n in from_on.items()
        if n > one.least
    ]
    return [*bounds, *(one for one in others if not _is_implied(one, ranges))]


def are_bounds(assumed: Iterable[Assumption]) -> bool:
    """Whether assumptions come to least extents alone."""
    return all(one.relation == ">=" and _grows_with(one.form) for one in needed(assumed))


def _grows_with(form: Form) -> Symbol | None:
    """The only extent of a form that is never smaller for a larger one."""
    if len(form.symbols) != 1:
        return None
    (symbol,) = form.symbols
    more = form.with_values({symbol.name: Form.atom(symbol).plus(Form.number(1))})
    low = least(more.plus(form, -1))
    return symbol if low is not None and low >= 0 else None


def _first(form: Form, symbol: Symbol) -> int:
    """The first value of an extent from which on a growing form is not negative; the hint is one
    such value.
    """
    low, high = symbol.least, symbol.hint
    while low < high:
        middle = (low + high) // 2
        if form.value({symbol.name: middle}) >= 0:
            high = middle
        else:
            low = middle + 1
    return high


def _is_implied(one: Assumption, ranges: Mapping[str, Form]) -> bool:
    """Whether an assumption holds for all extents in these ranges."""
    form = one.form.with_values(ranges)
    low, back = least(form), least(ZERO.plus(form, -1))
    match one.relation:
        case ">=":
            return low is not None and low >= 0
        case "!=":
            return (low is not None and low > 0) or (back is not None and back > 0)
    return form.constant == 0
