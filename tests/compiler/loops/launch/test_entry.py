"""The entry point does what its script says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import pytest
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, f32

from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.loops.launch.entry import write_loops, write_run
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    Timestamps,
    Trace,
    declarations,
    table_of,
)
from ncc.dialects import rt
from ncc.dialects.size import Size, form_of, in_full_tile, in_last_tile, largest, tile_size
from tests.compiler.loops.launch.entry_log import EARLIER, events, events_with, unrolled
from tests.compiler.loops.launch.scripts import (
    AFTER,
    BEFORE,
    MAKE,
    PRIVATE,
    SCRIPT,
    TOLD,
    USE,
    memory,
    moved,
)


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
%1 = arith.constant 6 : index
%2 = arith.constant 1 : index
%3 = arith.constant 5 : index
%4 = arith.constant 8 : index
%5 = arith.constant 32 : index
%6 = rt.buffer %b[4] : memref<8xf32>
%7 = rt.buffer %b[1] : memref<8xf32>
%8 = rt.launch 5 of @make(%6, %7) after 0, %0, %run, %before : (memref<8xf32>, memref<8xf32>)
%9 = rt.buffer %b[1] offset 64 : memref<8xf32>
%10 = scf.for %11 = %0 to %1 step %2 iter_args(%12 = %8) -> (index) {
  %13 = arith.muli %11, %3 : index
  %14 = arith.addi %before, %13 : index
  %15 = arith.muli %11, %4 : index
  %16 = rt.buffer %b[4] further %15 : memref<8xf32>
  %17 = rt.launch 3 of @make(%16, %9) after 5, %12, %run, %14 : (memref<8xf32>, memref<8xf32>)
  rt.barrier %17 until 8, %b, %of, %14
  %18 = arith.muli %11, %5 : index
  %19 = rt.buffer %b[1] offset 512 further %18 : memref<8xf32>
  %20 = rt.launch 4 by 2 of @use(%9, %19) after 8, %0, %run, %14 : (memref<8xf32>, memref<8xf32>)
  scf.yield %20 : index
}
%21 = rt.launch 1 of @use(%9, %7) after 35, %10, %run, %before : (memref<8xf32>, memref<8xf32>)
rt.end %21 until 36, %run, %before"""
    )


