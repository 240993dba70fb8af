"""What the text of a param says, and what is wrong with it."""

from __future__ import annotations

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.records import Location, RawValue, Source, Spelling
from ncc.compiler.read.value import counted_array, integer, scalar_or_array
from ncc.dialects.ncnn.file_format import LONGEST_NAME

INT, FLOAT, STRING = Spelling.INT, Spelling.FLOAT, Spelling.STRING


def read(text: str, counted: bool = False) -> RawValue:
    reader = counted_array if counted else scalar_or_array
    return reader(Source("net.param"), text, Location(3, 7))


@pytest.mark.parametrize(
    ("text", "spelling", "values", "is_array"),
    [
        ("2", INT, (2,), False),
        ("+3", INT, (3,), False),
        ("-2147483648", INT, (-(2**31),), False),
        ("0.5", FLOAT, (0.5,), False),
        ("1.e-3", FLOAT, (1e-3,), False),
        ("-.5", FLOAT, (-0.5,), False),
        ("4,", INT, (4,), True),
        ("1,2,3", INT, (1, 2, 3), True),
        ("1.5,2", FLOAT, (1.5, 2.0), True),
        ('"+(0w,1)"', STRING, ("+(0w,1)",), False),
        ('""', STRING, ("",), False),
        ("0w", None, (), False),
        ("sum", STRING, ("sum",), False),
        ("inf", STRING, ("inf",), False),
        ("a,b", STRING, ("a,b",), False),
    ],
)
def test_spellings(
    text: str, spelling: Spelling | None, values: tuple[object, ...], is_array: bool
) -> None:
    """By the first character, a comma, a point or an exponent."""
    if spelling is None:
        with pytest.raises(ModelError, match="the value is not a number"):
            read(text)
    else:
        assert read(text) == RawValue(spelling, values, Location(3, 7), is_array)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a parameter has no value"),
        ("2147483648", "does not fit 32 bits"),
        ("1e39", "does not fit 32 bits"),
        ("9" * 5000, "does not fit 32 bits"),
        ("1,2.5", "mixes integers and floats"),
        ("1,,2", "an empty element"),
        ("1,x", "element 2 is not a number"),
        ('"abc', "a string is not closed"),
        ('"', "a string is not closed"),
        ('"a"b', "goes on behind its closing quote"),
        ('"' + "x" * (LONGEST_NAME + 1) + '"', f"longer than {LONGEST_NAME} bytes"),
    ],
)
def test_what_is_no_value(text: str, message: str) -> None:
    """The error names file, line and column."""
    with pytest.raises(ModelError, match=message) as caught:
        read(text)
    assert "net.param:3:7" in str(caught.value)


def test_the_old_form_of_arrays() -> None:
    """It starts with its length, which may be none."""
    assert read("2,4,5", counted=True) == RawValue(INT, (4, 5), Location(3, 7), True)
    assert read("0", counted=True).values == ()
    for text in ("x,1", "-1", "3,1,2", "1,2,3"):
        with pytest.raises(ModelError):
            read(text, counted=True)


def test_integers_of_32_bits() -> None:
    """Nothing else is one."""
    assert [integer(text) for text in ("7", "-0", "2147483647")] == [7, 0, 2**31 - 1]
    assert {integer(text) for text in ("", "1.0", "0x1", " 1", "-2147483649", "٣")} == {None}
