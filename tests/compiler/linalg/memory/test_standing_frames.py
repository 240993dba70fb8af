"""Frames that stand are not written again; those that something else was written over are."""

from __future__ import annotations

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.linalg.memory.standing_frames import borders_of, without_standing_frames
from ncc.compiler.plan import Call, Frame, Kind, Place, Root, Step

SHAPE, BYTES = (4, 4), 64
VALUE = Block(arg_types=[TensorType(f32, SHAPE)]).args[0]


def root(offset: int, kind: Kind = Kind.ARENA) -> Root:
    return Root(kind, 16, 4, 0, VALUE, offset)


def frame(of: Root, value: float = 0.0) -> Frame:
    return Frame(Place(of, 0, (4, 1)), SHAPE, (1, 1), (1, 1), value)


def write(into: Root) -> Call:
    return Call(func.FuncOp("k", ((), ())), (), (Place(into, 0, (4, 1)),), ())


def again(*steps: Step) -> bool:
    """Whether the last of the steps, a frame, is written; all others are."""
    left = list(without_standing_frames(steps, borders_of(steps)))
    assert left[: len(steps) - 1] == list(steps[:-1])
    return len(left) == len(steps)


def test_values_that_take_turns_share_a_frame() -> None:
    """Each is written inside of it."""
    first, second = root(0), root(0)
    assert not again(frame(first), write(first), frame(second))


@pytest.mark.parametrize(
    ("offset", "over"),
    [(0, True), (BYTES - 4, True), (4 - BYTES, True), (BYTES, False), (-BYTES, False)],
)
def test_what_is_written_over_a_frame_takes_it_away(offset: int, over: bool) -> None:
    """By a value that has no such frame, if they have any byte in common."""
    first, other, second = root(128), root(128 + offset), root(128)
    assert again(frame(first), write(first), write(other), frame(second)) == over


def test_a_frame_elsewhere_or_of_another_value_is_written() -> None:
    """Also of a zero with a sign."""
    first = root(0)
    assert again(frame(first), frame(root(BYTES)))
    assert again(frame(first), frame(root(0), 1.0))
    assert again(frame(first), frame(root(0), -0.0))


def test_only_the_arena_keeps_frames() -> None:
    """The memory of an output is another one in each run, and none of the arena's."""
    first = root(0, Kind.OUTPUT)
    assert again(frame(first), frame(first))
    assert not again(frame(root(0)), write(first), frame(root(0)))
