"""Expressions of the compiler as a program of the runtime."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncc.compiler.artifact.size_program import ProgramWriter, needed, symbols_of
from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.size import Assumption, Size, form_of, hint, largest, smallest
from ncc.dialects.size_atoms import Symbol
from tests.dialects import sizes
from tests.dialects.sizes import expressions, values

H, W = Size.symbol("data_h", 224), Size.symbol("data_w", 256, 2, 640)
SHAPE = (3, H, W)

EXPRESSIONS = [
    7,
    -7,
    H,
    H - W,
    -H,
    4 * H * W - 4 * W + 12,
    (H + 1) // 2,
    64 * ((H + 1) // 2) * ((W + 3) // 4),
    H // W,
    largest(H, W + 3),
    smallest(H * W, 100),
    H % 5,
    (H - 300) // 7,
]


def test_a_program_computes_what_expressions_say() -> None:
    """For the hint and for other inputs."""
    writer = ProgramWriter(symbols_of([SHAPE]))
    nodes = [writer.number(value) for value in EXPRESSIONS]
    program = writer.program()
    rng = Random(0)
    for _ in range(20):
        h, w = rng.randint(1, 400), rng.randint(2, 640)
        values = program.values([(3, h, w)])
        for node, expression in zip(nodes, EXPRESSIONS, strict=True):
            wanted = form_of(expression).value({"data_h": h, "data_w": w})
            assert values[writer.place(node)] == wanted
    assert program.values([(3, 224, 256)])[writer.place(nodes[5])] == hint(EXPRESSIONS[5])


@given(st.lists(expressions(), max_size=5), values())
def test_a_program_computes_any_expressions(texts: list[str], at: dict[str, int]) -> None:
    """Together, and also where they are negative, or quotients of negative numbers."""
    writer = ProgramWriter(symbols_of([(sizes.H, sizes.W)]))
    asked = [eval(text, dict(sizes.EXTENTS)) for text in texts]
    nodes = [writer.number(size) for size in asked]
    found = writer.program().values([(at["h"], at["w"])])
    assert [found[writer.place(node)] for node in nodes] == [form_of(n).value(at) for n in asked]


def test_an_expression_is_computed_once() -> None:
    """Also as a part of another one, and with its operands in another order."""
    writer = ProgramWriter(symbols_of([SHAPE]))
    first = writer.number(((H + 1) // 2) * W)
    count = writer.program().nodes
    assert writer.number(W * ((H + 1) // 2)) == first
    assert writer.program().nodes == count
    writer.number(((H + 1) // 2) * W * 4)
    assert writer.program().nodes == count + 2  # the 4, and the product


def test_extents_are_found_by_their_symbols() -> None:
    """Where an input has a number, or another one's extent, there is none."""
    other = Size.symbol("other_w", 8)
    assert symbols_of([SHAPE, (other, H, 2)]) == {
        Symbol("data_h", 224): (0, 1),
        Symbol("data_w", 256, 2, 640): (0, 2),
        Symbol("other_w", 8): (1, 0),
    }


def test_an_extent_of_no_input_is_a_bug() -> None:
    """The runtime could not know it."""
    writer = ProgramWriter(symbols_of([(3, H, 4)]))
    with pytest.raises(CompilerBug, match="data_w is no extent of an input"):
        writer.number(W)


def assumed(value: int, relation: str) -> Assumption:
    """That a size compares so with 0."""
    return Assumption(form_of(value), relation)


def test_what_another_assumption_implies_is_left_out() -> None:
    """The strictest of those about one expression is kept, also of its multiples."""
    found = needed(
        [
            assumed(H - 3, ">="),
            assumed(2 * H - 9, ">="),  # h >= 4.5, so h >= 5
            assumed(H - 4, ">="),
            assumed(-H + 100, ">="),
            assumed(W - 3, "!="),
            assumed(W - 3, "!="),
            assumed(H - W, "=="),
        ]
    )
    assert list(map(str, found)) == [
        "data_h >= 5",
        "data_h <= 100",
        "data_w != 3",
        "data_h == data_w",
    ]
