"""What a list of assumptions comes to: ranges of extents, and what these do not imply.

(h + 7) // 8 >= 4, (h + 15) // 16 >= 2, 9 >= (w + 1) // 2, h >= w   ->   h >= 25, w <= 18, h >= w
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ncc.dialects.size import Assumption
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import ZERO, Form, least

_ENDLESS = 1 << 40
"""An extent that no image has."""


def needed(assumed: Iterable[Assumption]) -> list[Assumption]:
    """Fewer assumptions that hold for the same extents, up to the hints and beyond.

    One that only says how large an extent is, or how small, comes to a number, and the strictest of
    these counts.
    """
    given = _without_turned(assumed)
    least_of: dict[Symbol, int] = {}
    most_of: dict[Symbol, int] = {}
    others: list[Assumption] = []
    for one in given:
        growing, shrinking = _grows_with(one), _grows_with(_one_sided(one), -1)
        most = None if shrinking is None else _last(one.form, shrinking)
        if growing is not None:
            first = _first(one.form, growing)
            least_of[growing] = max(first, least_of.get(growing, first))
        elif shrinking is not None and most is not None:
            limit = most if shrinking.most is None else min(most, shrinking.most)
            most_of[shrinking] = min(limit, most_of.get(shrinking, limit))
        else:
            others.append(one)
    ranges = {
        one.name: Form.atom(
            replace(one, least=least_of.get(one, one.least), most=most_of.get(one, one.most))
        )
        for one in (*least_of, *most_of)
    }
    bounds = [
        Assumption(Form.atom(one).plus(Form.number(n), -1), ">=")
        for one, n in least_of.items()
        if n > one.least
    ]
    bounds += [
        Assumption(Form.number(n).plus(Form.atom(one), -1), ">=")
        for one, n in most_of.items()
        if one.most is None or n < one.most
    ]
    return [*bounds, *(one for one in others if not _is_implied(one, ranges))]


def _without_turned(assumed: Iterable[Assumption]) -> list[Assumption]:
    """Each assumption once: a == b and b == a are one."""
    found: dict[Assumption, None] = {}
    for one in assumed:
        turned = replace(one, form=ZERO.plus(one.form, -1))
        if one.relation == ">=" or turned not in found:
            found.setdefault(one)
    return list(found)


def _one_sided(one: Assumption) -> Assumption:
    """The same assumption. That a form is 0 which is never above 0 says that it is not negative.

    min(104, h) - h == 0    ->    min(104, h) - h >= 0
    """
    if one.relation != "==":
        return one
    low = least(ZERO.plus(one.form, -1))
    return one if low is None or low < 0 else replace(one, relation=">=")


def _grows_with(one: Assumption, sign: int = 1) -> Symbol | None:
    """The only extent of an assumption whose form, times the sign, is never smaller for a larger
    extent; None if there is none.
    """
    if one.relation != ">=" or len(one.form.symbols) != 1:
        return None
    (symbol,) = one.form.symbols
    more = one.form.with_values({symbol.name: Form.atom(symbol).plus(Form.number(1))})
    low = least(ZERO.plus(more.plus(one.form, -1), sign))
    return symbol if low is not None and low >= 0 else None


def _first(form: Form, symbol: Symbol) -> int:
    """The first value of an extent from which on a growing form is not negative; the hint is one
    such value.
    """
    smaller = range(symbol.least, symbol.hint)
    return symbol.least + bisect_left(smaller, 0, key=lambda n: form.value({symbol.name: n}))


def _last(form: Form, symbol: Symbol) -> int | None:
    """The last value of an extent up to which a shrinking form is not negative; None if there is
    no end. The hint is one such value.
    """
    larger = range(symbol.hint, _ENDLESS)
    fit = bisect_right(larger, 0, key=lambda n: -form.value({symbol.name: n}))
    return None if fit == len(larger) else symbol.hint + fit - 1


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
