"""The entry point: what is promised about the arguments of kernels, and how it is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, f32

from ncc.compiler.loops.launch.entry import (
    Argument,
    Barrier,
    Launch,
    RoundsLaunch,
    Script,
    Timestamps,
    bytes_of,
    declarations,
    launches_of,
    promise_separate,
    separate_arguments,
    write_rounds,
    write_run,
)
from ncc.dialects import rt


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
    for given in (windows, windows[::-1]):
        assert separate_arguments((Launch("k", 1, given),)) == {"k": (True, True, True)}


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


def test_steps_are_a_loop() -> None:
    """Each waits for the one before, and those in front of the loop for what was launched there.

    What counts the chunks is moved on from step to step, and what follows counts those of all.
    """
    before, after = Launch("a", 5, (memory(1, 0),)), Launch("b", 3, (memory(1, 64),))
    script = (before, Launch("t", 2, (memory(2, 0),), (7,), steps=10), after)
    run, declared = write_run(script), declarations(script)
    ModuleOp([*declared, run]).verify()
    assert [str(type) for type in declared[1].function_type.inputs] == [
        "memref<8xf32>", *["index"] * 4
    ]  # fmt: skip
    waiting, last = (op for op in run.body.block.ops if isinstance(op, rt.BarrierOp | rt.EndOp))
    assert [op.until.value.data for op in (waiting, last)] == [5, 5 + 10 * 2 + 3]
    (loop,) = (op for op in run.body.block.ops if isinstance(op, scf.ForOp))
    (launch,) = (op for op in loop.body.block.ops if isinstance(op, rt.LaunchOp))
    (barrier,) = (op for op in loop.body.block.ops if isinstance(op, rt.BarrierOp))
    assert (launch.after.value.data, barrier.until.value.data) == (5, 5 + 2)
    assert barrier.did is launch.done
    assert launch.arguments[-1] is loop.body.block.args[0]
    assert launch.before is barrier.before is not last.before
    launches = [op for op in run.body.block.ops if isinstance(op, rt.LaunchOp)]
    assert [op.after.value.data for op in launches] == [0, 5 + 10 * 2]


ROUNDS = RoundsLaunch(
    "rounds_3",
    6,
    (
        Launch("make", 3, (memory(3, 0), memory(1, 64))),
        Launch("use", 2, (memory(1, 64), memory(1, 512))),
    ),
    ((8, 0), (0, 32)),
    ((0, 128), (128, 0)),
)


def test_rounds_are_a_function() -> None:
    """It is launched with the buffers and the thread's number, and calls kernels on all chunks."""
    script = (Launch("make", 5, (memory(3, 0), memory(1, 0))), Barrier(), ROUNDS)
    run, functions, declared = write_run(script), write_rounds(script), declarations(script)
    ModuleOp([*declared, *functions, run]).verify()
    assert [op.sym_name.data for op in declared] == ["make", "use"]
    first, second = (op for op in run.body.block.ops if isinstance(op, rt.LaunchOp))
    assert second.callee and second.callee.string_value() == functions[0].sym_name.data
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


def test_arguments_of_all_rounds_are_kept_apart() -> None:
    """In the last round the result lies where it met an operand, were it as long."""
    assert separate_arguments((ROUNDS,)) == {"make": (True, True), "use": (True, True)}
    assert len(list(launches_of((Barrier(), ROUNDS)))) == 12
    long = replace(ROUNDS.first[1], arguments=(memory(1, 64), memory(1, 512, 24)))
    on = replace(ROUNDS, first=(ROUNDS.first[0], long), by_round=((8, 0), (0, -88)))
    assert separate_arguments((on,)) == {"make": (True, True), "use": (False, False)}


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
