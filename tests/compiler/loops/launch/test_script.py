"""What a script promises about the arguments of kernels, and what numbers it needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as draw
from hypothesis.strategies import integers
from xdsl.dialects.builtin import IndexType, MemRefType, f32

from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.loops.launch.numbers import Number
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    bytes_of,
    chunks_of,
    declarations,
    launches_of,
    promise_separate,
    separate_arguments,
    table_of,
)
from ncc.dialects.size import Size
from tests.compiler.loops.launch.scripts import AFTER, PRIVATE, SCRIPT, memory, moved


def test_arguments_that_share_bytes_are_not_separate() -> None:
    """Bytes 32 to 64 of a buffer meet bytes 48 to 80, and no byte before 32."""
    assert separate_arguments(SCRIPT) == {"scale": (True, True), "add": (True, False, False)}


def test_one_launch_in_place_is_enough() -> None:
    """What is promised of a kernel holds for every launch of it."""
    in_place = (*SCRIPT, Launch("scale", 5, (memory(1, 0), memory(1, 0))))
    assert separate_arguments(in_place)["scale"] == (False, False)


def test_neighbours_are_separate() -> None:
    """The byte behind a window is not the window's, and another buffer is other memory."""
    windows = memory(1, 0), memory(1, 32), memory(2, 16)
    for order in (windows, windows[::-1]):
        assert separate_arguments((Launch("k", 1, order),)) == {"k": (True, True, True)}


def test_what_lies_within_another_shares_it() -> None:
    """The second ends before the third begins, and both are bytes of the first."""
    windows = memory(1, 0, 32), memory(1, 8), memory(1, 64), memory(1, 128)
    for order in permutations(range(4)):
        script = (Launch("k", 1, tuple(windows[k] for k in order)),)
        assert separate_arguments(script) == {"k": tuple(k == 3 for k in order)}


def test_indices_have_eight_bytes() -> None:
    """Tables of indices are memory too."""
    table = Argument(2, 0, MemRefType(IndexType(), [4]), bytes_of(MemRefType(IndexType(), [4])))
    script = (Launch("k", 1, (table, memory(2, 28))), Launch("l", 1, (table, memory(2, 32))))
    assert separate_arguments(script) == {"k": (False, False), "l": (True, True)}


def test_promises_are_attributes_of_the_arguments() -> None:
    """Arguments behind the memrefs get none."""
    (declared,) = (op for op in declarations(SCRIPT) if op.sym_name.data == "add")
    promise_separate(declared, [True, False, False])
    assert declared.arg_attrs is not None
    promised = ["llvm.noalias" in attributes.data for attributes in declared.arg_attrs]
    assert promised == [True, False, False, False, False]


def test_arguments_of_all_iterations_are_kept_apart() -> None:
    """In the last iteration the result lies where it met an operand, were it as long."""
    script = (Barrier(), PRIVATE, AFTER)
    assert separate_arguments((PRIVATE,)) == {"make": (True, True), "use": (True, True)}
    assert [(one.kernel, times) for one, times in launches_of(script)] == [
        ("make", 6), ("use", 6), ("use", 1)
    ]  # fmt: skip
    for by, iterations, apart in ((-84, 6, False), (-84, 5, True), (-83, 6, True), (88, 6, True)):
        arguments = moved(memory(1, 64), 0, 128), moved(memory(1, 512, 24), by)
        on = LoopLaunch(iterations, (PRIVATE.launches[0], Launch("use", 2, arguments)), "loop_3")
        assert separate_arguments((on,))["use"] == (apart, apart)


@given(*[integers(-3, 3)] * 2, *[integers(0, 30)] * 2, *[integers(1, 9)] * 2, integers(1, 12))
def test_memory_that_meets_in_some_iteration(
    by: int, along: int, begin: int, start: int, size: int, reach: int, count: int
) -> None:
    """Whichever of the two moves, and both ways."""
    one, other = (
        Argument(1, offset, MemRefType(f32, [8]), length, step)
        for offset, length, step in ((begin, size, by), (start, reach, along))
    )
    meeting = [
        replace(one, offset=begin + n * by).meets(replace(other, offset=start + n * along))
        for n in range(count)
    ]
    assert one.meets(other, count) == other.meets(one, count) == any(meeting)
    assert not one.meets(replace(other, buffer=2), count)


