"""Values in the memory of the one before them: when, and which frames are not written again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i64
from xdsl.ir import Block, Region

from ncc.compiler.linalg.memory.move_up import move_up
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Plan, Subview
from ncc.dialects.attributes import tensor_type
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.size import Size, assuming
from ncc.dialects.statements import Code
from ncc.runtime.artifact import DYNAMIC_HEADER
from tests.compiler.linalg.computations import relu
from tests.compiler.linalg.tiles import Seen, loop

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
    old, new = (subview.buffer for subview in copy.subviews)
    assert (old.byte_offset == new.byte_offset) == same


def test_memory_that_is_still_read(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A value that is read again keeps its memory."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        before = relu(b, x)
        whole = b.concat([b.slice(before, [0, 6, 0], [4, 2, 16]), relu(b, y)], axis=1)
        loops = b.loops_of(whole.shape)
        return b.map(loops, whole[loops] + before[loops])

    (copy,) = copies(make_plan(make_network([(4, ROWS, 16), (4, 6, 16)], write)))
    old, new = (subview.buffer for subview in copy.subviews)
    assert old.byte_offset != new.byte_offset


def test_memory_that_was_begun_before(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A value of which a part is there while another one still is needed has memory of its own."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        rows, before = relu(b, y), relu(b, x)
        return relu(b, b.concat([b.slice(before, [0, 6, 0], [4, 2, 16]), rows], axis=1))

    (copy,) = copies(make_plan(make_network([(4, ROWS, 16), (4, 6, 16)], write)))
    old, new = (subview.buffer for subview in copy.subviews)
    assert old.byte_offset != new.byte_offset


def test_memory_of_another_size(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Rows of a longer value lie as those of a shorter one, but have no room in its memory."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        last = b.slice(relu(b, x), [6, 0], [2, 16])
        return relu(b, b.concat([last, relu(b, y)], axis=0))

    (copy,) = copies(make_plan(make_network([(ROWS, 16), (ROWS, 16)], write)))
    old, new = (subview.buffer for subview in copy.subviews)
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
    halos = [step for step in plan.steps if isinstance(step, Halo)]
    assert [halo.high for halo in halos] == [(0, 0, 1), (0, 1, 1)]
    first, second = copies(plan)
    assert first.subviews[0].buffer.byte_offset == first.subviews[1].buffer.byte_offset
    at = list(plan.steps).index(second)
    assert plan.steps[at + 1] is halos[1]


@pytest.mark.parametrize("again", [False, True])
def test_memory_that_iterations_read(
    make_network: MakeNetwork, make_plan: MakePlan, again: bool
) -> None:
    """Rows that are copied in each iteration of a loop are not the same in the next."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        before = relu(b, x)
        last = b.slice(before, [0, ROWS - 2, 0], [4, 2, 16])
        whole = b.concat([last, relu(b, y)], axis=1)
        (made,) = loop(b, 2, [Seen(before if again else whole, 4, 4)], box)
        return b.concat([made, box(b, whole)], axis=1)

    (copy,) = copies(make_plan(make_network([(4, ROWS, 16), (4, ROWS - 2, 16)], write)))
    old, new = (subview.buffer for subview in copy.subviews)
    assert (old.byte_offset == new.byte_offset) == (not again)


