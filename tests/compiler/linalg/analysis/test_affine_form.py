"""Linear forms are what affine expressions of the linalg level say."""

from __future__ import annotations

import pytest
from xdsl.ir.affine import AffineDimExpr

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm, linear

D0, D1, D3 = map(AffineDimExpr, (0, 1, 3))


def test_an_expression_is_a_form() -> None:
    """Terms in the order of the loops, however they are written; what cancels is no term."""
    assert linear((D3 + D0 * 2) + -1) == AffineForm(((0, 2), (3, 1)), -1)
    assert linear((D0 + D1) * 3 + D1 * -3) == AffineForm(((0, 3),))


def test_a_form_is_an_expression() -> None:
    """The same form again, with and without terms or a constant."""
    for form in (
        AffineForm(()),
        AffineForm((), 5),
        AffineForm(((1, 1),)),
        AffineForm(((0, 2), (3, -1)), 4),
    ):
        assert linear(form.expression) == form


def test_a_loop_alone() -> None:
    """Neither a multiple of it, nor one that is moved, nor one of two."""
    assert linear(D3).bare == 3
    assert [linear(e).bare for e in (D3 * 2, D3 + 1, D3 + D0)] == [None] * 3


def test_a_form_without_a_loop() -> None:
    """Its other terms, and its constant."""
    form = AffineForm.of({0: 2, 3: 1}, -1)
    assert form.without(3) == AffineForm.of({0: 2}, -1)
    assert form.without(1) == form


def test_what_is_not_linear_is_a_bug() -> None:
    """Passes write no quotients."""
    with pytest.raises(CompilerBug, match="not linear"):
        linear(D0 // 2)
