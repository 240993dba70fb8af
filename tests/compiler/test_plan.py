"""The memory plan's own words: windows that move, frames that are alike, loops, touched memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Block

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.plan import (
    MOST_ELEMENTS,
    Buffer,
    Call,
    Halo,
    Kind,
    Loop,
    Plan,
    Subview,
    elements_of,
    halos_of,
    touched,
)
from tests.compiler.loops.rolled import moving

NONE = frozenset[Buffer]()


def subview(number: int = 0, *strides: int) -> Subview:
    """The begin of memory of its own."""
    (value,) = Block(arg_types=[f32]).args
    return Subview(Buffer(Kind.ARENA, 60, 4, number, value), 0, strides)


def call(
    operands: Sequence[Subview], results: Sequence[Subview], scratch: Sequence[Subview | None] = ()
) -> Call:
    function = func.FuncOp("kernel", ([], []))
    return Call(function, tuple(operands), tuple(results), ("conv", "relu"), tuple(scratch))


def halo(at: Subview) -> Halo:
    return Halo(at, (5, 12), (1, 0), (0, 2), 0.0)


def test_elements_that_only_the_run_knows_are_most() -> None:
    """A tensor of no axes has one, one with an axis of none has none."""
    assert [elements_of(shape) for shape in ((), (3, 4), (3, 0))] == [1, 12, 0]
    assert elements_of((3, DYNAMIC_INDEX)) == MOST_ELEMENTS


def test_a_window_moves_by_its_strides() -> None:
    """In the same memory, with the same strides, one way and back."""
    whole = subview(0, 12, 1)
    moved = whole.moved((2, 3))
    assert (moved.buffer, moved.offset, moved.strides) == (whole.buffer, 27, (12, 1))
    assert moved.moved((-2, -3)) == whole


def test_frames_are_alike_that_set_the_same_cells_to_the_same() -> None:
    """In whatever memory, but for zeros of another sign; and a number that is none is itself."""
    first, second = halo(subview(0, 12, 1)), halo(subview(1, 12, 1))
    assert first.border == second.border
    nothing = float("nan")
    assert replace(first, value=nothing).border == replace(second, value=nothing).border
    for other in (
        replace(first, value=-0.0),
        replace(first, high=(0, 1)),
        replace(first, subview=first.subview.moved((0, 1))),
        replace(first, subview=subview(0, 13, 1)),
    ):
        assert other.border != first.border


def test_what_steps_touch() -> None:
    """Operands are read; results, scratch memory beyond the stack, and frames are written."""
    x, y, scratch = (subview(number, 12, 1) for number in range(3))
    one = call([x], [y], [None, scratch])
    assert one.subviews == [x, y, scratch]
    assert touched(one) == ([x.buffer], [y.buffer, scratch.buffer])
    assert touched(halo(x)) == ([], [x.buffer])
    loop = Loop((one, call([y], [x])), 4, NONE, 2)
    assert touched(loop) == ([x.buffer, y.buffer], [y.buffer, scratch.buffer, x.buffer])
    assert loop.layers == ("conv", "relu")
    assert halos_of([halo(x), one, loop, halo(y)]).keys() == {x.buffer, y.buffer}


def test_an_iteration_is_calls_further_on() -> None:
    """Own memory stays where it is, as another buffer in each iteration; the rest moves."""
    x, v, y, scratch = (subview(number, 12, 1) for number in range(4))
    calls = call([x], [v], [None, scratch]), call([v, x], [y])
    own = frozenset((v.buffer, scratch.buffer))
    loop = Loop(moving(calls, ((24, 0, 0), (0, 24, 8))), 3, own)
    assert tuple(one.layers for one in loop.iteration(0)) == (("conv", "relu"),) * 2
    first, second = loop.iteration(2)
    assert first.operands == (x.moved((4, 0)),) == second.operands[1:]
    assert second.results == (replace(y, offset=16),)
    (held,), (nothing, kept) = first.results, first.scratch
    assert held == second.operands[0] and nothing is None and kept is not None
    for one, own_one in ((held, v), (kept, scratch)):
        assert one.buffer is not own_one.buffer and vars(one.buffer) == vars(own_one.buffer)
        assert replace(one, buffer=own_one.buffer) == own_one
    (again, _) = loop.iteration(1)
    assert again.results[0].buffer is not held.buffer


def test_own_memory_does_not_move() -> None:
    """It would be another thread's, or nobody's."""
    x, v = subview(0, 12, 1), subview(1, 12, 1)
    for threads in (1, 2):
        with pytest.raises(CompilerBug, match="moves"):
            Loop(moving([call([x], [v])], [(12, 12)]), 3, frozenset((v.buffer,)), threads)


def test_a_plan_without_loops() -> None:
    """The calls of every iteration stand in order, between the steps beside the loop."""
    x, y = subview(0, 12, 1), subview(1, 12, 1)
    calls = moving((call([x], [y]), call([y], [x])), ((12, 12), (12, 12)))
    frame, loop = halo(x), Loop(calls, 3, NONE)
    plan = Plan((frame, loop, frame), {}, (), 0, 0, ())
    begin, *found, end = plan.unrolled().steps
    assert begin is end is frame
    assert all(isinstance(step, Call) for step in found)
    assert found == [step for number in range(3) for step in loop.iteration(number)]
    assert replace(plan.unrolled(), steps=plan.steps) == plan
