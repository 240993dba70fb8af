"""How much memory is left beside an operation of a network that has no places yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.memory.room import Room, rooms
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import add, flip, work

MakeNetwork = Callable[..., ModuleOp]
RoomsOf = Callable[[Callable[[Builder, Tensor], Tensor]], list[Room]]

VALUE = 4 * 10 * 4
"""Bytes of a value of ten rows of four."""


@pytest.fixture
def rooms_of(make_network: MakeNetwork) -> RoomsOf:
    """rooms_of(write): beside each operation of what it makes of a value, in order."""

    def found(write: Callable[[Builder, Tensor], Tensor]) -> list[Room]:
        module = make_network([(10, 4)], lambda b, x: [write(b, x)])
        return list(rooms(network_of(module).body.block, CostModel().memory).values())

    return found


def free(needed: int, kept: int) -> int:
    return int(CostModel().memory.little_more * needed) - kept


def test_of_a_chain(rooms_of: RoomsOf) -> None:
    """Two values at once; the caller has the first one and the last one."""
    first, second, last = rooms_of(lambda b, x: flip(b, flip(b, flip(b, x))))
    assert first == Room(free(2 * VALUE, VALUE), read=0, made=VALUE)
    assert second == Room(free(2 * VALUE, 2 * VALUE), read=VALUE, made=VALUE)
    assert last == Room(free(2 * VALUE, VALUE), read=VALUE, made=0)


def test_of_what_is_read_again(rooms_of: RoomsOf) -> None:
    """A residual is alive beside what is computed meanwhile."""

    def residual(b: Builder, x: Tensor) -> Tensor:
        kept = flip(b, x)
        made = flip(b, flip(b, kept))
        return flip(b, add(b, made, kept))

    _, begun, between, added, _ = rooms_of(residual)
    assert (begun.read, between.read) == (0, VALUE)
    assert between.free == free(3 * VALUE, 3 * VALUE) < begun.free
    assert added == Room(free(3 * VALUE, 2 * VALUE), read=VALUE, made=0)


def test_of_what_is_written_in_place(rooms_of: RoomsOf) -> None:
    """A pointwise operation has the memory of what it alone reads."""
    made, activated, _ = rooms_of(lambda b, x: flip(b, work(b, flip(b, x))))
    assert made == Room(free(2 * VALUE, VALUE), read=0, made=VALUE)
    assert activated == Room(free(2 * VALUE, VALUE), read=0, made=0)


def test_of_joints(rooms_of: RoomsOf) -> None:
    """The first part begins the whole; the network needs the parts, and then the whole."""

    def joined(b: Builder, x: Tensor) -> Tensor:
        return flip(b, b.concat([flip(b, x), work(b, flip(b, x))], axis=0))

    first, second, third, _ = rooms_of(joined)
    assert first == Room(free(4 * VALUE, 2 * VALUE), read=0, made=2 * VALUE)
    assert second == third == Room(free(4 * VALUE, 2 * VALUE), read=0, made=0)


def test_of_frames(rooms_of: RoomsOf) -> None:
    """A value has memory for its frame; what a network needs is without."""
    made, _ = rooms_of(lambda b, x: flip(b, b.pad(flip(b, x), (1, 1), (1, 1))))
    framed = 4 * 12 * 6
    assert made == Room(free(VALUE + framed, framed), read=0, made=framed)