@pytest.mark.parametrize("given", ["input", "output"])
def test_memory_that_is_not_the_arena(
    make_network: MakeNetwork, make_plan: MakePlan, given: str
) -> None:
    """Rows of an input, which nobody may write, and of an output, which the caller keeps."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        before = x if given == "input" else relu(b, x)
        last = b.slice(before, [0, ROWS - 2, 0], [4, 2, 16])
        whole = relu(b, b.concat([last, relu(b, y)], axis=1))
        return [whole] if given == "input" else [whole, before]

    (copy,) = copies(plan := make_plan(make_network([(4, ROWS, 16), (4, ROWS - 2, 16)], write)))
    old, new = (subview.buffer for subview in copy.subviews)
    assert (old.kind.name.lower(), new.kind) == (given, Kind.ARENA)
    assert (new.byte_offset, plan.arena_bytes) == (0, new.bytes)


def test_a_result_begins_where_its_array_does(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """Rows of a value amid the arena are copied to the caller's array, not to that place in it."""

    def write(b: Builder, x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
        large, before = relu(b, z), relu(b, x)
        last = b.slice(before, [0, ROWS - 2, 0], [4, 2, 16])
        return [b.concat([last, relu(b, y)], axis=1), box(b, large)]

    shapes = [(4, ROWS, 16), (4, ROWS - 2, 16), (4, 2 * ROWS, 16)]
    (copy,) = copies(make_plan(make_network(shapes, write)))
    old, new = (subview.buffer for subview in copy.subviews)
    assert old.kind is Kind.ARENA and old.byte_offset > 0
    assert (new.kind, new.byte_offset) == (Kind.OUTPUT, 0)


def test_a_result_keeps_its_header(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Rows that are counted stay behind their count, where the last of them are copied, too."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        rows, _ = b.code(Code([x], [(x.shape, f32), ((1,), i64)]).operation())
        last = b.slice(rows, [ROWS - 2, 0], [2, 16])
        return [rows, relu(b, b.concat([last, relu(b, y)], axis=0))]

    plan = make_plan(make_network([(ROWS, 16), (ROWS - 2, 16)], write))
    assert [buffer.byte_offset for buffer in plan.outputs] == [DYNAMIC_HEADER, 0]


def test_a_result_larger_than_what_is_read(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A row that five are made of lies amid them."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        row = b.slice(relu(b, x), [0, 4, 0], [4, 1, 16])
        c, p, q = b.loops("c:4 p:5 q:16")
        spread = b.map((c, p, q), exp(row[c, 0, q]))
        return relu(b, b.concat([spread, relu(b, y)], axis=1))

    _, spread, *_ = make_plan(make_network([(4, ROWS, 16), (4, ROWS - 5, 16)], write)).steps
    assert isinstance(spread, Call)
    old, new = (subview.buffer for subview in spread.subviews)
    assert old.byte_offset != new.byte_offset


SHAPE, STRIDES = (3, 4, 5), (20, 5, 1)


def cells(begin: tuple[int, ...], extents: tuple[int, ...]) -> set[tuple[int, ...]]:
    return set(product(*(range(n, n + size) for n, size in zip(begin, extents, strict=True))))


def moves(
    old: tuple[int, ...],
    new: tuple[int, ...],
    extents: tuple[int, ...],
    strides: tuple[int, ...] = STRIDES,
) -> bool:
    """Whether a copy from one box to another of that size, both amid values, is made in place.

    strides: those of the value that is copied to.
    """
    type = TensorType(f32, extents)
    values = [
        Buffer(Kind.ARENA, prod(SHAPE), 4, k, Block(arg_types=[type]).args[0]) for k in (0, 1)
    ]
    one = Subview(values[0], 0, STRIDES).moved(old)
    other = Subview(values[1], 0, strides).moved(new)
    function = func.FuncOp("copy", ([type], [type]), Region(Block(arg_types=[type])))
    _, memory = move_up([Call(function, (one,), (other,), ())])
    return bool(memory)


def test_boxes_that_stay_apart() -> None:
    """No cell is read where one is written; boxes that are apart along one axis alone are found."""
    draw = np.random.default_rng(0)
    for _ in range(2000):
        extents = tuple(int(draw.integers(1, n + 1)) for n in SHAPE)
        old, new = (
            tuple(int(draw.integers(n - size + 1)) for n, size in zip(SHAPE, extents, strict=True))
            for _ in range(2)
        )
        apart = not cells(old, extents) & cells(new, extents)
        along = [k for k in range(3) if old[k] != new[k]]
        if len(along) == 1:
            assert moves(old, new, extents) == apart, (old, new, extents)
        assert apart or not moves(old, new, extents), (old, new, extents)


def test_boxes_of_other_strides() -> None:
    """Where cells lie otherwise, a distance says nothing."""
    old, new, extents = (0, 0, 0), (1, 0, 0), (1, 4, 5)
    assert moves(old, new, extents)
    assert not moves(old, new, extents, (20, 4, 1))


H, W = Size.symbol("h", 9), Size.symbol("w", 5)


@pytest.mark.parametrize(
    ("distance", "same"),
    [(H * W, True), (2 * H * W, True), ((H - 1) * W, False), (H * W - 1, False), (W * W, False)],
)
def test_rows_that_stay_apart_for_all_inputs(distance: int, same: bool) -> None:
    """Where only some sizes keep them apart, the value has memory of its own."""
    kind = tensor_type(f32, (H, W))
    value = Block(arg_types=[kind]).args[0]
    old, new = (Buffer(Kind.ARENA, 3 * H * W, 4, 0, value) for _ in range(2))
    function = func.FuncOp("k", ([kind], [kind]))
    call = Call(function, (Subview(old, distance, (W, 1)),), (Subview(new, 0, (W, 1)),), ())
    with assuming() as assumed:
        _, memory = move_up([call])
    assert memory == ({new: (old, 0)} if same else {})
    assert not assumed
