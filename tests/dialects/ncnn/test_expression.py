"""The arithmetic in string params."""

from __future__ import annotations

import pytest

from ncc.dialects.ncnn.expression import check_expression, evaluate_expression
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.size import NeedsNumbers, Size, form_of

SHAPES = [(3, 4, 5), (7, 8)]


@pytest.mark.parametrize(
    "text, values",
    [
        ("0w,0h,0c", (5, 4, 3)),
        ("1w,1h,1d,0n", (8, 7, 1, 1)),
        ("-1", (-1,)),
        ("+(0w,1)", (6,)),
        ("-(0w,7)", (-2,)),
        ("*(0w,-(1w,1h))", (5,)),
        ("//(0w,2),//(-7,2)", (2, -3)),
        ("//(-7.5,2)", (-4,)),
        ("/(0w,2)", (2,)),
        ("max(0w,0h),min(0w,0h)", (5, 4)),
        ("abs(-3),neg(3),sign(-3),square(-3)", (3, -3, -1, 9)),
        ("trunc(2.7),ceil(2.1),floor(-2.1),round(2.5)", (2, 3, -3, 3)),
        ("and(6,3),or(6,3),xor(6,3),lshift(1,4),rshift(16,2)", (2, 7, 5, 16, 4)),
        ("ceil(*(0w,1.2))", (6,)),
        ("*(/(0w,2),2)", (5,)),
        ("sqrt(16),pow(2,5),exp(0),log10(1000)", (4, 32, 1, 3)),
        ("fmod(7,4),remainder(7,4),atan2(0,1)", (3, -1, 0)),
        ("2.0", (2,)),
        (" 0w , +( 0h, 1 ) ", (5, 5)),
        ("neg(1h,3)", (-7, 3)),
    ],
)
def test_values(text: str, values: tuple[int, ...]) -> None:
    """Extents by name, integer and float arithmetic, truncation at the end.

    The last one: an operator takes what its arity says, wherever the parenthesis closes.
    """
    assert evaluate_expression(text, SHAPES, "shape_expr") == values


def test_how_many_numbers() -> None:
    """The count is known without shapes."""
    assert check_expression("0w,//(0h,2)", 1, "shape_expr") == 2


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "an empty expression"),
        ("2w", "no input 2"),
        ("0x", "'0x' in \"0x\" is no operator, extent or number"),
        ("sum(0w,1)", "'sum'"),
        ("+(0w)", r"'\+' in .* takes 2 operands"),
        ("*(0w,0h", "parentheses"),
        ("*(0w,0h)),0c", "parentheses"),
        (")0w(", "parentheses"),
    ],
)
def test_refused_before_shapes_are_known(text: str, message: str) -> None:
    """The param that holds the expression is named."""
    with pytest.raises(LayerError, match=message) as caught:
        check_expression(text, 2, "size_expr")
    assert caught.value.param == "size_expr"


@pytest.mark.parametrize(
    "text, message",
    [
        ("//(0w,0)", "division of 5 by 0"),
        ("/(0w,0)", "inf is no 32-bit integer"),
        ("and(1.5,2)", "not whole"),
        ("lshift(1,40)", "a shift by 40 bits"),
        ("*(2000000000,2)", "4000000000 is no 32-bit integer"),
    ],
)
def test_refused_by_value(text: str, message: str) -> None:
    """No number, or none that an extent could be; the expression is shown."""
    with pytest.raises(LayerError, match=message) as caught:
        evaluate_expression(text, SHAPES, "size_expr")
    assert caught.value.param == "size_expr"
    assert text in caught.value.message


def test_sizes_stay_sizes() -> None:
    """Whatever the arithmetic makes of them, it is right for every size."""
    h = Size.symbol("h", 9)
    text = "//(0h,2),abs(-(0h,20)),max(0h,5),min(0h,5)"
    found = evaluate_expression(text, [(3, h, 4)], "shape_expr")
    for value in (1, 6, 30):
        numbers = [form_of(one).value({"h": value}) for one in found]
        assert numbers == [value // 2, abs(value - 20), max(value, 5), min(value, 5)]
    with pytest.raises(NeedsNumbers):
        evaluate_expression("//(-(0h,20),2)", [(3, h, 4)], "shape_expr")
