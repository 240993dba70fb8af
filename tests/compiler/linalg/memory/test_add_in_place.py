"""A value that is added to a sum gives its memory to the result, if nobody reads it elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32

import ncc
from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.memory.add_in_place import added_in_place
from ncc.compiler.linalg.memory.plan_memory import plan as plan_of
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Loop, Plan, Subview
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.size import Size, assuming
from ncc.dialects.statements import Code
from ncc.runtime.artifact import ALIGNMENT
from tests.compiler.linalg.tiles import Seen, loop
from tests.executed_lines import lines_of

MakeNetwork = Callable[..., ModuleOp]
MakePlan = Callable[[ModuleOp], Plan]
Write = Callable[[Builder, Tensor], Tensor]


def transposed(b: Builder, x: Tensor) -> Tensor:
    """What is no copy, and no sum."""
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), maximum(x[c, q, p], 0.0))


def mix(b: Builder, x: Tensor) -> Tensor:
    """Sums over all channels."""
    w = b.full((x.shape[0], x.shape[0]), 1.0)
    o, p, q, i = b.loops(f"o p:{x.shape[1]} q:{x.shape[2]} i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i])


def add(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    at = tuple(b.loops_of(x.shape))
    return b.map(at, maximum(x[at] + y[at], 0.0))


def box(b: Builder, x: Tensor, low: int, high: int) -> Tensor:
    """Sums over windows of 3x3, with a border."""
    x = b.pad(x, [0, low, low], [0, high, high])
    c, p, q, k, m = b.loops(f"c p:{x.shape[1] - 2} q:{x.shape[2] - 2} k:3 m:3")
    return b.sum((c, p, q), (k, m), x[c, p + k, q + m])


def residual(b: Builder, x: Tensor) -> Tensor:
    x = transposed(b, x)
    return transposed(b, add(b, mix(b, transposed(b, x)), x))


def read_by_the_sum(b: Builder, x: Tensor) -> Tensor:
    x = transposed(b, x)
    return transposed(b, add(b, mix(b, x), x))


def read_by_windows(b: Builder, x: Tensor) -> Tensor:
    """The sum reads the value with its border, which is in the same memory."""
    x = transposed(b, x)
    return box(b, add(b, box(b, x, 1, 1), x), 1, 1)


def read_later(b: Builder, x: Tensor) -> Tensor:
    x = transposed(b, x)
    y = add(b, mix(b, transposed(b, x)), x)
    return add(b, mix(b, transposed(b, y)), transposed(b, x))


def read_elsewhere(b: Builder, x: Tensor) -> Tensor:
    x, y = transposed(b, x), mix(b, transposed(b, transposed(b, x)))
    c, p, q = b.loops_of(x.shape)
    return transposed(b, b.map((c, p, q), y[c, p, q] + x[c, q, p]))


def without_a_sum(b: Builder, x: Tensor) -> Tensor:
    """What no sum hosts may be written in squares that overlap."""
    x = transposed(b, x)
    y = transposed(b, x)
    c, p, q = b.loops_of(x.shape)
    return transposed(b, b.map((c, p, q), y[c, q, p] + x[c, p, q]))


def first_addition(plan: Plan) -> Call:
    """The call that adds, by itself or behind its sum."""
    calls = [step for step in plan.steps if isinstance(step, Call)]
    return next(c for c in calls if any(op.name == "arith.addf" for op in c.function.walk()))


@pytest.mark.parametrize(
    ("write", "in_place"),
    [
        (residual, True),
        (read_by_the_sum, False),
        (read_by_windows, False),
        (read_later, False),
        (read_elsewhere, False),
        (without_a_sum, False),
    ],
)
def test_which(
    make_network: MakeNetwork, make_plan: MakePlan, write: Write, in_place: bool
) -> None:
    """Only what is read at the element that is stored, for the last time."""
    call = first_addition(make_plan(make_network([(4, 8, 8)], write)))
    (result,) = call.results
    subviews = [
        subview.buffer.byte_offset
        for subview in call.operands
        if subview.buffer is not result.buffer
    ]
    assert (result.buffer.byte_offset in subviews) == in_place


def test_many_operands_are_looked_at_together(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """A kernel's operations are read once, however many values are added to its sum."""

    def write(count: int, b: Builder, x: Tensor) -> Tensor:
        values = [transposed(b, x) for _ in range(count)]
        total = mix(b, transposed(b, x))
        at = tuple(b.loops_of(x.shape))
        return transposed(b, b.map(at, sum((y[at] for y in values), total[at])))

    plans = [make_plan(make_network([(4, 8, 8)], partial(write, count))) for count in (20, 40)]
    calls = [first_addition(plan) for plan in plans]
    assert len(calls[0].operands) > 20
    once, twice = (lines_of(list, added_in_place(call, CostModel().memory)) for call in calls)
    assert twice < 2.2 * once


