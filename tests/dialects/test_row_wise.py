"""Rows that the run counts, followed through the linalg level."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import Block

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.row_wise import are_row_wise, share_a_count, with_header
from ncc.dialects.statements import Code

Made = Callable[[Builder, Tensor, Tensor], Tensor]


def rows(b: Builder, most: int = 5) -> Tensor:
    """Rows of 4, of `most` at most, and what else there is: (4)."""
    code = Code([], [((most, 4), f32), ((1,), i64)])
    code.results[1][0] = code.whole(0)
    return b.counted_code(code.operation())[0]


def follows(made: Made, most: int = 5) -> bool:
    block = Block(arg_types=[TensorType(f32, [4])])
    b = Builder(block)
    x, other = rows(b, most), Tensor(block.args[0], (4,))
    before = len(list(block.ops))
    y = made(b, x, other)
    return are_row_wise(list(block.ops)[before:], [x, other], [y])


def doubled(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] + x[at])


def plus_vector(b: Builder, x: Tensor, v: Tensor) -> Tensor:
    i, j = b.loops("i j")
    return b.map((i, j), x[i, j] + v[j])


def plus_column(b: Builder, x: Tensor, v: Tensor) -> Tensor:
    i, j = b.loops("i j")
    return b.map((i, j), x[i, j] + v[i])


def turned(b: Builder, x: Tensor, v: Tensor) -> Tensor:
    i, j = b.loops("i j")
    return b.map((j, i), x[i, j])


def sum_of_each(b: Builder, x: Tensor, v: Tensor) -> Tensor:
    i, j = b.loops("i j")
    return b.sum((i,), over=(j,), of=x[i, j])


def sum_of_all(b: Builder, x: Tensor, v: Tensor) -> Tensor:
    i, j = b.loops("i j")
    return b.sum((j,), over=(i,), of=x[i, j])


def running(b: Builder, x: Tensor, v: Tensor) -> Tensor:
    code = Code([x], [(x.shape, f32)])
    return b.code(code.operation())[0]


ROW_WISE: dict[str, Made] = {
    "itself": lambda b, x, v: x,
    "each element": lambda b, x, v: doubled(b, x),
    "a vector for all": plus_vector,
    "a sum of each": sum_of_each,
    "through a flat shape": lambda b, x, v: b.reshape(doubled(b, b.reshape(x, (20,))), (5, 2, 2)),
    "columns": lambda b, x, v: b.slice(x, (0, 1), (5, 2)),
    "beside each other": lambda b, x, v: b.concat([x, doubled(b, x)], 1),
    "a border": lambda b, x, v: b.pad(x, (0, 1), (0, 0)),
    "no part of it": lambda b, x, v: plus_vector(b, x, doubled(b, v)),
}

ACROSS: dict[str, Made] = {
    "a vector, one for each": lambda b, x, v: plus_column(b, b.slice(x, (0, 0), (4, 4)), v),
    "turned": turned,
    "a sum of all": sum_of_all,
    "flat": lambda b, x, v: b.reshape(x, (20,)),
    "some rows": lambda b, x, v: b.slice(x, (1, 0), (4, 4)),
    "above each other": lambda b, x, v: b.concat([x, doubled(b, x)], 0),
    "a border above": lambda b, x, v: b.pad(x, (1, 0), (0, 0)),
    "loops of its own": running,
    "other values": lambda b, x, v: doubled(b, v),
}


@pytest.mark.parametrize("case", ROW_WISE)
def test_row_by_row(case: str) -> None:
    """What makes row k of row k."""
    assert follows(ROW_WISE[case])


@pytest.mark.parametrize("case", ACROSS)
def test_across_rows(case: str) -> None:
    """What makes a row of several, moves them, or cannot be told."""
    assert not follows(ACROSS[case])


def test_a_column_of_as_many_elements() -> None:
    """Where there can be four rows, a vector of four may be walked with them: it is refused."""
    assert follows(plus_vector, most=4)
    assert not follows(plus_column, most=4)


def test_rows_of_another_length() -> None:
    """Three elements of four, and one of the next: no row is made of one row."""
    assert not follows(lambda b, x, v: b.reshape(x, (8, 3)), most=6)


def test_one_row_at_most() -> None:
    """A walk over one row is a walk over all."""
    assert follows(sum_of_each, most=1) and follows(plus_vector, most=1)


def test_two_counts() -> None:
    """Rows that two operations found have nothing in common."""
    b = Builder(Block())
    one, other = rows(b), rows(b)
    assert share_a_count([one, one]) and not share_a_count([one, other])


def test_an_output_is_found_with_its_count() -> None:
    """Rows are copied to stand before their count, where they do not."""
    b = Builder(Block())
    x = rows(b)
    assert with_header(b, x) is x
    made = with_header(b, Tensor(doubled(b, x).value, x.shape, x.count))
    assert made.shape == x.shape and made.count is not None
    assert made.value.owner is made.count.value.owner
