"""The entry point: what is promised about the arguments of kernels, and how it is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis.strategies import integers
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, f32

from ncc.compiler.loops.launch.entry import write_loops, write_run
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    Timestamps,
    bytes_of,
    declarations,
    launches_of,
    promise_separate,
    separate_arguments,
)
from ncc.dialects import rt
from tests.compiler.loops.launch.entry_log import EARLIER, events, unrolled


def memory(buffer: int, offset: int, elements: int = 8) -> Argument:
    return Argument(buffer, offset, MemRefType(f32, [elements]), 4 * elements)


SCRIPT: Script = (
    Launch("scale", 5, (memory(3, 0), memory(1, 32))),
    Barrier(),
    Launch("scale", 5, (memory(1, 32), memory(4, 0))),
    Launch("add", 1, (memory(1, 0), memory(1, 32), memory(1, 48))),
)


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


def test_entry_point_does_what_the_script_says() -> None:
    """Each window is taken once; launches and barriers stand in the order of the script.

    What a thread did is counted from barrier to barrier.
    """
    run = write_run(SCRIPT)
    ModuleOp([*declarations(SCRIPT), run]).verify()
    operations = list(run.body.block.ops)
    steps = [op for op in operations if isinstance(op, (rt.LaunchOp, rt.BarrierOp))]
    scale, barrier, again, add = steps
    launches = [op for op in steps if isinstance(op, rt.LaunchOp)]
    assert [op.callee and op.callee.string_value() for op in launches] == ["scale", "scale", "add"]
    assert isinstance(barrier, rt.BarrierOp)
    assert [op.chunks.value.data for op in launches] == [5, 5, 1]
    assert [op.after.value.data for op in launches] == [0, 5, 10]
    waits = [op for op in operations if isinstance(op, (rt.BarrierOp, rt.EndOp))]
    assert [op.until.value.data for op in waits] == [5, 11]
    assert [op.did for op in waits] == [scale.results[0], add.results[0]]
    assert launches[2].did is again.results[0]
    assert not isinstance(launches[1].did.owner, rt.LaunchOp)
    windows = [op for op in operations if isinstance(op, rt.BufferOp)]
    assert len(windows) == 5


def test_numbers_stand_behind_memory() -> None:
    """Each is made once for all launches, and kernels are declared with them."""
    script = (Launch("t", 2, (memory(1, 0),), (5, 0)), Launch("t", 3, (memory(2, 0),), (7, 5)))
    run, declared = write_run(script), declarations(script)
    ModuleOp([*declared, run]).verify()
    assert [str(type) for type in declared[0].function_type.inputs] == [
        "memref<8xf32>", *["index"] * 4
    ]  # fmt: skip
    launches = [op for op in run.body.block.ops if isinstance(op, rt.LaunchOp)]
    (five, zero), (seven, again) = (op.arguments[1:] for op in launches)
    assert five is again and zero is not seven
    made = [op for op in run.body.block.ops if isinstance(op, arith.ConstantOp)]
    assert [op.result for op in made] == [zero, five, seven]


def moved(argument: Argument, by_iteration: int = 0, by_thread: int = 0) -> Argument:
    return replace(argument, by_iteration=by_iteration, by_thread=by_thread)


MAKE = Launch("make", 3, (moved(memory(3, 0), 8), memory(1, 64)))
USE = Launch("use", 4, (memory(1, 64), moved(memory(1, 512), 32)), at_once=2)
BEFORE = Launch("make", 5, (memory(3, 0), memory(1, 0)))
TOLD = Launch("t", 2, (memory(2, 0),), (7,), is_told_iteration=True)
AFTER = Launch("use", 1, (memory(1, 64), memory(1, 0)))


def text(script: Script, timestamps: Timestamps | None = None) -> str:
    """The body of the entry point, whose arguments have their own names."""
    run = write_run(script, timestamps)
    ModuleOp([*declarations(script), *write_loops(script), run]).verify()
    for argument, name in zip(run.body.block.args, ("b", "thread", "of", "before"), strict=True):
        argument.name_hint = name
    _, *lines, _, _ = str(run).replace("%b, %thread, %of", "%run").splitlines()
    return "\n".join(line[2:] for line in lines)


def test_a_loop_stands_once() -> None:
    """It goes on counting what was done before it, and hands that on; its memory and its time move
    with the iteration. What does not move is known in front of it.
    """
    script = BEFORE, LoopLaunch(6, (MAKE, Barrier(), USE)), AFTER
    assert (
        text(script)
        == """\
