"""Gives open extents the ranges that equations leave them.

    (h + 31) // 32 == 7                      h: 193..224
    ((h + 7) // 8) * ((w + 7) // 8) == 16    h: 25..32, w: 25..32, for hints of 32

An inner product takes one number of elements, and so do weights behind a Flatten: the layers before
it round, and many images lead there. In these ranges, a quotient is a number (`size_form.py`), so
that layers and weights behind it have the shapes of one size, and one compilation runs all images.

The sides of a product could be others, too: 2 x 8 for 4 x 4. The hint decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ncc.dialects.shapes import OpenShape
from ncc.dialects.size import Assumption, Size
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import Form
from ncc.runtime.extents import Range

FURTHER = 256
"""How far beyond twice its hint another value of an extent is looked for."""


def with_ranges(
    shapes: Mapping[str, OpenShape], assumed: Iterable[Assumption]
) -> Mapping[str, OpenShape]:
    """The shapes with narrower ranges of extents about which something is assumed."""
    ranges: dict[str, Range] = {}
    for one in assumed:
        for symbol, (least, most) in _left_by(one).items():
            low, high = ranges.get(symbol.name, (symbol.least, symbol.most))
            ranges[symbol.name] = max(least, low), most if high is None else min(most, high)

    def narrowed(symbol: Symbol) -> Form:
        least, most = ranges.get(symbol.name, (symbol.least, symbol.most))
        return Form.atom(replace(symbol, least=least, most=most))

    def extent(n: int | None) -> int | None:
        if not isinstance(n, Size):
            return n
        return Size.of(n.form.with_values({one.name: narrowed(one) for one in n.form.symbols}))

    return {name: tuple(map(extent, shape)) for name, shape in shapes.items()}


def _left_by(one: Assumption) -> dict[Symbol, tuple[int, int]]:
    """The range of each extent in an equation, for the hints of the others; none where a larger
    extent makes up for another one, as in a == b, or has gaps, as multiples of a number do.
    """
    if one.relation != "==":
        return {}
    found: dict[Symbol, tuple[int, int]] = {}
    signs = set[bool]()
    hints = {symbol.name: symbol.hint for symbol in one.form.symbols}
    for symbol in one.form.symbols:
        beyond = 2 * symbol.hint + FURTHER
        last = one.form.value({**hints, symbol.name: beyond})
        signs.add(last > 0)
        if last == 0 or len(signs) > 1:
            return {}
        most = beyond if symbol.most is None else min(symbol.most, beyond)
        tried = range(symbol.least, most + 1)
        fits = [n for n in tried if one.form.value({**hints, symbol.name: n}) == 0]
        if fits[-1] - fits[0] >= len(fits):
            return {}
        found[symbol] = fits[0], fits[-1]
    return found
