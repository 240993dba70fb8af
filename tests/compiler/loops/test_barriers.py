"""Steps wait for those whose memory they touch, if one of both writes there; for no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.loops.barriers import Touched
from ncc.compiler.plan import Call, Kind, Place, Root

BYTES = 64
VALUE = Block(arg_types=[TensorType(f32, [16])]).args[0]


def root(offset: int = 0, kind: Kind = Kind.ARENA, number: int = 0) -> Root:
    return Root(kind, 16, 4, number, VALUE, offset)


def reads(of: Root) -> Touched:
    return Touched.by(Call(func.FuncOp("k", ((), ())), (Place(of, 0, (1,)),), (), ()))


def writes(into: Root) -> Touched:
    return Touched.by(Call(func.FuncOp("k", ((), ())), (), (Place(into, 0, (1,)),), ()))


Does = Callable[[Root], Touched]


@pytest.mark.parametrize(
    ("before", "step", "same", "other"),
    [
        (writes, reads, True, True),
        (reads, writes, True, True),
        # Parts of a joint write other cells of it.
        (writes, writes, False, True),
        (reads, reads, False, False),
    ],
)
def test_who_waits(before: Does, step: Does, same: bool, other: bool) -> None:
    """In one root, and in two roots that lie in the same memory, whatever their numbers."""
    one = root()
    assert step(one).depends_on(before(one)) == same
    assert step(root(number=0)).depends_on(before(root(number=1))) == other
    assert step(root(number=1)).depends_on(before(root(number=1))) == other


@pytest.mark.parametrize(
    ("offset", "waits"),
    [(BYTES - 4, True), (4 - BYTES, True), (BYTES, False), (-BYTES, False)],
)
def test_memory_in_common(offset: int, waits: bool) -> None:
    """A byte is enough; memory that only begins where the other one ends is none."""
    assert reads(root(128 + offset)).depends_on(writes(root(128))) == waits
    assert writes(root(128 + offset)).depends_on(reads(root(128))) == waits


def test_outputs_are_memory_of_their_own() -> None:
    """Each of them: what lies at the same offset of another one, or of the arena, is elsewhere."""
    written = writes(root(kind=Kind.OUTPUT, number=1))
    assert reads(root(kind=Kind.OUTPUT, number=1)).depends_on(written)
    assert not reads(root(kind=Kind.OUTPUT, number=2)).depends_on(written)
    assert not reads(root(number=1)).depends_on(written)


@pytest.mark.parametrize("kind", [Kind.INPUT, Kind.CONSTANT])
def test_what_no_step_writes(kind: Kind) -> None:
    """Nobody waits for who reads an input or a constant, wherever that lies."""
    assert not writes(root()).depends_on(reads(root(kind=kind)))
    assert not reads(root(kind=kind)).depends_on(writes(root()))


def test_all_steps_since_the_last_barrier_count() -> None:
    """What each of them reads, and what it writes."""
    read, written = root(), root(BYTES)
    before = reads(read)
    before.add(writes(written))
    assert writes(read).depends_on(before)
    assert reads(written).depends_on(before)
