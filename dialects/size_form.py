"""Expressions of the extents of a network's inputs, in a normal form.

    3 * ((h + 1) // 2) * w + 4

is a polynomial of atoms: extents of inputs, quotients rounded down, least and largest values. In
MLIR, these are symbols, `floordiv`, `affine.min` and `affine.max` of affine expressions, which have
no products of symbols. Two forms that are equal as text have one value for all inputs. `least`
proves that a form is never below a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import product
from math import ceil, floor, gcd, prod
from typing import TypeAlias

from ncc.dialects.size_atoms import Atom, Extremum, Quotient, Symbol, TileSize

Monomial: TypeAlias = tuple[Atom, ...]


def _text(monomial: Monomial) -> str:
    return " * ".join(map(_factor, monomial))


def _factor(atom: Atom) -> str:
    return f"({atom.text})" if isinstance(atom, Quotient) else atom.text


@dataclass(frozen=True)
class Form:
    """The sum of factor * product of atoms, sorted; no factor is 0."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Form:
        """The form of these terms."""
        kept = [(monomial, factor) for monomial, factor in terms.items() if factor]
        return Form(tuple(sorted(kept, key=lambda term: (-len(term[0]), _text(term[0])))))

    @staticmethod
    def number(value: int) -> Form:
        """A number as a form."""
        return _number(value) if value else ZERO

    @staticmethod
    def atom(atom: Atom) -> Form:
        """An atom alone."""
        return Form((((atom,), 1),))

    @cached_property
    def _hash(self) -> int:
        return hash(self.text)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def constant(self) -> int | None:
        """The number that it is for all inputs; None if it is none."""
        if not self.terms:
            return 0
        (monomial, factor), *rest = self.terms
        return factor if not rest and not monomial else None

    @cached_property
    def hint(self) -> int:
        """Its value for the hints."""
        return sum(factor * prod(a.hint for a in monomial) for monomial, factor in self.terms)

    def value(self, of: Mapping[str, int]) -> int:
        """Its value for extents by their names."""
        return sum(factor * prod(a.value(of) for a in monomial) for monomial, factor in self.terms)

    @cached_property
    def text(self) -> str:
        """The form as an expression of Python."""
        parts = []
        for monomial, factor in self.terms:
            sign = "" if factor == 1 else "-" if factor == -1 else f"{factor} * "
            is_alone = factor == 1 and len(monomial) == 1
            names = monomial[0].text if is_alone else _text(monomial)
            parts.append(sign + names if names else str(factor))
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def __str__(self) -> str:
        return self.text

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The extents of inputs in it."""
        found: set[Symbol] = set()
        for atom in self._atoms:
            if isinstance(atom, Symbol):
                found.add(atom)
            found.update(*(part.symbols for part in atom.parts))
        return frozenset(found)

    @cached_property
    def is_of_tile(self) -> bool:
        """Whether the sizes of tiles are in it."""
        return any(
            isinstance(atom, TileSize) or any(part.is_of_tile for part in atom.parts)
            for atom in self._atoms
        )

    @property
    def _atoms(self) -> Iterator[Atom]:
        """Those of its products; these have parts of their own."""
        return (atom for monomial, _ in self.terms for atom in monomial)

    def plus(self, other: Form, times: int = 1) -> Form:
        """self + times * other."""
        return _sum(self, other, times)

    def times(self, other: Form) -> Form:
        """The product."""
        return _product(self, other)

    def with_values(self, values: Mapping[str, Form]) -> Form:
        """The form with other forms in place of extents, by their names."""
        return self._with(lambda atom: values.get(atom.name) if isinstance(atom, Symbol) else None)

    def _with(self, changed: Callable[[Atom], Form | None]) -> Form:
        """The form with other forms in place of some atoms, wherever they stand."""
        total = ZERO
        for monomial, factor in self.terms:
            part = Form.number(factor)
            for atom in monomial:
                part = part.times(changed(atom) or _with(atom, changed))
            total = total.plus(part)
        return total

    def over(self, divisor: Form) -> Form:
        """The quotient, rounded down."""
        return _quotient(self, divisor)

    def _over_form(self, divisor: Form) -> Form:
        number = divisor.constant
        if number is None:
            exact = self._exactly_over(divisor)
            return self._over_size(divisor) if exact is None else exact
        if number == 0:
            raise ZeroDivisionError("a size over 0")
        return ZERO.plus(self, -1)._over(-number) if number < 0 else self._over(number)

    def _over(self, number: int) -> Form:
        """What the number divides goes in front of the quotient: (4*x + y + 5) // 4 is
        x + 1 + (y + 1) // 4.
        """
        if number == 1:
            return self
        whole = {m: f // number for m, f in self.terms if not m or not f % number}
        rest = Form.of({m: f if m else f % number for m, f in self.terms if f % number})
        if rest.constant is not None:
            return Form.of(whole)
        return Form.of(whole).plus(rest._quotient(Form.number(number)))

    def _over_size(self, divisor: Form) -> Form:
        """What a product divides goes in front, too: (x + 2*n) // n is x // n + 2, and so do whole
        sums: (x + n) // (n + 1) is (x - 1) // (n + 1) + 1. A factor of all terms cancels: 4*x //
        (4*n) is x // n.
        """
        common = gcd(*(factor for _, factor in (*self.terms, *divisor.terms)))
        if common > 1:
            return self._over(common).over(divisor._over(common))
        first, *others = divisor.terms
        terms = [(m, f) for m, f in self.terms if m == first[0]] if others else self.terms
        parts = [_term_over(term, first) for term in terms]
        whole = reduce(Form.plus, (part for part in parts if part is not None), ZERO)
        rest = self.plus(whole.times(divisor), -1)
        quotient = Form.atom(Quotient(rest, divisor))
        return whole.plus(rest._quotient(divisor) if is_at_least(divisor, 1) else quotient)

    def without_common_factors(self) -> Form:
        """A form that is 0 for the same inputs: h - c of 24 * h * w - 24 * c * w, where w > 0."""
        if self.constant is not None:
            return self
        (monomial, factor), *others = self.terms
        common = Form.of({(): gcd(factor, *(other for _, other in others))})
        for atom in monomial:
            larger = common.times(Form.atom(atom))
            if is_at_least(Form.atom(atom), 1) and self._exactly_over(larger) is not None:
                common = larger
        return self._exactly_over(common) or self

    @property
    def _begins_negative(self) -> bool:
        return any(factor < 0 for monomial, factor in self.terms[:1] if monomial)

    def _quotient(self, divisor: Form) -> Form:
        """Each quotient has one form: -x // n is -((x + n - 1) // n), and (x // a + b) // n is
        (x + a*b) // (a*n).
        """
        raised = divisor.plus(self, -1).plus(Form.number(-1))
        if self._begins_negative and not raised._begins_negative:
            return ZERO.plus(raised.over(divisor), -1)
        inner = dict(self.terms)
        added = inner.pop((), 0)
        match [*inner.items()]:
            case [((Quotient() as first,), 1)] if (by := first.divisor.constant) is not None:
                dividend = first.dividend.plus(Form.number(added * by))
                return dividend.over(divisor.times(Form.number(by)))
        quotient = Form.atom(Quotient(self, divisor))
        only = _only_value(quotient)
        return quotient if only is None else Form.number(only)

    def _exactly_over(self, divisor: Form) -> Form | None:
        """The quotient, if the divisor is a factor: (2 * h * w + 2 * w) // (h + 1) is 2 * w."""
        if not self.terms:
            return ZERO
        rest, quotient = self, ZERO
        for _ in self.terms:
            part = _term_over(rest.terms[0], divisor.terms[0])
            if part is None:
                return None
            quotient = quotient.plus(part)
            rest = rest.plus(part.times(divisor), -1)
            if not rest.terms:
                return quotient
        return None


