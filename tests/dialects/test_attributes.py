"""Attributes that are made once, and what is kept with them."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, VectorType, f32, i32, i64
from xdsl.ir import Attribute

from ncc.dialects.attributes import integers, memoized, segments, values_of


def test_an_attribute_is_asked_once() -> None:
    """An equal one is asked again; two questions have an answer each, and None is one."""
    asked: list[Attribute] = []

    @memoized
    def width(type: IntegerType) -> int:
        asked.append(type)
        return type.width.data

    @memoized
    def nothing(type: Attribute) -> None:
        asked.append(type)

    one, other = IntegerType(13), IntegerType(13)
    for type in (one, one, other):
        assert width(type) == 13
        assert nothing(type) is None
    assert [id(type) for type in asked] == [id(one), id(one), id(other), id(other)]
    assert one == other
    assert hash(one) == hash(other)


def test_what_is_kept_changes_no_attribute() -> None:
    """It is written, and made anew, as before."""
    type = VectorType(f32, [3])
    text = str(type)

    @memoized
    def written(type: Attribute) -> str:
        return str(type)

    assert written(type) == text
    assert str(type) == text
    assert type == VectorType(f32, [3])


def test_numbers_have_the_type_that_their_array_is_asked_for() -> None:
    """Lists are i64, segments i32, also where the numbers are equal."""
    long, short = integers([1, 0]), segments(1, 0)
    assert isinstance(long, DenseArrayBase)
    assert (long.elt_type, short.elt_type) == (i64, i32)
    assert long.get_values() == short.get_values() == (1, 0)


def test_the_numbers_of_a_list() -> None:
    """Those it was made of, or those that another's bytes hold."""
    numbers = (3, -1, 1 << 20)
    others = DenseArrayBase.from_list(i32, numbers)
    assert segments(*numbers) == others
    for made in (integers(numbers), segments(*numbers), others):
        assert isinstance(made, DenseArrayBase)
        assert tuple(values_of(made)) == tuple(made.get_values()) == numbers
