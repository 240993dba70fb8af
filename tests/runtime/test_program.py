"""Integers that the shapes of the inputs decide, computed by a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ncc.runtime.errors import ArtifactError
from ncc.runtime.manifest import Fields
from ncc.runtime.program import OPERATIONS, Condition, Extent, Program, read_condition

ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, MOST = range(len(OPERATIONS))

HEIGHT, WIDTH = Extent(0, 1, "data_h"), Extent(0, 2, "data_w")

# Nodes: 0 h, 1 w, 2 is 3, 3 is 2, 4 h - 3, 5 (h - 3) // 2, 6 that * w, 7 min, 8 max, 9 h + w
PROGRAM = Program(
    (HEIGHT, WIDTH),
    (3, 2),
    (
        *(SUBTRACT, 0, 2),
        *(DIVIDE, 4, 3),
        *(MULTIPLY, 5, 1),
        *(LEAST, 0, 1),
        *(MOST, 0, 1),
        *(ADD, 0, 1),
    ),
)

DOUBLED = [number for at in range(4, 13) for number in (ADD, at, at)]
"""Each node is twice the one before."""


def read(told: object, ranks: tuple[int, ...] = (3,)) -> Program:
    """The program of a file that says this."""
    return Program.read(Fields(json.loads(json.dumps(told)), ArtifactError), ranks)


def test_every_node_is_computed_of_earlier_ones() -> None:
    """Quotients are rounded down, below zero as well."""
    assert PROGRAM.values([(3, 10, 7)]) == [10, 7, 3, 2, 7, 3, 21, 7, 10, 17]
    assert PROGRAM.values([(3, 2, 7)])[4:6] == [-1, -1]
    assert PROGRAM.nodes == 10


def test_extents_are_those_of_any_input() -> None:
    """By the place of the input and of the axis."""
    program = Program((Extent(1, 0, "b_w"), Extent(0, 1, "a_h")), (), (ADD, 0, 1))
    assert program.values([(3, 40), (2,)]) == [2, 40, 42]


def test_nothing_is_divided_by_zero() -> None:
    """Where the divisor is 0, a condition does not hold: that is told, after all is computed."""
    program = Program((HEIGHT, WIDTH), (), (DIVIDE, 0, 1))
    assert program.values([(3, 8, 0)])[2] == 0


@pytest.mark.parametrize(
    ("relation", "code", "shown"),
    [
        (">=", (SUBTRACT, 0, 2), "data_h >= 3"),
        (">=", (SUBTRACT, 2, 0), "data_h <= 3"),
        ("==", (SUBTRACT, 0, 1), "data_h == data_w"),
        ("==", (SUBTRACT, 2, 0), "data_h == 3"),
        ("!=", (SUBTRACT, 0, 2), "data_h != 3"),
        (">=", (ADD, 0, 1), "data_h + data_w >= 0"),
        ("==", (LEAST, 0, 1), "min(data_h, data_w) == 0"),
        (">=", (MULTIPLY, 0, 1, SUBTRACT, 4, 3), "data_h * data_w >= 2"),
        (
            ">=",
            [ADD, 1, 1, *(n for at in range(4, 13) for n in (ADD, at, at))],
            "a condition on data_w",
        ),
    ],
)
def test_a_condition_is_shown_as_a_comparison(
    relation: str, code: Sequence[int], shown: str
) -> None:
    """Numbers stand on the right. Of a long one, the extents are named."""
    program = Program((HEIGHT, WIDTH), (3, 2), tuple(code))
    assert program.text(Condition(program.nodes - 1, relation)) == shown


def test_a_file_gives_it_back() -> None:
    """As it was written."""
    assert read(PROGRAM.as_json()) == PROGRAM


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"code": [ADD, 0]}, "an instruction in the manifest is unknown"),
        ({"code": [len(OPERATIONS), 0, 1]}, "an instruction in the manifest is unknown"),
        ({"code": [ADD, 0, 4]}, "an instruction in the manifest needs a later one"),
        ({"code": [ADD, 0, -1]}, "code in the manifest is out of range"),
        ({"constants": ["3"]}, "constants in the manifest is not a list of numbers"),
        ({"constants": [1 << 60]}, "constants in the manifest is out of range"),
        ({"extents": [[0, 3, "h"]]}, "an extent in the manifest is none of an input"),
        ({"extents": [[1, 0, "h"]]}, "an extent in the manifest is none of an input"),
        ({"extents": [[0, 1, 2]]}, "an extent in the manifest is none of an input"),
        ({"extents": [[0, 1]]}, "extents in the manifest has not 3 values in each row"),
        ({"extents": [3]}, "extents in the manifest is not a list of lists"),
    ],
)
def test_a_wrong_program_is_refused(changes: dict[str, Any], why: str) -> None:
    """Before anything is computed."""
    with pytest.raises(ArtifactError, match=why):
        read({**PROGRAM.as_json(), **changes})


@pytest.mark.parametrize(
    ("relation", "values", "others"),
    [(">=", [0, 5], [-1]), ("==", [0], [-1, 1]), ("!=", [-1, 1], [0])],
)
def test_a_condition_compares_with_zero(
    relation: str, values: list[int], others: list[int]
) -> None:
    """Each relation."""
    condition = read_condition([4, relation], PROGRAM, ArtifactError)
    assert condition == Condition(4, relation)
    assert all(map(condition.holds, values)) and not any(map(condition.holds, others))


@pytest.mark.parametrize("row", [[10, ">="], [-1, ">="], [0, "<"], ["0", ">="], [0]])
def test_a_wrong_condition_is_refused(row: list[Any]) -> None:
    """A node that is not there, a relation that nobody knows."""
    with pytest.raises(ArtifactError, match="a condition in the manifest is unknown"):
        read_condition(row, PROGRAM, ArtifactError)
