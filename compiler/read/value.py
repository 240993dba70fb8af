"""Parses the text behind `id=` to a value.

    2   -5   +3                 integer: 32 bits
    0.5   1.e-3   -.5           float: has a point or an exponent; finite in 32 bits
    4,   1,2,3                  array; of one kind
    2,4,5  (key -23300 - id)    array, old form: the length first
    "+(0w,1)"   0w   sum        string: starts with a quote or a letter

`inf` and `nan` start with a letter, so they are strings: no numeric parameter takes their values.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.records import Location, Number, RawValue, Source, Spelling
from ncc.dialects.ncnn.file_format import LONGEST_NAME

INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_STRING = re.compile(r"[A-Za-z][^ \t\v\f]*")


def integer(text: str) -> int | None:
    """A decimal integer of 32 bits, or None."""
    # The length is looked at first: the time to convert grows with its square.
    if len(text) > LONGEST_NAME or not INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**31) <= number < 2**31 else None


def _float(text: str) -> float | None:
    """A decimal number that is finite in 32 bits, or None."""
    if len(text) > LONGEST_NAME or not _FLOAT.fullmatch(text):
        return None
    number = float(text)
    try:
        return number if math.isfinite(*struct.unpack("<f", struct.pack("<f", number))) else None
    except OverflowError:
        return None


def scalar_or_array(source: Source, text: str, place: Location) -> RawValue:
    """The value of `id=text`."""
    if not text:
        raise source.error(
            "a parameter has no value", place, expected="a value right behind the equals sign"
        )
    if text.startswith('"') or _STRING.fullmatch(text):
        return _string(source, text, place)
    if "," not in text:
        return _numbers(source, [text], place, is_array=False)
    elements = text.split(",")
    if len(elements) == 2 and not elements[1]:
        del elements[1]  # the comma behind a single element makes it an array
    # An integer behind a float is one too; behind an integer ncnn takes no float.
    as_floats = not INTEGER.fullmatch(elements[0])
    return _numbers(source, elements, place, is_array=True, as_floats=as_floats)


def counted_array(source: Source, text: str, place: Location) -> RawValue:
    """The value of the old form `-23300-id=count,element,...`."""
    head, comma, tail = text.partition(",")
    count = integer(head)
    if count is None or count < 0:
        raise source.error(
            "an array of this form starts with its length",
            place,
            expected="the number of elements",
            found=repr(head),
        )
    elements = tail.split(",") if comma else []
    if len(elements) != count:
        raise source.error(
            "the length of an array is not the number of its elements",
            place,
            expected=_elements(count),
            found=str(len(elements)),
        )
    return _numbers(source, elements, place, is_array=True)


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"


def _string(source: Source, text: str, place: Location) -> RawValue:
    content = text
    if text.startswith('"'):
        if len(text) < 2 or text.find('"', 1) != len(text) - 1:
            closed = '"' in text[1:]
            raise source.error(
                "a string goes on behind its closing quote" if closed else "a string is not closed",
                place,
                expected="one quoted string on one line",
            )
        content = text[1:-1]
    if len(content.encode()) > LONGEST_NAME:
        raise source.error(f"a string is longer than {LONGEST_NAME} bytes", place)
    return RawValue(Spelling.STRING, (content,), place)


def _numbers(
    source: Source,
    texts: Sequence[str],
    place: Location,
    *,
    is_array: bool,
    as_floats: bool = False,
) -> RawValue:
    """Numbers of one kind: all integers, or all floats. `as_floats`: integers are floats too."""
    values: list[Number] = []
    spelling = Spelling.INT
    for index, text in enumerate(texts):
        value: Number | None
        if as_floats or not INTEGER.fullmatch(text):
            value, own = _float(text), Spelling.FLOAT
        else:
            value, own = integer(text), Spelling.INT
        if value is None:
            raise _not_a_number(source, text, place, index if is_array else None)
        if index and own is not spelling:
            raise source.error(
                "an array mixes integers and floats, and ncnn would take the bits of one for the "
                "other",
                place,
                expected=f"every element spelled as {spelling}, as the first",
                found=f"the {own} {text}",
            )
        spelling = own
        values.append(value)
    return RawValue(spelling, tuple(values), place, is_array)


def _not_a_number(source: Source, text: str, place: Location, index: int | None) -> ModelError:
    what = "the value" if index is None else f"element {index + 1}"
    shown = text if len(text) <= 40 else text[:40] + "..."
    if not text:
        return source.error("an array has an empty element", place, expected="a number")
    if INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        return source.error(f"{what} is a number that does not fit 32 bits", place, found=shown)
    return source.error(
        f"{what} is not a number",
        place,
        expected='a decimal number, or a string that starts with a letter or is in "quotes"',
        found=repr(shown),
    )