H, W = Size.symbol("h", 9), Size.symbol("w", 5)


def of_part(part: int, offset: int = 0, reach: int = 32) -> Argument:
    return Argument(1, offset, MemRefType(f32, [8]), reach, part=part)


def test_parts_of_the_arena_are_apart() -> None:
    """Those of one launch: the run lays them out so."""
    three = of_part(0), of_part(1), of_part(0, 16)
    script = (Launch("k", 1, three), Launch("l", 1, three[:1]))
    assert separate_arguments(script) == {"k": (False, True, False), "l": (True,)}


def test_nothing_is_promised_that_is_not_so_for_all_inputs() -> None:
    """In one part of the arena, or in one output, memory may meet if its sizes allow it."""
    for begin, reach, is_apart in (
        (4 * H, 4 * H, True),
        (4 * H, 4 * W, False),
        (4 * H * W, 4 * H, True),
        (4 * (H - 1), 4 * H, False),
        (4 * H - 4, 4 * (H - 1), True),
    ):
        one, other = of_part(0, 0, reach), of_part(0, begin)
        assert one.meets(other) == other.meets(one) == (not is_apart)
        assert separate_arguments((Launch("k", 1, (one, other)),)) == {"k": (is_apart, is_apart)}


@given(
    *[draw.sampled_from([0, 4, 8, 4 * W, 4 * H, 4 * W + 4, -4 * W])] * 2,
    *[draw.sampled_from([0, 8, 4 * W, 4 * H * W, 4 * (W + H), 16 * W * H])] * 2,
    *[draw.sampled_from([4, 4 * W, 4 * H])] * 2,
    draw.sampled_from([1, 3, H, W // 2]),
    draw.integers(1, 6),
    draw.integers(1, 6),
)
def test_what_is_apart_is_apart_for_all_inputs(
    by: int, along: int, begin: int, start: int, size: int, reach: int, count: int, h: int, w: int
) -> None:
    """In each iteration, whichever sizes there are."""
    one = Argument(1, begin, MemRefType(f32, [8]), size, by, part=0)
    other = Argument(1, start, MemRefType(f32, [8]), reach, along, part=0)
    if not one.meets(other, count):
        known = changed((one, other, count), lambda size: size.form.value({"h": h, "w": w}))
        assert not known[0].meets(known[1], known[2])


MOVING = Launch("k", 3, (of_part(1), moved(memory(5, 0), 4 * W)), sizes=(H, W))
OPEN: Script = (
    Launch("k", H, (of_part(0, 4 * W), memory(4, 0)), sizes=(H, W)),
    Barrier(),
    LoopLaunch(W, (Barrier(), MOVING)),
    Launch("l", H // 2, (of_part(1),), (7, W), at_once=2),
    Launch("l", 5, (memory(4, 8),), (7, 8)),
)


def test_numbers_that_the_run_tells() -> None:
    """Each has one place, and so has each row of sizes. Constants have none."""
    table = table_of(OPEN)
    assert len(set(table.numbers)) >= len(table.places)
    for number in (
        Number(4 * W, 0),
        Number(0, 1),
        Number(H),
        Number(W),
        Number(4 * W),
        Number(3 * W),
        Number(H // 2),
        Number(-(-(H // 2) // 2)),
    ):
        assert table.numbers[table.places[number]] == number
        assert number.is_told
    assert not any(number.is_told for number in map(Number, (0, 3, 7)))
    assert table.rows.keys() == {(H, W)}
    row = table.rows[H, W]
    assert table.numbers[row : row + 2] == [Number(H), Number(W)]
    assert len(table.numbers) == len(table.places) + 2
    assert not table_of(SCRIPT).numbers


def test_chunks_of_a_run() -> None:
    """Launches count what threads take, loops in each iteration, private loops iterations."""
    assert chunks_of(OPEN) == H + 3 * W + -(-(H // 2) // 2) + 5
    assert chunks_of((*SCRIPT, PRIVATE)) == 11 + 6


def test_kernels_are_declared_with_their_sizes() -> None:
    """Behind the memory, and in front of numbers."""
    declared = {op.sym_name.data: op.function_type.inputs for op in declarations(OPEN)}
    assert list(map(str, declared["k"]))[2:] == ["memref<2xi64>", "index", "index"]
    assert list(map(str, declared["l"]))[1:] == ["index"] * 4
