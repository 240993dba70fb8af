"""Intact halos are not filled again; overwritten ones are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.linalg.memory.standing_halos import borders_of, without_standing_halos
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Step, Subview
from ncc.dialects.size import Size

SHAPE, BYTES = (4, 4), 64
VALUE = Block(arg_types=[TensorType(f32, SHAPE)]).args[0]


def buffer(offset: int, kind: Kind = Kind.ARENA) -> Buffer:
    return Buffer(kind, 16, 4, 0, VALUE, offset)


def halo(of: Buffer, value: float = 0.0) -> Halo:
    return Halo(Subview(of, 0, (4, 1)), SHAPE, (1, 1), (1, 1), value)


def write(into: Buffer) -> Call:
    return Call(func.FuncOp("k", ((), ())), (), (Subview(into, 0, (4, 1)),), ())


def again(*steps: Step) -> bool:
    """Whether the last of the steps, a halo, is filled; all others are."""
    left = list(without_standing_halos(steps, borders_of(steps)))
    assert left[: len(steps) - 1] == list(steps[:-1])
    return len(left) == len(steps)


def test_values_of_one_offset_share_a_halo() -> None:
    """Each is written inside of it."""
    first, second = buffer(0), buffer(0)
    assert not again(halo(first), write(first), halo(second))


@pytest.mark.parametrize(
    ("offset", "over"),
    [(0, True), (BYTES - 4, True), (4 - BYTES, True), (BYTES, False), (-BYTES, False)],
)
def test_what_is_written_over_a_halo_ends_it(offset: int, over: bool) -> None:
    """By a value that has no such halo, if they have any byte in common."""
    first, other, second = buffer(128), buffer(128 + offset), buffer(128)
    assert again(halo(first), write(first), write(other), halo(second)) == over


def test_a_halo_elsewhere_or_of_another_value_is_written() -> None:
    """Also of a zero with a sign."""
    first = buffer(0)
    assert again(halo(first), halo(buffer(BYTES)))
    assert again(halo(first), halo(buffer(0), 1.0))
    assert again(halo(first), halo(buffer(0), -0.0))


def test_parts_of_the_arena_have_halos_of_their_own() -> None:
    """Where the run lays out the arena, parts in use at one time are apart. In one part, memory is
    apart if it is for all inputs.
    """
    width = Size.symbol("w", 9)
    parts = [replace(buffer(0), part=number) for number in (0, 1, 0)]
    assert not again(halo(parts[0]), write(parts[1]), halo(parts[2]))
    assert again(halo(parts[0]), halo(parts[1]))
    for offset, over in ((4 * width, True), (64 * width, False)):
        behind = replace(buffer(offset), part=0)
        assert again(halo(parts[0]), write(behind), halo(parts[2])) == over


def test_only_the_arena_keeps_halos() -> None:
    """The memory of an output is another one in each run, and none of the arena's."""
    first = buffer(0, Kind.OUTPUT)
    assert again(halo(first), halo(first))
    assert not again(halo(buffer(0)), write(first), halo(buffer(0)))