%0 = arith.constant 0 : index
%1 = rt.buffer %b[3] : memref<8xf32>
%2 = rt.buffer %b[1] : memref<8xf32>
%3 = rt.launch 5 of @make(%1, %2) after 0, %0, %run, %before : (memref<8xf32>, memref<8xf32>)
%4 = arith.constant 5 : index
%5 = arith.constant 8 : index
%6 = rt.buffer %b[1] offset 64 : memref<8xf32>
%7 = arith.constant 32 : index
%8 = arith.constant 6 : index
%9 = arith.constant 1 : index
%10 = scf.for %11 = %0 to %8 step %9 iter_args(%12 = %3) -> (index) {
  %13 = arith.muli %11, %4 : index
  %14 = arith.addi %before, %13 : index
  %15 = arith.muli %11, %5 : index
  %16 = rt.buffer %b[3] further %15 : memref<8xf32>
  %17 = rt.launch 3 of @make(%16, %6) after 5, %12, %run, %14 : (memref<8xf32>, memref<8xf32>)
  rt.barrier %17 until 8, %b, %of, %14
  %18 = arith.muli %11, %7 : index
  %19 = rt.buffer %b[1] offset 512 further %18 : memref<8xf32>
  %20 = rt.launch 4 by 2 of @use(%6, %19) after 8, %0, %run, %14 : (memref<8xf32>, memref<8xf32>)
  scf.yield %20 : index
}
%21 = rt.launch 1 of @use(%6, %2) after 35, %10, %run, %before : (memref<8xf32>, memref<8xf32>)
rt.end %21 until 36, %run, %before"""
    )


def test_a_barrier_between_iterations() -> None:
    """Nobody waits in front of the first one, whose kernels are told which it is."""
    script = (LoopLaunch(10, (Barrier(), TOLD)),)
    assert (
        text(script)
        == """\
