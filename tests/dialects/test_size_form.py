"""Forms are normal, and what `least` says of them is true."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given

from ncc.dialects.size import Size, form_of, is_open, largest, smallest
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import ZERO, Form, least
from tests.dialects.sizes import EXTENTS, H, W, expressions, values


def test_the_same_expression_has_one_form() -> None:
    """Whatever it was computed by."""
    same = [
        (2 * H + H, 3 * H),
        ((H + 1) * (W - 1), H * W + W - H - 1),
        ((H // 2 + 3) // 4, (H + 6) // 8),
        (-(-H // 2), (H + 1) // 2),
        ((4 * H + W + 5) // 4, H + 1 + (W + 1) // 4),
        (64 * H * W // W, 64 * H),
        ((2 * H + 6) // (H + 3), 2),
        ((H * W + H + W + 1) // (W + 1), H + 1),
        ((H - 2 * W) // W, H // W - 2),
        ((H // 4 + 2) // W, (H + 8) // (4 * W)),
        (smallest(H // W, (H + 1) // W), H // W),
        (-(-H // W), (H + W - 1) // W),
        ((5 - 3 * H) // W, -((3 * H + W - 6) // W)),
        (-(-H // (H + W)), (2 * H + W - 1) // (H + W)),
        ((H + W) // (W + 1), (H - 1) // (W + 1) + 1),
        (-(-W // (H // W + 1)), (W - 1) // (H // W + 1) + 1),
    ]
    for one, other in same:
        assert form_of(one) == form_of(other)


def test_a_form_without_symbols_is_a_number() -> None:
    """Also if they cancel."""
    assert form_of(H - H).constant == 0
    assert form_of(H * W // (H * W)).constant == 1
    assert (H + 3 - H, is_open(H + 3 - H)) == (3, False)


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (24 * H * W - 24 * W, H - 1),
        ((H + 1) // 2 * W - (H + 1) // 2 * 4, W - 4),
        (H * W * W + H * W, W + 1),
        ((H // 2) * W - H // 2, (H // 2) * W - H // 2),
        (4 * H, 1),
        (H - W, H - W),
    ],
)
def test_factors_of_all_terms(size: int, wanted: int) -> None:
    """They are left out, but not those that may be 0."""
    assert form_of(size).without_common_factors() == form_of(wanted)


@given(expressions(), values())
def test_a_form_without_factors_is_0_for_the_same_inputs(
    expression: str, at: dict[str, int]
) -> None:
    """Whatever its factors are."""
    form = form_of(eval(expression, dict(EXTENTS)))
    assert (form.without_common_factors().value(at) == 0) == (form.value(at) == 0)


def test_a_quotient_by_a_difference() -> None:
    """Its dividend begins negative, also where it is rounded up."""
    n = Size.symbol("n", 4, most=10)
    for number in range(1, 11):
        assert form_of(-n // (100 - 5 * n)).value({"n": number}) == -1


def test_a_quotient_with_one_value_in_a_range_is_a_number() -> None:
    """Pixels that windows leave of all images in it."""
    h = Size.symbol("h", 200, 193, 224)
    assert (h + 31) // 32 == 7 and is_open((h + 30) // 32) and is_open(h // W)
    assert (-h) // 224 == -1


def test_a_quotient_by_nothing_is_an_error() -> None:
    """As for numbers."""
    with pytest.raises(ZeroDivisionError):
        form_of(H).over(ZERO)


@given(expressions(), values())
def test_a_form_has_the_value_of_its_expression(expression: str, at: dict[str, int]) -> None:
    """For all extents of the inputs."""
    form = form_of(eval(expression, dict(EXTENTS)))
    wanted = eval(expression, {**EXTENTS, **at})
    assert form.value(at) == wanted
    assert form.hint == eval(expression, {**EXTENTS, "h": 224, "w": 256})


@given(expressions(), values())
def test_no_value_is_below_the_least(expression: str, at: dict[str, int]) -> None:
    """Nor is a negative value below that of the negative form."""
    form = form_of(eval(expression, dict(EXTENTS)))
    for one in (form, ZERO.plus(form, -1)):
        low = least(one)
        assert low is None or one.value(at) >= low


@given(expressions(), expressions(), values())
def test_no_difference_is_below_the_least(one: str, other: str, at: dict[str, int]) -> None:
    """Where quotients of one divisor cancel, too."""
    form = form_of(eval(f"({one}) - ({other})", dict(EXTENTS)))
    low = least(form)
    assert low is None or form.value(at) >= low


@pytest.mark.parametrize(
    ("proved", "by"),
    [
        ((H + 15) // 16 - (H + 31) // 32, 0),  # quotients of a larger number are smaller
        ((H + 3) // 16 - H // 16, 0),
        ((H - W - 1) // (W + 1) + 1 - (H - 1) // (W + 1), 0),
        (4 * ((H + 3) // 4) - H, 0),  # whole tiles cover the image
        (3 - (4 * ((H + 3) // 4) - H), 0),  # by less than one more
        (8 * ((H + 31) // 32) - 2 * ((H + 7) // 8), 0),  # and tiles of tiles these
        (H - 4 * ((H - 1) // 4), 1),  # something is left behind whole tiles
        (H - largest(0, 2 * ((H + 1) // 2) - 3), 1),  # by what either of both is
        (H - smallest(W, H), 0),
        (smallest(H, 4 * ((H + 3) // 4) - 1) - largest(0, 4 * ((H + 3) // 4) - 10), 1),
        (H * W - H - W + 1, 0),
        (H * W, 1),
    ],
)
def test_what_passes_ask_is_proved(proved: int, by: int) -> None:
    """Without it, they would assume it."""
    assert least(form_of(proved)) == Fraction(by)


@given(expressions(), values(most=70))
def test_no_value_in_a_range_is_below_the_least(expression: str, at: dict[str, int]) -> None:
    """Where extents have limits, what is subtracted has one, too."""
    limited = {name: Size.symbol(name, 64, 1, 70) for name in ("h", "w")}
    form = form_of(eval(expression, {**EXTENTS, **limited}))
    low = least(form)
    assert low is not None
    assert form.value(at) >= low


def test_ranges_bound_a_form() -> None:
    """From above, too."""
    h = Form.atom(Symbol("h", 224, 64, 1024))
    assert least(h) == 64
    assert least(ZERO.plus(h, -1)) == -1024
    assert least(Form.number(1 << 20).plus(h.times(h), -1)) == 0


LOW, WIDE = Size.symbol("h", 8, 2, 20), Size.symbol("w", 8, 3, 9)
FREE = Size.symbol("free", 8)


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (LOW - WIDE, -7),
        (20 - (LOW + 1) // 2, 10),
        (100 - LOW * WIDE, -80),
        (WIDE - smallest(LOW, WIDE), -6),
        (largest(LOW, WIDE) - 3, 0),
        (30 - largest(LOW, WIDE), 10),
        (30 - largest(LOW, WIDE + FREE), None),
        (9 - smallest(FREE, WIDE), 0),
        (5 - FREE // 2, None),
        ((LOW - 30) // 4, -7),
    ],
)
def test_ranges_bound_an_expression(size: int, wanted: int | None) -> None:
    """From below, at least so well, if there is a limit; the bound holds for all extents."""
    form = form_of(size)
    found = least(form)
    assert found is None if wanted is None else found is not None and found >= wanted
    if found is not None:
        extents = product(range(2, 21), range(3, 10), (1, 2, 50))
        values = [form.value({"h": h, "w": w, "free": free}) for h, w, free in extents]
        assert min(values) >= found
