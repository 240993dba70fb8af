"""Steps, kernels and the memory plan of a report."""

from __future__ import annotations

from itertools import combinations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Block

from ncc.compiler.measure.bench import StepCost
from ncc.compiler.plan import Buffer, Call, Kind, Plan, Subview
from ncc.compiler.report.facts import Facts, Step
from ncc.compiler.report.steps import memory_of, with_times


def test_kernels_and_steps_refer_to_each_other(facts: Facts) -> None:
    """Each step runs a kernel, which names the step and its layers."""
    assert facts.steps
    for number, step in enumerate(facts.steps):
        (kernel,) = [one for one in facts.kernels if one.name == step.kernel]
        assert number in kernel.steps
        assert set(step.layers) <= set(kernel.layers)
    (first,) = [one for one in facts.kernels if "first" in one.layers]
    assert first.schedule and first.why[0] == "layers: first"


def test_buffers_that_share_addresses_are_apart_in_time(facts: Facts) -> None:
    """Two values are never alive at one address."""
    assert facts.memory is not None
    buffers = facts.memory.buffers
    assert buffers
    for one in buffers:
        assert 0 <= one.first <= one.last < len(facts.steps)
        assert 0 <= one.offset and one.offset + one.bytes <= (facts.memory.arena_bytes or 0)
    for one, other in combinations(buffers, 2):
        meets = one.offset < other.offset + other.bytes and other.offset < one.offset + one.bytes
        together = one.first <= other.last and other.first <= one.last
        # A value may take the place of one that the same step reads for the last time.
        assert not (meets and together) or one.last == other.first or other.last == one.first


def test_a_buffer_names_the_layers_that_write_it(facts: Facts) -> None:
    """A box of the picture says whose value it is."""
    assert facts.memory is not None
    assert any(buffer.layers == ("first",) for buffer in facts.memory.buffers)


def test_times_go_to_their_steps() -> None:
    """What the compilation says of a step stays."""
    steps = [Step(("a",), "k", 4, 8, 16, 32)]
    cost = StepCost(("a",), ("k",), 2.0, 8, 0, 0, 16, 32, 0.5, 1.5)
    (timed,) = with_times(steps, [cost])
    assert (timed.ms, timed.bound, timed.bound_ms, timed.chunks) == (2.0, "memory", 1.5, 4)


def test_scratch_memory_of_code_is_a_buffer() -> None:
    """It holds no tensor, and no layer's result: it is one step's own."""
    block = Block(arg_types=[MemRefType(i64, [8])])
    scratch = Buffer(Kind.ARENA, 8, 8, 0, block.args[0], byte_offset=64)
    call = Call(func.FuncOp("k", ([], [])), (), (), ("nms",), (Subview(scratch, 0, (1,)),))
    (found,) = memory_of(Plan((call,), {}, (), 128, 0, ())).buffers
    assert (found.type, found.shape, found.bytes, found.offset) == ("int64", "8", 64, 64)
    assert (found.first, found.last, found.layers) == (0, 0, ("nms",))
