"""A matrix times a vector by additions: the right numbers, and few operations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncc.compiler.linalg.convolutions.forms import F2, F4, F4_5
from ncc.compiler.loops.emit.combination import combine, together

Rows = tuple[tuple[float, ...], ...]


class Counted:
    """Arithmetic on numbers that counts its operations."""

    def __init__(self) -> None:
        self.operations = 0

    def add(self, a: float, b: float) -> float:
        self.operations += 1
        return a + b

    def subtract(self, a: float, b: float) -> float:
        self.operations += 1
        return a - b

    def scale(self, factor: float, a: float) -> float:
        self.operations += 1
        return factor * a

    def multiply_add(self, factor: float, a: float, b: float) -> float:
        self.operations += 1
        return factor * a + b


def matrices() -> st.SearchStrategy[Rows]:
    """Small matrices of few numbers without a row of zeros: signs and pairs are frequent."""
    number = st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.0, -2.0, 4.0])
    row = st.tuples(*[number] * 5).filter(any)
    return st.lists(row, min_size=1, max_size=5).map(tuple)


@given(matrices(), st.data())
def test_any_matrix(matrix: Rows, data: st.DataObject) -> None:
    """Whatever rows share, each is its product with the inputs, which are read once at most."""
    rows = data.draw(st.permutations(range(len(matrix))))
    read: list[int] = []

    def inputs(position: int) -> float:
        read.append(position)
        return float(3**position)

    found = combine(matrix, rows, inputs, Counted())
    expected = np.array(matrix)[rows] @ [3.0**k for k in range(5)]
    np.testing.assert_array_equal(found, expected)
    assert len(read) == len(set(read))


@pytest.mark.parametrize(
    ("matrix", "operations"),
    [
        *[(F4.input, 12), (F4.output, 10), (F2.input, 4), (F2.output, 4)],
        *[(F4_5.input, 24), (F4_5.output, 16)],
    ],
)
def test_few_operations(matrix: Rows, operations: int) -> None:
    """The transforms of Winograd's forms take as few as they can be done by hand."""
    counted = Counted()
    combine(matrix, range(len(matrix)), lambda position: float(position), counted)
    assert counted.operations <= operations


def test_a_row_of_zeros() -> None:
    """A sum of nothing has no value to start from."""
    with pytest.raises(ValueError, match="zeros"):
        combine(((0.0, 0.0),), [0], float, Counted())


@given(matrices(), st.integers(2, 4), st.data())
def test_groups_have_every_row_once(matrix: Rows, most: int, data: st.DataObject) -> None:
    """No group is larger than asked for, and no row is lost."""
    rows = data.draw(st.permutations(range(len(matrix))))
    groups = together(matrix, rows, most)
    assert sorted(row for group in groups for row in group) == sorted(rows)
    assert all(0 < len(group) <= most for group in groups)


def test_rows_that_share_work_stay_together() -> None:
    """Rows 1, 2 and 3, 4 of the transform of the input differ in signs only."""
    assert together(F4.input, range(6), 2) == [[1, 2], [3, 4], [0, 5]]
    assert together(F4_5.input, range(8), 3) == [[1, 2, 0], [3, 4, 7], [5, 6]]


def test_rows_of_the_same_sums_stay_together() -> None:
    """Rows 0 and 2 of the transform of the result read sums, 1 and 3 differences."""
    assert together(F4_5.output, range(4), 3) == [[0, 2], [1, 3]]
    assert together(F4_5.output, range(4), 4) == [[0, 1, 2, 3]]
