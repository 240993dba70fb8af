"""A small constant matrix times a vector, with few operations.

Zeros and ones cost nothing, the rest are multiply-adds by constants. Two structures of Winograd's
matrices are found and used, whatever the matrix:

    columns p, q equal up to signs:  s = x[p] + x[q] and d = x[p] - x[q], once for all rows
    rows r, t equal up to signs:     e +- o, where e is what they share and o what differs in sign
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Generic, Protocol, TypeAlias, TypeVar

from ncc.compiler.linalg.analysis.attributes import Matrix

Value = TypeVar("Value")
Key: TypeAlias = tuple[str, int, int]
Terms: TypeAlias = Mapping[Key, float]


class Arithmetic(Protocol[Value]):
    """The operations of a combination; values may be numbers, or code that computes them."""

    def add(self, a: Value, b: Value) -> Value: ...

    def subtract(self, a: Value, b: Value) -> Value: ...

    def scale(self, factor: float, a: Value) -> Value:
        """factor * a."""

    def multiply_add(self, factor: float, a: Value, b: Value) -> Value:
        """factor * a + b."""


def combine(
    matrix: Matrix,
    rows: Sequence[int],
    inputs: Callable[[int], Value],
    arithmetic: Arithmetic[Value],
) -> list[Value]:
    """The products of some rows of `matrix` with the inputs; each input is read once.

    Raises ValueError for a row of zeros.
    """
    return _Combination(matrix, inputs, arithmetic).of(rows)


def together(matrix: Matrix, rows: Sequence[int], most: int) -> list[list[int]]:
    """The rows in groups of at most `most`; rows that share work stay together: those that are
    e + o and e - o, and those of the same sums and differences where not all rows fit.
    """
    left = list(rows)
    ordered: list[list[int]] = []
    pairs = _column_pairs(matrix)
    while left:
        first = left.pop(0)
        terms = _terms(matrix[first], pairs)
        mate = next((r for r in left if _same_up_to_signs(terms, _terms(matrix[r], pairs))), None)
        if mate is not None:
            left.remove(mate)
        ordered.append([first] if mate is None else [first, mate])
    found: list[list[int]] = []

    def combined(group: list[int]) -> set[Key]:
        """The sums and differences that a group reads, by its first row."""
        return {key for key in _terms(matrix[group[0]], pairs) if key[0] != "input"}

    def fits(group: list[int], held: list[int]) -> bool:
        ours, theirs = combined(group), combined(held)
        apart = ours and theirs and not ours & theirs
        return len(held) + len(group) <= most and not (apart and len(rows) > most)

    for group in sorted(ordered, key=len, reverse=True):
        room = next((held for held in found if fits(group, held)), None)
        if room is None:
            found.append(group)
        else:
            room += group
    return found


class _Combination(Generic[Value]):
    """Products of rows of one matrix with one vector: sums and differences are made once."""

    def __init__(
        self, matrix: Matrix, inputs: Callable[[int], Value], arithmetic: Arithmetic[Value]
    ) -> None:
        self.matrix = matrix
        self.inputs = inputs
        self.arithmetic = arithmetic
        self.pairs = _column_pairs(matrix)
        self.values: dict[Key, Value] = {}

    def of(self, rows: Sequence[int]) -> list[Value]:
        """The products of some rows; pairs of them that share work are made together."""
        terms = {row: _terms(self.matrix[row], self.pairs) for row in rows}
        done: dict[int, Value] = {}
        for r, t in combinations(rows, 2):
            if r not in done and t not in done and _worth_sharing(terms[r], terms[t]):
                done[r], done[t] = self._both(terms[r], terms[t])
        return [done[row] if row in done else self._chain(terms[row]) for row in rows]

    def _both(self, first: Terms, second: Terms) -> tuple[Value, Value]:
        """Two rows that are e + o and e - o."""
        shared = {key: factor for key, factor in first.items() if second[key] == factor}
        other = {key: factor for key, factor in first.items() if second[key] != factor}
        e = self._chain(shared)
        if 1.0 not in map(abs, other.values()):
            # Any factor makes a term of o one that is only added; the last one gives the o of
            # Winograd's matrices the factors of e.
            *_, size = other.values()
            o = self._chain({key: factor / size for key, factor in other.items()})
            multiply_add = self.arithmetic.multiply_add
            return multiply_add(size, o, e), multiply_add(-size, o, e)
        o = self._chain(other)
        return self.arithmetic.add(e, o), self.arithmetic.subtract(e, o)

    def _chain(self, terms: Terms) -> Value:
        """The sum of factor * value, from a value of factor 1 if there is one."""
        if not terms:
            raise ValueError("a row of zeros")
        first = next((key for key, factor in terms.items() if factor == 1.0), next(iter(terms)))
        total = self._value(first)
        if terms[first] != 1.0:
            total = self.arithmetic.scale(terms[first], total)
        for key, factor in terms.items():
            if key == first:
                continue
            value = self._value(key)
            if factor == 1.0:
                total = self.arithmetic.add(total, value)
            elif factor == -1.0:
                total = self.arithmetic.subtract(total, value)
            else:
                total = self.arithmetic.multiply_add(factor, value, total)
        return total

    def _value(self, key: Key) -> Value:
        if key not in self.values:
            kind, p, q = key
            if kind == "input":
                self.values[key] = self.inputs(p)
            else:
                combined = self.arithmetic.add if kind == "sum" else self.arithmetic.subtract
                a, b = self._value(("input", p, p)), self._value(("input", q, q))
                self.values[key] = combined(a, b)
        return self.values[key]


@lru_cache(maxsize=64)
def _column_pairs(matrix: Matrix) -> Mapping[int, int]:
    """Columns that are equal up to signs in every row, first -> second, each in one pair."""
    columns = list(zip(*matrix, strict=True))
    found: dict[int, int] = {}
    for p, q in combinations(range(len(columns)), 2):
        if p in found or {p, q} & set(found.values()) or not any(columns[p]):
            continue
        if all(abs(a) == abs(b) for a, b in zip(columns[p], columns[q], strict=True)):
            found[p] = q
    return found


def _terms(row: Sequence[float], pairs: Mapping[int, int]) -> Terms:
    """The row as factors of inputs, and of sums and differences of paired inputs."""
    found: dict[Key, float] = {}
    for p, factor in enumerate(row):
        if not factor or p in pairs.values():
            continue
        if p not in pairs:
            found["input", p, p] = factor
        else:
            q = pairs[p]
            found["sum" if row[q] == factor else "difference", p, q] = factor
    return found


def _same_up_to_signs(first: Terms, second: Terms) -> bool:
    if first.keys() != second.keys():
        return False
    return all(abs(first[key]) == abs(second[key]) for key in first)


def _worth_sharing(first: Terms, second: Terms) -> bool:
    """Whether e and o have three terms or more between them, and neither is empty."""
    differing = sum(first[key] != second.get(key) for key in first)
    return _same_up_to_signs(first, second) and len(first) > 2 and 0 < differing < len(first)
