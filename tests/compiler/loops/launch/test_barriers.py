"""Steps wait for those whose memory they touch, if one of both writes there; for no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.loops.launch.barriers import Touched
from ncc.compiler.plan import Buffer, Call, Kind, Subview

BYTES = 64
VALUE = Block(arg_types=[TensorType(f32, [16])]).args[0]


def buffer(offset: int = 0, kind: Kind = Kind.ARENA, number: int = 0) -> Buffer:
    return Buffer(kind, 16, 4, number, VALUE, offset)


def reads(of: Buffer) -> Touched:
    return Touched.by(Call(func.FuncOp("k", ((), ())), (Subview(of, 0, (1,)),), (), ()))


def writes(into: Buffer) -> Touched:
    return Touched.by(Call(func.FuncOp("k", ((), ())), (), (Subview(into, 0, (1,)),), ()))


Does = Callable[[Buffer], Touched]


@pytest.mark.parametrize(
    ("before", "step", "same", "other"),
    [
        (writes, reads, True, True),
        (reads, writes, True, True),
        # Parts of a concat write other cells of it.
        (writes, writes, False, True),
        (reads, reads, False, False),
    ],
)
def test_who_waits(before: Does, step: Does, same: bool, other: bool) -> None:
    """In one root, and in two roots that lie in the same memory, whatever their numbers."""
    one = buffer()
    assert step(one).depends_on(before(one)) == same
    assert step(buffer(number=0)).depends_on(before(buffer(number=1))) == other
    assert step(buffer(number=1)).depends_on(before(buffer(number=1))) == other


@pytest.mark.parametrize(
    ("offset", "waits"),
    [(BYTES - 4, True), (4 - BYTES, True), (BYTES, False), (-BYTES, False)],
)
def test_memory_in_common(offset: int, waits: bool) -> None:
    """A byte is enough; memory that only begins where the other one ends is none."""
    assert reads(buffer(128 + offset)).depends_on(writes(buffer(128))) == waits
    assert writes(buffer(128 + offset)).depends_on(reads(buffer(128))) == waits


def test_outputs_are_memory_of_their_own() -> None:
    """Each of them: what lies at the same offset of another one, or of the arena, is elsewhere."""
    written = writes(buffer(kind=Kind.OUTPUT, number=1))
    assert reads(buffer(kind=Kind.OUTPUT, number=1)).depends_on(written)
    assert not reads(buffer(kind=Kind.OUTPUT, number=2)).depends_on(written)
    assert not reads(buffer(number=1)).depends_on(written)


@pytest.mark.parametrize("kind", [Kind.INPUT, Kind.CONSTANT])
def test_what_no_step_writes(kind: Kind) -> None:
    """Nobody waits for who reads an input or a constant, wherever that lies."""
    assert not writes(buffer()).depends_on(reads(buffer(kind=kind)))
    assert not reads(buffer(kind=kind)).depends_on(writes(buffer()))


def test_all_steps_since_the_last_barrier_count() -> None:
    """What each of them reads, and what it writes."""
    read, written = buffer(), buffer(BYTES)
    before = reads(read)
    before.add(writes(written))
    assert writes(read).depends_on(before)
    assert reads(written).depends_on(before)
