"""Indices of linalg operations as linear forms of the loops.

d0 * 2 + d3 - 1    ->    terms ((0, 2), (3, 1)), constant -1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ncc.compiler.diagnostics import CompilerBug


@dataclass(frozen=True)
class AffineForm:
    """constant + the sum of coefficient * loop; `terms` is sorted by loop and has no zeros."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0

    @staticmethod
    def of(terms: Mapping[int, int], constant: int = 0) -> AffineForm:
        return AffineForm(tuple(sorted((d, c) for d, c in terms.items() if c)), constant)

    @cached_property
    def bare(self) -> int | None:
        """The loop that this form is, if it is one loop alone."""
        if len(self.terms) == 1 and self.constant == 0 and self.terms[0][1] == 1:
            return self.terms[0][0]
        return None

    def coefficient(self, loop: int) -> int:
        for other, factor in self.terms:
            if other == loop:
                return factor
        return 0

    def without(self, loop: int) -> AffineForm:
        """The form in the first iteration of the loop."""
        return AffineForm(tuple(term for term in self.terms if term[0] != loop), self.constant)

    def loops(self) -> set[int]:
        return {loop for loop, _ in self.terms}

    @property
    def expression(self) -> AffineExpr:
        """The form as an affine expression."""
        total: AffineExpr | None = None
        for loop, factor in self.terms:
            part: AffineExpr = AffineDimExpr(loop)
            part = part if factor == 1 else part * factor
            total = part if total is None else total + part
        if total is None:
            return AffineConstantExpr(self.constant)
        return total + self.constant if self.constant else total


def linear(expr: AffineExpr) -> AffineForm:
    """An affine expression as a linear form; `CompilerBug` for quotients and remainders."""
    if isinstance(expr, AffineDimExpr):
        return _one(expr.position)
    terms: dict[int, int] = {}

    def add(e: AffineExpr, factor: int) -> int:
        match e:
            case AffineConstantExpr():
                return factor * e.value
            case AffineDimExpr():
                terms[e.position] = terms.get(e.position, 0) + factor
                return 0
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
                return add(e.lhs, factor) + add(e.rhs, factor)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
                if isinstance(e.rhs, AffineConstantExpr):
                    return add(e.lhs, factor * e.rhs.value)
                if isinstance(e.lhs, AffineConstantExpr):
                    return add(e.rhs, factor * e.lhs.value)
        raise CompilerBug(f"the index {e} is not linear in the loops")

    constant = add(expr, 1)
    return AffineForm.of(terms, constant)


@cache
def _one(loop: int) -> AffineForm:
    """The form that is one loop, as most are."""
    return AffineForm(((loop, 1),))


def indexing_map(loops: int, index: Iterable[AffineForm | AffineExpr]) -> AffineMapAttr:
    """The map from loops to the indices of an operand."""
    results = (form.expression if isinstance(form, AffineForm) else form for form in index)
    return AffineMapAttr(AffineMap(loops, 0, tuple(results)))
