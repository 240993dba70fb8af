"""Values in the memory of the one before them: when, and which frames are not written again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.plan import Call, Frame, Plan
from ncc.dialects.comprehension import Builder, Tensor
from tests.compiler.linalg.computations import relu

MakeNetwork = Callable[..., ModuleOp]
MakePlan = Callable[[ModuleOp], Plan]

ROWS = 8


def box(b: Builder, x: Tensor) -> Tensor:
    """Sums of 3x3 windows."""
    c, p, q, k, m = b.loops(f"c p:{x.shape[1] - 2} q:{x.shape[2] - 2} k:3 m:3")
    return b.sum((c, p, q), (k, m), x[c, p + k, q + m])


def copies(plan: Plan) -> list[Call]:
    return [
        step
        for step in plan.steps
        if isinstance(step, Call) and step.function.sym_name.data.startswith("copy")
    ]


@pytest.mark.parametrize(("kept", "same"), [(1, True), (4, True), (5, False), (7, False)])
def test_rows_that_stay_apart(
    make_network: MakeNetwork, make_plan: MakePlan, kept: int, same: bool
) -> None:
    """The last rows of a value are the first of the next one, copied in place if that can be."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        last = b.slice(relu(b, x), [0, ROWS - kept, 0], [4, kept, 16])
        return relu(b, b.concat([last, relu(b, y)], axis=1))

    (copy,) = copies(make_plan(make_network([(4, ROWS, 16), (4, ROWS - kept, 16)], write)))
    old, new = (place.root for place in copy.places)
    assert (old.byte_offset == new.byte_offset) == same


def test_memory_that_is_still_read(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A value that is read again keeps its memory."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        before = relu(b, x)
        whole = b.concat([b.slice(before, [0, 6, 0], [4, 2, 16]), relu(b, y)], axis=1)
        loops = b.loops_of(whole.shape)
        return b.map(loops, whole[loops] + before[loops])

    (copy,) = copies(make_plan(make_network([(4, ROWS, 16), (4, 6, 16)], write)))
    old, new = (place.root for place in copy.places)
    assert old.byte_offset != new.byte_offset


def test_memory_that_was_begun_before(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A value of which a part is there while another one still is needed has memory of its own."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        rows, before = relu(b, y), relu(b, x)
        return relu(b, b.concat([b.slice(before, [0, 6, 0], [4, 2, 16]), rows], axis=1))

    (copy,) = copies(make_plan(make_network([(4, ROWS, 16), (4, 6, 16)], write)))
    old, new = (place.root for place in copy.places)
    assert old.byte_offset != new.byte_offset


def test_memory_of_another_size(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Rows of a longer value lie as those of a shorter one, but have no room in its memory."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        last = b.slice(relu(b, x), [6, 0], [2, 16])
        return relu(b, b.concat([last, relu(b, y)], axis=0))

    (copy,) = copies(make_plan(make_network([(ROWS, 16), (ROWS, 16)], write)))
    old, new = (place.root for place in copy.places)
    assert old.byte_offset != new.byte_offset


def test_a_frame_is_written_once(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Columns beside the rows are there already; a row below the last ones is not."""

    def write(b: Builder, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        held, sums = relu(b, x), []
        for rows in (y, z):
            sums.append(box(b, b.pad(held, [0, 0, 1], [0, 0, 1])))
            last = b.slice(held, [0, ROWS - 2, 0], [4, 2, 16])
            held = b.concat([last, relu(b, rows)], axis=1)
        sums.append(box(b, b.pad(held, [0, 0, 1], [0, 1, 1])))
        return b.concat(sums, axis=1)

    shapes = [(4, ROWS, 16), (4, ROWS - 2, 16), (4, ROWS - 3, 16)]
    plan = make_plan(make_network(shapes, write))
    frames = [step for step in plan.steps if isinstance(step, Frame)]
    assert [frame.high for frame in frames] == [(0, 0, 1), (0, 1, 1)]
    first, second = copies(plan)
    assert first.places[0].root.byte_offset == first.places[1].root.byte_offset
    at = list(plan.steps).index(second)
    assert plan.steps[at + 1] is frames[1]
