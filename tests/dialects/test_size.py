"""Sizes compute as integers do, and note what a comparison assumes."""

from __future__ import annotations

import copy
import pickle
from math import ceil, floor, inf, trunc
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from ncc.dialects.size import (
    Assumption,
    NeedsNumbers,
    Size,
    are_equal,
    assuming,
    begun,
    by_hint,
    form_of,
    hint,
    hint_of_inputs,
    in_all_tiles,
    in_full_tile,
    in_last_tile,
    is_equal,
    is_never_below,
    is_of_tile,
    is_open,
    largest,
    most_of,
    smallest,
    symbol_in,
    tile_size,
)
from tests.dialects.sizes import EXTENTS, H, W, expressions, values


def test_arithmetic_gives_sizes_and_numbers() -> None:
    """A number where the sizes cancel."""
    assert (str((H - 3) // 2 + 1), hint((H - 3) // 2 + 1)) == ("[(h + 1) // 2 - 1]", 111)
    assert divmod(H * 4 + 3, 4) == (H, 3)
    assert (7 - H, -H, 448 // H) == (-(H - 7), 0 - H, 448 // H)
    assert divmod(448, H) == (448 // H, 448 - 448 // H * H)
    assert [str(one) for one in (+H, floor(H), ceil(H), trunc(H), abs(H), abs(-H))] == ["[h]"] * 6
    assert not is_open(H - H + 1, 4 * W // W)


ANSWERS = {
    "__bool__", "__eq__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__", "__ne__",
    "__format__", "__repr__", "__str__",
}  # fmt: skip
OF_ALL_INTEGERS = {"denominator", "imag", "is_integer"}
OF_COSTS = {"__float__", "__truediv__", "__rtruediv__"}
OF_C = {"__index__", "to_bytes"}
OF_OBJECTS = {
    "__class__", "__delattr__", "__dir__", "__doc__", "__getattribute__", "__getnewargs__",
    "__getstate__", "__init__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__",
    "__setattr__", "__sizeof__", "__subclasshook__", "from_bytes",
}  # fmt: skip
EXACT = sorted({*dir(int)} - ANSWERS - OF_ALL_INTEGERS - OF_COSTS - OF_C - OF_OBJECTS)


def answer(name: str, of: int, *others: int) -> Any:
    """What a method, or an attribute, says of a number; None if it takes other arguments."""
    found = getattr(of, name, None)
    try:
        return found(*others) if callable(found) else found
    except TypeError:
        return None


@pytest.mark.parametrize("name", EXACT)
def test_an_operation_is_exact_or_raises(name: str) -> None:
    """Whatever else integers can: none gives the number for the hint."""
    for others in ((), (5,), (5, 7)):
        try:
            found = answer(name, H, *others)
        except NeedsNumbers:
            continue
        of_hint = answer(name, hint(H), *others)
        assert found is None or found is NotImplemented or found != of_hint


def test_floats_see_the_hint() -> None:
    """Costs are such numbers."""
    assert (H * 0.5, 0.5 * H, H / 2, 448 / H, float(H)) == (112.0, 112.0, 112.0, 2.0, 224.0)


def test_equal_is_the_same_expression() -> None:
    """No number is, whatever the hint; and a size is true."""
    with assuming() as assumed:
        assert H == Size.symbol("h", 224)
        assert H != 224
        assert H != W
        assert (H + 3) // 4 in {(H + 3) // 4: 1}
        assert H - 224
    assert not assumed


def test_what_is_certain_is_not_assumed() -> None:
    """Whatever the inputs."""
    with assuming() as assumed:
        assert H > 0
        assert (H + 3) // 4 <= H
        assert not H < 1
        assert is_never_below(H, 1)
        assert not is_never_below(H, 2)
        assert not is_equal(H + 1, H)
        assert -inf < H < inf
        assert 0.5 < H
    assert not assumed


def test_what_holds_for_the_hint_is_assumed() -> None:
    """Each comparison with its answer."""
    with assuming() as assumed:
        assert H > 3
        assert H < 1000.5
        assert not H >= W
        assert is_equal(H, 224)
        assert not is_equal(H, W)
        assert are_equal((3, H), (3, 224))
        assert not are_equal((3, H), (3,))
    assert [str(one) for one in assumed] == [
        "h >= 4",
        "h <= 1000",
        "w >= h + 1",
        "h == 224",
        "h != w",
    ]


def test_decisions_about_costs_assume_nothing() -> None:
    """As a block, and as a decorator."""

    @by_hint()
    def is_large(size: int) -> bool:
        return size > 100

    with assuming() as assumed:
        assert is_large(H)
        with by_hint():
            assert H < W
            assert is_equal(H, 224)
            assert not H - 224
            assert H != 224
    assert not assumed
    assert is_large(101)


def test_blocks_inside_of_blocks() -> None:
    """The outer one has what the inner one assumes, unless that keeps it."""
    with assuming() as outer:
        with assuming() as inner:
            assert H > 3
        with assuming(kept=False) as alone:
            assert W > 3
    assert list(outer) == list(inner) == [Assumption(form_of(H - 4), ">=")]
    assert list(alone) == [Assumption(form_of(W - 4), ">=")]


@pytest.mark.parametrize(("relation", "holds"), [(">=", [0, 1]), ("==", [0]), ("!=", [-1, 1])])
def test_an_assumption_holds(relation: str, holds: list[int]) -> None:
    """By the value of its form."""
    assumption = Assumption(form_of(H), relation)
    assert [value for value in (-1, 0, 1) if assumption.holds(value)] == holds


def test_the_largest_and_the_smallest() -> None:
    """Without those that another one is never beyond."""
    assert largest(H, H + 3, 1) == H + 3
    assert smallest(H, H + 3) == H
    assert str(largest(H, W, 0)) == "[max(h, w)]"
    assert (largest(3, 5), smallest(3, 5)) == (5, 3)


def test_a_part_that_the_hint_does_not_have() -> None:
    """Decisions take it for its size elsewhere; its value for an input is what it was."""
    single = largest(0, 2 - H, hint=1)
    assert (hint(single), hint(H - single), most_of(single)) == (1, 223, 1)
    assert [form_of(single).value({"h": h}) for h in (1, 2, 3)] == [1, 0, 0]
    assert single != largest(0, 2 - H)
    assert largest(0, H, hint=1) == H and largest(0, 3, hint=1) == 3


def test_the_size_of_a_tile() -> None:
    """It is a number in the last iteration of a loop, and another one in all others."""
    whole = (H - 1) // 8
    rows = tile_size(8, H - 8 * whole)
    assert str(rows) == "[tile(8, -8 * ((h + 7) // 8) + h + 8)]" and hint(rows) == 8
    read = 4 * (rows // 2) + 2
    assert is_of_tile(read) and not is_of_tile(H, 8)
    assert in_full_tile(read) == 18
    assert in_last_tile(read) == 4 * ((H - 8 * whole) // 2) + 2
    assert in_all_tiles(rows, whole + 1) == H
    assert in_all_tiles(7, whole) == 7 * whole
    assert tile_size(H, H) == H and in_last_tile(8) == 8


def test_a_tile_is_bounded_by_a_full_one() -> None:
    """It is never negative."""
    rows = tile_size(8, H - 8 * ((H - 1) // 8))
    with assuming() as assumed:
        assert rows >= 0 and rows <= 8 and not rows > 8
    assert not assumed
    assert most_of(rows) == 8


def test_what_is_assumed_of_a_tile() -> None:
    """It is assumed of a full one, and of the last one."""
    with assuming() as assumed:
        assert tile_size(W, H - 3) > 2
    assert list(map(str, assumed)) == ["w >= 3", "h >= 6"]


def test_the_hint_of_inputs() -> None:
    """The largest of those that a size depends on."""
    assert hint_of_inputs(H // 16) == 224
    assert hint_of_inputs(H * W) == 256
    assert hint_of_inputs(7) == 7


def test_the_most_of_a_size() -> None:
    """As far as it is known."""
    assert most_of(4 * ((H + 3) // 4) - H) == 3
    assert most_of(H) is None
    assert most_of(7) == 7
    assert most_of(Size.symbol("h", 8, 1, 16)) == 16


def test_copies_are_the_same_size() -> None:
    """Also those that another process reads."""
    size = (H + 3) // 4 * W
    for same in (copy.copy(size), copy.deepcopy(size), pickle.loads(pickle.dumps(size))):
        assert isinstance(same, Size)
        assert (same, hint(same)) == (size, hint(size))


@given(expressions(), values())
def test_what_a_comparison_assumes_decides_it(expression: str, at: dict[str, int]) -> None:
    """For all extents at which the assumptions hold, the answer is right."""
    value = eval(expression, {**EXTENTS, **at})
    with assuming() as assumed:
        size = eval(expression, dict(EXTENTS))
        answers = (size > 7, size <= 3, is_equal(size, 5))
    if all(one.holds(one.form.value(at)) for one in assumed):
        assert answers == (value > 7, value <= 3, value == 5)


def test_numpy_needs_numbers() -> None:
    """It would take the number for the hint."""
    for compute in (lambda: np.float32(2) * H, lambda: H + np.ones(3), lambda: np.maximum(H, 3)):
        with pytest.raises(NeedsNumbers, match="numpy"):
            compute()


def test_the_extent_that_a_size_is() -> None:
    """None where it is more than that."""
    h = Size.symbol("h", 224)
    found = symbol_in(h)
    assert found is not None and found.name == "h"
    assert symbol_in(3) is None and symbol_in(h + 1) is None and symbol_in(2 * h) is None


def test_a_first_run_has_empty_caches() -> None:
    """Extents that cannot be 0 stay."""
    past, new = Size.symbol("past", 224, least=0), Size.symbol("new", 8)
    assert begun((4, past, past + 3)) == (4, 0, 3)
    assert begun((new, past + new, 2)) == (new, new, 2)