def of_the_input(b: Builder, x: Tensor) -> Tensor:
    return transposed(b, add(b, mix(b, transposed(b, x)), x))


def returned(b: Builder, x: Tensor) -> Tensor:
    x = transposed(b, x)
    return add(b, mix(b, transposed(b, x)), x)


def in_other_concats(b: Builder, x: Tensor) -> Tensor:
    """Memory of one size, in which rows lie otherwise."""
    x = transposed(b, x)
    beside = b.concat([x, transposed(b, x)], 2)
    y = add(b, mix(b, transposed(b, b.slice(mix(b, beside), [0, 0, 0], [4, 8, 8]))), x)
    return mix(b, b.concat([y, transposed(b, y)], 1))


def in_turns(b: Builder, x: Tensor) -> Tensor:
    """What no operation of the linalg level says, of a shape like that of its result."""
    code = Code([transposed(b, x)], [(x.shape, f32)])
    return transposed(b, b.code(code.operation())[0])


@pytest.mark.parametrize(
    ("write", "here"),
    [(residual, 1), (of_the_input, 0), (returned, 0), (in_other_concats, 0), (in_turns, 0)],
)
def test_whose_memory_it_is(
    make_network: MakeNetwork, make_plan: MakePlan, write: Write, here: int
) -> None:
    """That of the arena, where elements lie alike; not the caller's."""
    plan = make_plan(make_network([(4, 8, 8)], write))
    calls = [step for step in plan.steps if isinstance(step, Call)]
    assert sum(len(list(added_in_place(call, CostModel().memory))) for call in calls) == here


@pytest.mark.parametrize(("sides", "halos"), [((1, 1), 1), ((0, 2), 2)])
def test_a_border_is_written_once(
    make_network: MakeNetwork, make_plan: MakePlan, sides: tuple[int, int], halos: int
) -> None:
    """The result has that of the value whose memory it takes; within another one, it lies apart."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        return box(b, add(b, mix(b, box(b, x, 1, 1)), x), *sides)

    plan = make_plan(make_network([(4, 8, 8)], write))
    assert sum(isinstance(step, Halo) for step in plan.steps) == halos
    calls = [step for step in plan.steps if isinstance(step, Call)]
    [call] = [c for c in calls if len(c.operands) > 1 and _has_a_border(c.results[0])]
    (result,) = call.results
    subviews = [subview.buffer.byte_offset for subview in call.operands if _has_a_border(subview)]
    assert (result.buffer.byte_offset in subviews) == (halos == 1)


@pytest.mark.parametrize(("size", "shared"), [(13, True), (8, False)])
def test_borders_on_other_sides(
    make_network: MakeNetwork, make_plan: MakePlan, size: int, shared: bool
) -> None:
    """A border behind the result in place of one around the value: a line further on, its own.

    Memory begins at whole lines, so that a row and an element have to be some of them.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        return box(b, add(b, mix(b, box(b, x, 1, 1)), x), 0, 2)

    plan = make_plan(make_network([(4, size, size)], write))
    position, call = next(
        (n, step)
        for n, step in enumerate(plan.steps)
        if isinstance(step, Call) and len(step.operands) > 1 and _stride(step.results[0]) > size
    )
    (result,) = call.results
    [value] = [subview for subview in call.operands if _stride(subview) > size]
    further = result.buffer.byte_offset - value.buffer.byte_offset
    assert (further == 4 * (_stride(value) + 1) == ALIGNMENT) == shared
    assert result.buffer.byte_offset + result.buffer.bytes <= plan.arena_bytes
    halos = [n for n, s in enumerate(plan.steps) if isinstance(s, Halo) and s.subview == result]
    assert (halos[0] > position) == shared


@pytest.mark.parametrize("step", [1, -1], ids=["further behind", "further in front"])
def test_borders_further_and_further(
    make_network: MakeNetwork, make_plan: MakePlan, step: int
) -> None:
    """Each of three values begins a line from the one before, in memory for all of them."""
    sides = [(2, 0), (1, 1), (0, 2)][::step]

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        y = add(b, mix(b, box(b, x, *sides[0])), x)
        return box(b, add(b, mix(b, box(b, y, *sides[1])), y), *sides[2])

    plan = make_plan(make_network([(4, 13, 13)], write))
    three = dict.fromkeys(p.buffer for p in plan.subviews.values() if p.strides == (225, 15, 1))
    first, second, third = (buffer.byte_offset for buffer in three)
    assert second - first == third - second == step * ALIGNMENT
    assert min(first, third) >= 0
    for call in (planned for planned in plan.steps if isinstance(planned, Call)):
        arena = [subview.buffer for subview in call.subviews if subview.buffer.kind is Kind.ARENA]
        for one, other in combinations(arena, 2):
            assert one in three and other in three or _are_apart(one, other)


