"""Schedules as one line."""

from __future__ import annotations

from dataclasses import fields

from xdsl.context import Context
from xdsl.parser import Parser

from ncc.compiler.loops.kernel.kernel import Access
from ncc.compiler.loops.kernel.kernel_parser import KernelParser
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.loops.schedule.schedule_text import FORMS, parse_schedule, schedule_text

FULL = Schedule(
    Strategy.CONTRACTION,
    lane=3,
    vector=16,
    tile=((1, 7), (0, 2)),
    order=(0, 1, 3),
    reduced=(2, 4),
    unroll=frozenset({4, 2}),
    transpose=1,
    interleave=0,
    chunks=2,
    prefetch_l2=(Access(1, 64, (1, 0, 0, 0, -4)), Access(2, 0, (0, 0, 1, 0, 0))),
    prefetch_l1=(Access(0, -1, (0, 0, 1, 0, 0)),),
    quad=2,
    signed=True,
    tiles=4,
    flat=True,
    short=(0, 8),
    panel=4,
    span=128,
    at_once=(4, 4),
    coalesced=(1, 0),
    small=True,
    unprefetched=3,
    in_line=4,
)
TEXT = (
    "contraction lane d3 vector 16 tile d1 by 7, d0 by 2 order d0, d1, d3 reduced d2, d4 "
    "unroll d2, d4 transpose d1 interleave d0 chunks 2 "
    "prefetch_l2 arg1[d0 - 4 * d4 + 64], arg2[d2] prefetch_l1 arg0[d2 - 1] quad d2 signed "
    "tiles 4 flat "
    "short d0 by 8 panel d4 span 128 at_once d4 by 4 "
    "coalesced d1, d0 small unprefetched 3 in_line 4"
)


def parsed(text: str) -> Schedule:
    parser = KernelParser(Parser(Context(), text))
    parser.rank = 5
    return parse_schedule(parser)


def test_every_field_is_written() -> None:
    """In the order of the fields."""
    assert [*FORMS] == [field.name for field in fields(Schedule)][1:]


def test_all_at_once() -> None:
    """One line, from which the same schedule is read."""
    assert schedule_text(FULL) == TEXT
    assert parsed(TEXT) == FULL


def test_defaults_are_left_out() -> None:
    """Of each strategy."""
    for strategy in Strategy:
        plain = Schedule(strategy, None, 1, (), (), ())
        assert schedule_text(plain) == strategy.value
        assert parsed(strategy.value) == plain


def test_none_chunks() -> None:
    """A number that is no default is written, be it 0."""
    serial = Schedule(Strategy.SCALAR, None, 1, (), (0,), (), chunks=0)
    assert schedule_text(serial) == "scalar order d0 chunks 0"
    assert parsed(schedule_text(serial)) == serial