%0 = arith.constant 0 : index
%1 = arith.constant 2 : index
%2 = rt.buffer %b[2] : memref<8xf32>
%3 = arith.constant 7 : index
%4 = arith.constant 10 : index
%5 = arith.constant 1 : index
%6 = scf.for %7 = %0 to %4 step %5 iter_args(%8 = %0) -> (index) {
  %9 = arith.muli %7, %1 : index
  %10 = arith.addi %before, %9 : index
  %11 = arith.cmpi ne, %7, %0 : index
  %12 = scf.if %11 -> (index) {
    rt.barrier %8 until 0, %b, %of, %10
    scf.yield %0 : index
  } else {
    scf.yield %8 : index
  }
  %13 = rt.launch 2 of @t(%2, %3, %7) after 0, %12, %run, %10 : (memref<8xf32>, index, index)
  scf.yield %13 : index
}
rt.end %6 until 20, %run, %before"""
    )
    (declared,) = declarations(script)
    assert [str(type) for type in declared.function_type.inputs] == [
        "memref<8xf32>", *["index"] * 4
    ]  # fmt: skip


def test_two_loops_in_a_row() -> None:
    """The second goes on where the first one ended."""
    script = LoopLaunch(6, (MAKE,)), LoopLaunch(4, (USE,)), BEFORE
    run = write_run(script)
    ModuleOp([*declarations(script), run]).verify()
    first, second = (op for op in run.body.block.ops if isinstance(op, scf.ForOp))
    assert second.iter_args[0] is first.results[0]
    (last,) = (op for op in run.body.block.ops if isinstance(op, rt.LaunchOp))
    assert last.did is second.results[0]
    inner = [op for loop in (first, second) for op in loop.body.block.ops]
    launches = [op for op in inner if isinstance(op, rt.LaunchOp)]
    assert [op.after.value.data for op in (*launches, last)] == [0, 6 * 3, 6 * 3 + 4 * 2]


@pytest.mark.parametrize(
    "body",
    [
        (MAKE,),
        (MAKE, USE),
        (MAKE, Barrier(), USE),
        (Barrier(), MAKE, USE),
        (Barrier(), MAKE, Barrier(), USE, Barrier(), MAKE),
        (Barrier(), TOLD),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_loop_counts_as_its_launches_do(body: tuple[Launch | Barrier, ...], count: int) -> None:
    """When chunks begin and what threads wait for, with and without barriers around loops."""
    loop, other = LoopLaunch(count, body), LoopLaunch(3, (USE,))
    for script in (
        (loop,),
        (BEFORE, loop, AFTER),
        (BEFORE, Barrier(), loop, Barrier(), AFTER),
        (loop, other, loop, Barrier(), other, AFTER),
    ):
        assert events(script) == events(unrolled(script))
    ended = events((BEFORE, loop, AFTER))
    until = 5 + count * sum(launch.counted for launch in loop.launches) + 1
    assert ended[-1][:2] == ("end", EARLIER + until)


PRIVATE = LoopLaunch(
    6,
    (
        Launch("make", 3, (moved(memory(3, 0), 8), moved(memory(1, 64), 0, 128))),
        Launch("use", 2, (moved(memory(1, 64), 0, 128), moved(memory(1, 512), 32))),
    ),
    "loop_3",
)


def test_a_private_loop_is_a_function() -> None:
    """It is launched with the buffers and the thread's number, and calls kernels on all chunks."""
    script = (BEFORE, Barrier(), PRIVATE)
    run, functions, declared = write_run(script), write_loops(script), declarations(script)
    ModuleOp([*declared, *functions, run]).verify()
    assert [op.sym_name.data for op in declared] == ["make", "use"]
    first, second = (op for op in run.body.block.ops if isinstance(op, rt.LaunchOp))
    assert functions[0].sym_name.data == "loop_3"
    assert second.callee and second.callee.string_value() == "loop_3"
    assert list(second.arguments) == [run.body.block.args[0], run.body.block.args[1]]
    assert (first.chunks.value.data, second.chunks.value.data) == (5, 6)
    assert second.after.value.data == 5
    (loop,) = (op for op in functions[0].body.block.ops if isinstance(op, scf.ForOp))
    assert (loop.lb, loop.ub) == tuple(functions[0].body.block.args[2:])
    inner = list(loop.body.block.ops)
    calls = [op for op in inner if isinstance(op, func.CallOp)]
    assert [op.callee.string_value() for op in calls] == ["make", "use"]
    found = []
    for op in inner:
        if isinstance(op, rt.BufferOp):
            assert op.further is not None and isinstance(op.further.owner, arith.MuliOp)
            number, size = op.further.owner.operands
            thread = number is functions[0].body.block.args[1]
            assert thread or number is loop.body.block.args[0]
            assert isinstance(size.owner, arith.ConstantOp)
            found.append((thread, str(size.owner.value), op.offset.value.data))
    assert found == [
        (False, "8 : index", 0), (True, "128 : index", 64),
        (True, "128 : index", 64), (False, "32 : index", 512),
    ]  # fmt: skip


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


def test_an_entry_point_without_stamps_looks_at_no_clock() -> None:
    """What is not asked for costs nothing."""
    assert "timestamp" not in str(ModuleOp([write_run(SCRIPT)]))


def test_stamps_stand_before_the_first_launch_and_behind_each() -> None:
    """In the buffer named. Each is part of chunks: the first is one by itself."""
    run = write_run(SCRIPT, Timestamps(5))
    launches = [op for op in run.body.block.ops if isinstance(op, rt.LaunchOp)]
    assert [op.timestamp and op.timestamp.get_values() for op in launches] == [
        (5, 0), (5, 1), (5, 2), (5, 3),
    ]  # fmt: skip
    assert [op.callee is None for op in launches] == [True, False, False, False]
    assert [op.after.value.data for op in launches] == [0, 1, 6, 11]


def test_a_loop_has_one_stamp() -> None:
    """All its launches note the time in the same place, so that the last one stands there."""
    script = BEFORE, LoopLaunch(6, (MAKE, Barrier(), USE)), Barrier(), PRIVATE, AFTER
    run = write_run(script, Timestamps(5))
    stamps = [op.timestamp for op in run.walk() if isinstance(op, rt.LaunchOp)]
    assert [stamp and stamp.get_values()[1] for stamp in stamps] == [0, 1, 2, 2, 3, 4]