def _are_apart(one: Buffer, other: Buffer) -> bool:
    low, high = sorted((one, other), key=lambda buffer: buffer.byte_offset)
    return low.byte_offset + low.bytes <= high.byte_offset


@pytest.mark.parametrize(("channels", "here"), [(1, 0), (4, 1)])
def test_little_memory_beside(
    make_network: MakeNetwork, make_plan: MakePlan, channels: int, here: int
) -> None:
    """Two lines further on are more than an eighth of one channel, and less of four."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        return box(b, add(b, mix(b, box(b, x, 2, 0)), x), 0, 2)

    plan = make_plan(make_network([(channels, 13, 13)], write))
    calls = [step for step in plan.steps if isinstance(step, Call)]
    assert sum(len(list(added_in_place(call, CostModel().memory))) for call in calls) == here


def _stride(subview: Subview) -> int:
    """From one row to the next."""
    return subview.strides[-2]


def _has_a_border(subview: Subview) -> bool:
    return subview.offset > 0 or subview.strides[-2] > 8


def in_parts(ends: list[int], read: Callable[[Builder, Tensor, int, int], Tensor]) -> Write:
    """A residual sum whose rows up to each end are an operation of their own, as of strips."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        y = mix(b, transposed(b, x))
        parts, begin = [], 0
        for end in ends:
            size = [x.shape[0], end - begin, x.shape[2]]
            part = mix(b, b.slice(y, [0, begin, 0], size))
            parts.append(add(b, part, read(b, x, begin, end)))
            begin = end
        return transposed(b, b.concat(parts, 1))

    return write


def own_rows(b: Builder, x: Tensor, begin: int, end: int) -> Tensor:
    return b.slice(x, [0, begin, 0], [x.shape[0], end - begin, x.shape[2]])


def other_rows(b: Builder, x: Tensor, begin: int, end: int) -> Tensor:
    return own_rows(b, x, x.shape[1] - end, x.shape[1] - begin)


def moved_rows(b: Builder, x: Tensor, begin: int, end: int) -> Tensor:
    """What another call in between makes of them."""
    return own_rows(b, x, begin, end) if begin == 0 else mix(b, own_rows(b, x, begin, end))


@pytest.mark.parametrize(
    ("ends", "read", "in_place"),
    [
        ([4, 8], own_rows, True),
        ([2, 5, 8], own_rows, True),
        ([4, 8], other_rows, False),
        ([4, 8], moved_rows, False),
    ],
)
def test_parts(
    make_network: MakeNetwork,
    make_plan: MakePlan,
    ends: list[int],
    read: Callable[[Builder, Tensor, int, int], Tensor],
    in_place: bool,
) -> None:
    """Several calls make the result: each reads the value where it writes, and nobody else does."""
    plan = make_plan(make_network([(4, 8, 8)], in_parts(ends, read)))
    sums = [step for step in plan.steps if isinstance(step, Call) and len(step.operands) > 1]
    assert len(sums) == len(ends)
    for call in sums:
        (result,) = call.results
        given = [subview.buffer.byte_offset for subview in call.operands]
        assert (result.buffer.byte_offset in given) == in_place


def in_a_loop(again: Callable[[Builder, Tensor], Tensor] | None) -> Write:
    """A residual sum of four rows an iteration. again: what else an iteration makes of the value
    that is added.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        y = mix(b, transposed(b, x))

        def one(b: Builder, y: Tensor, x: Tensor) -> list[Tensor]:
            made = [add(b, mix(b, y), x)]
            return made if again is None else [*made, again(b, x)]

        first, *others = loop(b, 2, [Seen(y, 4, 4), Seen(x, 4, 4)], one)
        return b.concat([transposed(b, one) for one in (first, *others)], axis=0)

    return write


@pytest.mark.parametrize(("again", "in_place"), [(None, True), (mix, False)])
def test_iterations(
    make_network: MakeNetwork,
    make_plan: MakePlan,
    again: Callable[[Builder, Tensor], Tensor] | None,
    in_place: bool,
) -> None:
    """Each reads the value where it writes; but a call that reads it again finds it no more."""
    plan = make_plan(make_network([(4, 8, 8)], in_a_loop(again)))
    (step,) = (step for step in plan.steps if isinstance(step, Loop))
    call = next(c for c in step.calls if any(op.name == "arith.addf" for op in c.function.walk()))
    (result,) = call.results
    added = [s for s in call.operands if s.further and s.buffer is not result.buffer]
    assert any(s.buffer.byte_offset == result.buffer.byte_offset for s in added) == in_place


def test_windows_of_iterations_that_lie_apart(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """Rows that the next iteration adds are written by this one, if the windows move otherwise."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        y = mix(b, transposed(b, x))

        def one(b: Builder, y: Tensor, x: Tensor) -> Tensor:
            return add(b, mix(b, y), x)

        (made,) = loop(b, 3, [Seen(y, 2, 4), Seen(x, 2, 4)], one)
        return transposed(b, b.slice(made, [0, 0, 0], [4, 8, 8]))

    plan = make_plan(make_network([(4, 8, 8)], write))
    (step,) = (step for step in plan.steps if isinstance(step, Loop))
    (result,) = step.calls[-1].results
    given = {s.buffer.byte_offset for s in step.calls[-1].operands if s.buffer not in step.own}
    assert result.buffer.byte_offset not in given