def test_a_barrier_between_iterations() -> None:
    """Nobody waits in front of the first one, whose kernels are told which it is."""
    script = (LoopLaunch(10, (Barrier(), TOLD)),)
    assert (
        text(script)
        == """\
%0 = arith.constant 0 : index
%1 = arith.constant 10 : index
%2 = arith.constant 1 : index
%3 = arith.constant 2 : index
%4 = arith.constant 7 : index
%5 = rt.buffer %b[2] : memref<8xf32>
%6 = scf.for %7 = %0 to %1 step %2 iter_args(%8 = %0) -> (index) {
  %9 = arith.muli %7, %3 : index
  %10 = arith.addi %before, %9 : index
  %11 = arith.cmpi ne, %7, %0 : index
  %12 = scf.if %11 -> (index) {
    rt.barrier %8 until 0, %b, %of, %10
    scf.yield %0 : index
  } else {
    scf.yield %8 : index
  }
  %13 = rt.launch 2 of @t(%5, %4, %7) after 0, %12, %run, %10 : (memref<8xf32>, index, index)
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


def test_a_trace_names_the_step_of_each_launch() -> None:
    """All launches of a loop are of one step."""
    script = BEFORE, LoopLaunch(6, (MAKE, Barrier(), USE)), Barrier(), PRIVATE, AFTER
    run = write_run(script, trace=Trace(6))
    traced = [op.trace for op in run.walk() if isinstance(op, rt.LaunchOp)]
    assert [one and one.get_values() for one in traced] == [
        (6, 0), (6, 1), (6, 1), (6, 2), (6, 3),
    ]  # fmt: skip
    assert "trace" not in str(ModuleOp([write_run(SCRIPT, Timestamps(5))]))


def test_a_loop_has_one_stamp() -> None:
    """All its launches note the time in the same place, so that the last one stands there."""
    script = BEFORE, LoopLaunch(6, (MAKE, Barrier(), USE)), Barrier(), PRIVATE, AFTER
    run = write_run(script, Timestamps(5))
    stamps = [op.timestamp for op in run.walk() if isinstance(op, rt.LaunchOp)]
    assert [stamp and stamp.get_values()[1] for stamp in stamps] == [0, 1, 2, 2, 3, 4]


# --- numbers that the run tells -------------------------------------------------------------

H, W = Size.symbol("h", 9), Size.symbol("w", 5)


def in_part(part: int, offset: int = 0, by_iteration: int = 0, by_thread: int = 0) -> Argument:
    return Argument(1, offset, MemRefType(f32, [DYNAMIC_INDEX]), 32, by_iteration, by_thread, part)


def test_what_the_run_tells_is_loaded() -> None:
    """Where a kernel is launched."""
    script = (
        Launch("k", H, (in_part(0, 4 * W), memory(4, 0)), sizes=(H, W)),
        Barrier(),
        Launch("l", 3, (in_part(0),), (W, 7)),
    )
    types = "(memref<?xf32>, memref<8xf32>, memref<2xi64>)"
    assert (
        text(script).replace(types, "(..)")
        == """\
%0 = arith.constant 0 : index
%1 = arith.constant 1 : index
%2 = arith.constant 4 : index
%3 = arith.constant 5 : index
%4 = arith.constant 7 : index
%5 = rt.buffer %b[3] : memref<6xindex>
%6 = memref.load %5[%0] : memref<6xindex>
%7 = rt.buffer %b[1] further %6 : memref<?xf32>
%8 = rt.buffer %b[4] : memref<8xf32>
%9 = rt.buffer %b[3] offset 16 : memref<2xi64>
%10 = memref.load %5[%1] : memref<6xindex>
%11 = rt.launch 0 told(%10) of @k(%7, %8, %9) after 0, %0, %run, %before : (..)
%12 = memref.load %5[%1] : memref<6xindex>
%13 = arith.addi %before, %12 : index
rt.barrier %11 until 0, %b, %of, %13
%14 = memref.load %5[%2] : memref<6xindex>
%15 = rt.buffer %b[1] further %14 : memref<?xf32>
%16 = memref.load %5[%3] : memref<6xindex>
%17 = rt.launch 3 of @l(%15, %16, %4) after 0, %0, %run, %13 : (memref<?xf32>, index, index)
rt.end %17 until 3, %run, %13"""
    )


def at(script: Script, h: int, w: int, bases: Sequence[int]) -> Script:
    """The script of a network of that size, whose arena is laid out."""

    def number(size: Size) -> int:
        return size.form.value({"h": h, "w": w})

    def placed(argument: Argument) -> Argument:
        if argument.part is None:
            return argument
        return replace(argument, offset=argument.offset + bases[argument.part], part=None)

    def launch(one: Launch) -> Launch:
        return replace(one, arguments=tuple(map(placed, one.arguments)))

    def step(one: Launch | LoopLaunch | Barrier) -> Launch | LoopLaunch | Barrier:
        if isinstance(one, LoopLaunch):
            return replace(one, body=tuple(map(step, one.body)))  # type: ignore[arg-type]
        return launch(one) if isinstance(one, Launch) else one

    parted = chain(*(_parted(one, number) for one in script))
    return tuple(map(step, changed(tuple(parted), number)))


def _parted(one: Launch | LoopLaunch | Barrier, number: Callable[[Size], int]) -> Script:
    """A loop whose last tile is smaller as two: the second one does the last iteration alone."""
    if not isinstance(one, LoopLaunch) or not one.is_of_tiles:
        return (one,)
    whole, (first, *others) = changed(one, in_full_tile), changed(one, in_last_tile).body
    body = [
        replace(inner, arguments=tuple(_begun(a, one.count - 1) for a in inner.arguments))
        if isinstance(inner, Launch)
        else inner
        for inner in ([*others] if isinstance(first, Barrier) else [first, *others])
    ]
    is_second = changed(one.count, number) > 1
    between = [Barrier()] if is_second and isinstance(first, Barrier) else []
    return (replace(whole, count=one.count - 1), *between, LoopLaunch(1, tuple(body)))


def _begun(argument: Argument, iteration: int) -> Argument:
    """Memory as it lies in an iteration."""
    return replace(argument, offset=argument.offset + iteration * argument.by_iteration)


K = Launch("k", H // 2, (in_part(0, 4 * W), moved(memory(4, 0), 4 * H)), sizes=(H, W))
L = Launch("l", W, (in_part(1, 0, 4 * W * H), in_part(0)), (3, W), at_once=largest(1, W // 2))
M = Launch("m", 3, (in_part(2),), (H,), is_told_iteration=True)
N = Launch("n", H * W, (memory(4, 8), moved(memory(5, 0), 64)), sizes=(4, W))


WHOLE = (H - 1) // 4
ROWS = tile_size(4, H - 4 * WHOLE)
T = Launch(
    "t", ROWS * W, (in_part(0, 4 * W), moved(memory(4, 0), 4 * H)), (7, ROWS), sizes=(3, ROWS)
)
U = Launch("u", 2 * ROWS, (in_part(1),), at_once=largest(1, ROWS // 2), sizes=(W,))


@pytest.mark.parametrize(
    "script",
    [
        (BEFORE, LoopLaunch(WHOLE + 1, (T, Barrier(), N, U)), L, AFTER),
        (LoopLaunch(WHOLE + 1, (Barrier(), U, Barrier(), T)), K),
        (K, Barrier(), L, M, Barrier(), N),
        (M, LoopLaunch(H, (K, Barrier(), L)), N),
        (LoopLaunch(W // 2, (Barrier(), K, M)), Barrier(), LoopLaunch(3, (L, Barrier(), M)), K),
        (LoopLaunch(W, (M,)), BEFORE, LoopLaunch(5, (N,)), AFTER),
        (BEFORE, LoopLaunch(H - 1, (M, K, N), "loop_0"), L, AFTER),
    ],
)
@pytest.mark.parametrize(("h", "w"), [(9, 5), (1, 1), (4, 7)])
def test_one_entry_point_for_all_sizes(script: Script, h: int, w: int) -> None:
    """With the numbers of a size it does what the entry point for that size does."""
    bases = 640, 64, 1280
    words = []
    for number in table_of(script).numbers:
        value = form_of(number.value).value({"h": h, "w": w})
        words.append(value + (0 if number.part is None else bases[number.part]))
    assert events_with(script, words) == events(at(script, h, w, bases))


def test_a_private_loop_loads_what_it_is_told() -> None:
    """Its function gets no numbers; it finds them by the buffers of the run."""
    moving = in_part(0, 8, by_iteration=4 * W), in_part(1, 0, by_thread=4 * H)
    script = (LoopLaunch(H, (Launch("k", W, moving, (7,), sizes=(W,)),), "loop_0"),)
    (loop,) = write_loops(script)
    ModuleOp([*declarations(script), loop, write_run(script)]).verify()
    for argument, name in zip(loop.body.block.args, ("b", "thread", "from", "to"), strict=True):
        argument.name_hint = name
    _, *lines, _, _ = str(loop).splitlines()
    call = "(memref<?xf32>, memref<?xf32>, memref<1xi64>, index, index, index) -> ()"
    written = "\n".join(line[2:] for line in lines).replace(call, "(..)")
    assert (
        written
        == """\
%0 = arith.constant 1 : index
%1 = arith.constant 2 : index
%2 = arith.constant 4 : index
%3 = arith.constant 3 : index
%4 = arith.constant 0 : index
%5 = arith.constant 5 : index
%6 = arith.constant 7 : index
%7 = rt.buffer %b[3] : memref<7xindex>
scf.for %8 = %from to %to step %0 {
  %9 = memref.load %7[%1] : memref<7xindex>
  %10 = arith.muli %8, %9 : index
  %11 = memref.load %7[%0] : memref<7xindex>
  %12 = arith.addi %11, %10 : index
  %13 = rt.buffer %b[1] further %12 : memref<?xf32>
  %14 = memref.load %7[%2] : memref<7xindex>
  %15 = arith.muli %thread, %14 : index
  %16 = memref.load %7[%3] : memref<7xindex>
  %17 = arith.addi %16, %15 : index
  %18 = rt.buffer %b[1] further %17 : memref<?xf32>
  %19 = memref.load %7[%5] : memref<7xindex>
  %20 = rt.buffer %b[3] offset 48 : memref<1xi64>
  func.call @k(%13, %18, %20, %6, %4, %19) : (..)
}"""
    )