# A compilation computes few expressions, and each of them many times: the functions remember them.


@lru_cache(maxsize=1 << 16)
def _number(value: int) -> Form:
    return Form((((), value),))


@lru_cache(maxsize=1 << 16)
def _sum(form: Form, other: Form, times: int) -> Form:
    """form + times * other."""
    terms = dict(form.terms)
    for monomial, factor in other.terms:
        terms[monomial] = terms.get(monomial, 0) + times * factor
    return Form.of(terms)


@lru_cache(maxsize=1 << 16)
def _product(form: Form, other: Form) -> Form:
    terms: dict[Monomial, int] = {}
    for one, a in form.terms:
        for two, b in other.terms:
            monomial = tuple(sorted((*one, *two), key=_factor))
            terms[monomial] = terms.get(monomial, 0) + a * b
    return Form.of(terms)


@lru_cache(maxsize=1 << 16)
def _quotient(form: Form, divisor: Form) -> Form:
    return form._over_form(divisor)


def _term_over(term: tuple[Monomial, int], divisor: tuple[Monomial, int]) -> Form | None:
    """The quotient of two terms, if the divisor is a factor."""
    (monomial, factor), (by, number) = term, divisor
    left = list(monomial)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return None if factor % number else Form.of({tuple(left): factor // number})


ZERO = Form(())


def _with(atom: Atom, changed: Callable[[Atom], Form | None]) -> Form:
    match atom:
        case Symbol():
            return Form.atom(atom)
        case Quotient():
            return atom.dividend._with(changed).over(atom.divisor._with(changed))
        case Extremum():
            forms = tuple(form._with(changed) for form in atom.forms)
            return Form.atom(Extremum(atom.name, forms, atom.own_hint))
        case TileSize():
            return Form.atom(TileSize(atom.full._with(changed), atom.last._with(changed)))


@lru_cache(maxsize=1 << 16)
def of_tile(form: Form, is_last: bool) -> Form:
    """The form in the last iteration of a loop over tiles, or in all others."""
    if not form.is_of_tile:
        return form

    def changed(atom: Atom) -> Form | None:
        if not isinstance(atom, TileSize):
            return None
        return atom.last if is_last else atom.full

    return form._with(changed)


Rational: TypeAlias = int | Fraction  # arithmetic of integers takes a twentieth of the time
Polynomial: TypeAlias = dict[tuple[Atom, ...], Rational]


@lru_cache(maxsize=1 << 16)
def least(form: Form) -> Rational | None:
    """A number that the form is never below, for all inputs in their ranges; None if none is found.

    Each atom is its own least value and something that is not negative: where no factor of the
    polynomial of these is negative, the constant is a bound. Quotients are tried as atoms, and as
    fractions with what rounding takes away; before, those of one divisor cancel. Each of the forms
    of a largest or least one is tried in its place. Whole multiples of a number are at least the
    next one.
    """
    if form.constant is not None:
        return form.constant
    rest, below = _without_pairs(form)
    tried = [(form, 0), (rest, below)] if rest is not form else [(form, 0)]
    found = [
        _raised(bound + more, form)
        for one, more in tried
        for fractions in (False, True)
        if (bound := _least(*_parted(one, fractions))) is not None
    ]
    one_of = _least_of_choice(form)
    return max(found if one_of is None else [*found, one_of], default=None)


def _least_of_choice(form: Form) -> Rational | None:
    """The same by a term that is the largest or the least of some forms, if there are one or two:
    n - max(a, b) is the least of n - a and n - b.
    """
    found = [term for term in form.terms if any(isinstance(a, Extremum) for a in term[0])]
    if len(found) not in (1, 2) or len(found[0][0]) != 1:
        return None
    ([atom], factor), *_ = found
    if not isinstance(atom, Extremum) or any(isinstance(a, Extremum) for a in _atoms(atom)):
        return None
    rest = form.plus(Form.atom(atom), -factor)
    lows = [least(rest.plus(one, factor)) for one in atom.forms]
    known = [low for low in lows if low is not None]
    if (atom.name == "max") == (factor > 0):
        return max(known, default=None)
    return min(known) if len(known) == len(lows) else None


def _atoms(extremum: Extremum) -> Iterator[Atom]:
    """The atoms that the forms of an extremum are sums of."""
    return (atom for form in extremum.forms for monomial, _ in form.terms for atom in monomial)


def _only_value(form: Form) -> int | None:
    """The number that the form is for all inputs in their ranges: 7 for (h + 31) // 32, where h is
    193 to 224. None if it is none.
    """
    if any(symbol.most is None for symbol in form.symbols):
        return None
    low = least(form)
    return floor(low) if low is not None and low == _most(form) else None


def is_at_least(form: Form, number: int) -> bool:
    """Whether the form is never below a number, as far as that can be proved."""
    low = least(form)
    return low is not None and low >= number


def _raised(bound: Rational, form: Form) -> int:
    """The least value of the form that is not below a bound: its terms have a common divisor."""
    constant = sum(factor for monomial, factor in form.terms if not monomial)
    step = gcd(*(factor for monomial, factor in form.terms if monomial))
    return constant - step * ((constant - bound) // step)


def _without_pairs(form: Form) -> tuple[Form, int]:
    """The form without differences a // n - b // n that have a bound, and the sum of these bounds.

    a // n - b // n is at least d // n where a - b is at least d.
    """
    terms, below = dict(form.terms), 0
    quotients = [(m, m[0]) for m, _ in form.terms if len(m) == 1 and isinstance(m[0], Quotient)]
    for (less, b), (more, a) in product(quotients, repeat=2):
        divisor, times = a.divisor.constant, min(terms[more], -terms[less])
        if a.divisor != b.divisor or times <= 0:
            continue
        low = least(a.dividend.plus(b.dividend, -1))
        if divisor is None and low is not None:
            low = 0 if low >= 0 and is_at_least(a.divisor, 1) else None
        if low is not None:
            below += times * (ceil(low) // (divisor or 1))
            terms[more] -= times
            terms[less] += times
    return (Form.of(terms), below) if terms != dict(form.terms) else (form, 0)


def _parted(form: Form, fractions: bool) -> tuple[Polynomial, Rational]:
    """The form as a polynomial of atoms, and a bound of what it leaves out."""
    polynomial: Polynomial = {}
    below: Rational = 0
    for monomial, factor in form.terms:
        first = monomial[0] if len(monomial) == 1 else None
        divisor = first.divisor.constant if isinstance(first, Quotient) else None
        if fractions and isinstance(first, Quotient) and divisor is not None:
            share = Fraction(abs(factor), divisor)
            inner, less = _parted(ZERO.plus(first.dividend, 1 if factor > 0 else -1), True)
            for atoms, part in inner.items():
                polynomial[atoms] = polynomial.get(atoms, 0) + part * share
            below += less * share - (share * (divisor - 1) if factor > 0 else 0)
        else:
            polynomial[monomial] = polynomial.get(monomial, 0) + factor
    return polynomial, below


def _least(polynomial: Polynomial, below: Rational) -> Rational | None:
    shifted: Polynomial = {}
    for monomial, factor in polynomial.items():
        if not factor:
            continue
        parts: Polynomial = {(): factor}
        for atom in monomial:
            low = _least_of(atom)
            if low is None:
                return None
            more: Polynomial = {}
            for atoms, part in parts.items():
                more[atoms] = more.get(atoms, 0) + part * low
                grown = tuple(sorted((*atoms, atom), key=_factor))
                more[grown] = more.get(grown, 0) + part
            parts = more
        for atoms, part in parts.items():
            shifted[atoms] = shifted.get(atoms, 0) + part
    bound = shifted.pop((), 0) + below
    for atoms, part in shifted.items():
        if part < 0:
            room = [_room_of(atom) for atom in atoms]
            if any(n is None for n in room):
                return None
            bound += part * prod(n for n in room if n is not None)
    return bound


def _least_of(atom: Atom) -> Rational | None:
    match atom:
        case Symbol():
            return atom.least
        case Quotient():
            low, divisor = least(atom.dividend), atom.divisor.constant
            if divisor is None:
                if low is None or not is_at_least(atom.divisor, 1):
                    return None
                return min(0, floor(low))
            return None if low is None else low // divisor
        case Extremum():
            lows = [least(form) for form in atom.forms]
            known = [low for low in lows if low is not None]
            if atom.name == "max":
                return max(known, default=None)
            return min(known) if len(known) == len(lows) else None
        case TileSize():
            return 0


def _room_of(atom: Atom) -> Rational | None:
    """How far an atom can be above its least value; None if there is no limit."""
    low, high = _least_of(atom), _most_of(atom)
    return None if low is None or high is None else high - low


def _most_of(atom: Atom) -> Rational | None:
    match atom:
        case Symbol():
            return atom.most
        case Quotient():
            high, divisor = _most(atom.dividend), atom.divisor.constant
            if high is None:
                return None
            if divisor is None:
                return max(-1, floor(high)) if is_at_least(atom.divisor, 1) else None
            return high // divisor
        case Extremum():
            highs = [_most(form) for form in atom.forms]
            known = [high for high in highs if high is not None]
            if atom.name == "min":
                return min(known, default=None)
            return max(known) if len(known) == len(highs) else None
        case TileSize():
            return _most(atom.full)


def _most(form: Form) -> Rational | None:
    """A number that the form is never above; None if none is found."""
    below = least(ZERO.plus(form, -1))
    return None if below is None else -below