def test_numbers(tmp_path: Path) -> None:
    """Residual units compute what their layers say, on any number of threads."""
    lines, blobs, last = ["Input data 0 1 x0 0=9 1=9 2=24"], 1, "x0"
    for n in range(3):
        lines += [
            f"Split s{n} 1 2 {last} a{n} b{n}",
            f"ConvolutionDepthWise d{n} 1 1 a{n} d{n} 0=24 1=3 4=1 5=1 6=216 7=24",
            f"Convolution c{n} 1 1 d{n} c{n} 0=24 1=1 5=1 6=576",
            f"BinaryOp y{n} 2 1 c{n} b{n} y{n} 0=0",
        ]
        blobs, last = blobs + 5, f"y{n}"
    lines += [
        f"Padding p 1 1 {last} p 1=2 3=2",
        "ConvolutionDepthWise q 1 1 p q 0=24 1=3 3=2 5=1 6=216 7=24",
    ]
    blobs += 2
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {blobs}", *lines]) + "\n")
    x = np.random.default_rng(0).standard_normal((24, 9, 9)).astype(np.float32)
    wanted = ncc.compile(path, random_weights=1, opt_level=0)(x)
    for threads in (1, 3):
        model = ncc.compile(path, random_weights=1, num_threads=threads)
        for _ in range(2):
            np.testing.assert_allclose(model(x), wanted, rtol=0, atol=1e-5 * abs(wanted).max())


def test_numbers_in_strips(tmp_path: Path) -> None:
    """Residual units of convolutions in tiles, whose strips take over a value row by row."""
    lines, blobs, last = ["Input data 0 1 x0 0=32 1=32 2=16"], 1, "x0"
    for n in range(3):
        lines += [
            f"Convolution a{n} 1 1 {last} a{n} 0=16 1=3 4=1 5=1 6=2304 9=1",
            f"Split s{n} 1 2 a{n} a{n}_0 a{n}_1",
            f"Convolution b{n} 1 1 a{n}_0 b{n} 0=16 1=3 4=1 5=1 6=2304 9=1",
            f"Convolution c{n} 1 1 b{n} c{n} 0=16 1=3 4=1 5=1 6=2304",
            f"BinaryOp y{n} 2 1 c{n} a{n}_1 y{n} 0=0",
        ]
        blobs, last = blobs + 6, f"y{n}"
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {blobs}", *lines]) + "\n")
    x = np.random.default_rng(0).standard_normal((16, 32, 32)).astype(np.float32)
    wanted = ncc.compile(path, random_weights=1, opt_level=0)(x)
    for threads in (1, 3):
        model = ncc.compile(path, random_weights=1, num_threads=threads)
        for _ in range(2):
            np.testing.assert_allclose(model(x), wanted, rtol=0, atol=1e-5 * abs(wanted).max())


def test_values_of_any_size(make_network: MakeNetwork) -> None:
    """They are in one part of the arena, if they have one size for all inputs."""
    side = Size.symbol("n", 9)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = transposed(b, x)
        y, w = transposed(b, x), b.full((16, 16), 1.0)
        o, p, q, i = b.loops_of((*x.shape, 16))
        return transposed(b, add(b, b.sum((o, p, q), (i,), y[i, p, q] * w[o, i]), x))

    module = make_network([(16, side, side)], write)
    FormFusionGroups().apply(Context(), module)
    with assuming() as assumed:
        call = first_addition(plan_of(module))
    (added,) = added_in_place(call, CostModel().memory)
    (result,) = call.results
    assert added.buffer is not result.buffer
    assert added.buffer.part == result.buffer.part is not None
    assert added.buffer.byte_offset == result.buffer.byte_offset
    assert not assumed
