"""What the shapes of a call decide: shapes of outputs, the arena, the numbers of the code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ncc.runtime.arena import Lifetimes
from ncc.runtime.errors import ArtifactError
from ncc.runtime.manifest import Fields
from ncc.runtime.program import Condition, Extent, Program
from ncc.runtime.sizes import NOWHERE, Sized, Sizes

ADD, SUBTRACT, MULTIPLY = range(3)

# Nodes: 0 h, 1 w, 2 is 256, 3 is 4, 4 h * w, 5 256 * h * w, 6 4 * w, 7 w - 4
SIZES = Sizes(
    Program(
        (Extent(0, 1, "data_h"), Extent(0, 2, "data_w")),
        (256, 4),
        (*(MULTIPLY, 0, 1), *(MULTIPLY, 4, 2), *(MULTIPLY, 1, 3), *(SUBTRACT, 1, 3)),
    ),
    (Condition(7, ">="),),
    ((3, 0, 1),),
    (5, 6),
    Lifetimes(((0, 1), (1, 2))),
    ((4, NOWHERE), (6, 0), (6, 1)),
)


def read(told: dict[str, Any]) -> Sizes:
    """The sizes of a file that says this."""
    return Sizes.read(Fields(json.loads(json.dumps(told)), ArtifactError), [3], [3])


def test_shapes_decide_what_a_run_needs() -> None:
    """A number that is in a buffer has its offset in the arena added."""
    sized = SIZES.at([(3, 2, 5)])
    assert isinstance(sized, Sized)
    assert sized.outputs == ((4, 2, 5),)
    assert sized.arena_bytes == 2560 + 64
    assert sized.numbers is not None and list(sized.numbers) == [10, 20, 2560 + 20]


def test_the_condition_that_does_not_hold_is_told() -> None:
    """As an expression of extents, by their names."""
    assert SIZES.at([(3, 2, 3)]) == "data_w >= 4"
    assert isinstance(SIZES.at([(3, 2, 4)]), Sized)


def test_a_file_gives_them_back() -> None:
    """As they were written."""
    assert read(SIZES.as_json()) == SIZES


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"outputs": [[0, 1]]}, "those of other outputs"),
        ({"outputs": [[0, 1, "2"]]}, "are not numbers"),
        ({"outputs": [[0, 1, 8]]}, "need a node that is not there"),
        ({"buffers": [[8, 0, 1], [6, 1, 2]]}, "need a node that is not there"),
        ({"buffers": [[5, 1, 0], [6, 1, 2]]}, "a lifetime in the manifest is impossible"),
        ({"buffers": [[5, 0, 1 << 30], [6, 1, 2]]}, "a lifetime in the manifest is impossible"),
        ({"numbers": [[4, 2]]}, "a number in the manifest is in a buffer that is not there"),
        ({"numbers": [[4, -2]]}, "a number in the manifest is in a buffer that is not there"),
        ({"numbers": [[4]]}, "numbers in the manifest has not 2 values"),
        ({"conditions": [[99, ">="]]}, "a condition in the manifest is unknown"),
    ],
)
def test_wrong_sizes_are_refused(changes: dict[str, Any], why: str) -> None:
    """Each field has its meaning checked."""
    with pytest.raises(ArtifactError, match=why):
        read({**SIZES.as_json(), **changes})
