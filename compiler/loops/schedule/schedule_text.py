"""Schedules as one line of text, which parses back to equal schedules.

    contraction lane d2 vector 16 tile d0 by 2, d1 by 14 order d0, d1, d2 reduced d3 chunks 2

`ncc tune` keeps the same text. Fields that the line leaves out have their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from ncc.compiler.loops.kernel.kernel_parser import KernelParser
from ncc.compiler.loops.kernel.kernel_text import access_text
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy


class _Form(NamedTuple):
    """How the values of a field are written and read."""

    text: Callable[[Any], str]
    parse: Callable[[KernelParser], object]


def _loop_by_text(pair: tuple[int, int]) -> str:
    return f"d{pair[0]} by {pair[1]}"


def _loop_by(parser: KernelParser) -> tuple[int, int]:
    loop = parser.loop()
    parser.parser.parse_keyword("by")
    return loop, parser.parser.parse_integer()


def _several(form: _Form) -> _Form:
    """A tuple of values, with commas between them."""
    return _Form(
        lambda values: ", ".join(map(form.text, values)),
        lambda parser: tuple(parser.listed(lambda: form.parse(parser))),
    )


NUMBER = _Form(str, lambda parser: parser.parser.parse_integer())
FLAG = _Form(lambda _: "", lambda _: True)
LOOP = _Form("d{}".format, KernelParser.loop)
LOOPS = _several(LOOP)
LOOP_SET = _Form(
    lambda loops: LOOPS.text(sorted(loops)), lambda parser: frozenset(parser.listed(parser.loop))
)
LOOP_BY = _Form(_loop_by_text, _loop_by)
ACCESSES = _several(_Form(access_text, KernelParser.access))

FORMS: Mapping[str, _Form] = {
    "lane": LOOP,
    "vector": NUMBER,
    "tile": _several(LOOP_BY),
    "order": LOOPS,
    "reduced": LOOPS,
    "unroll": LOOP_SET,
    "transpose": LOOP,
    "interleave": LOOP,
    "chunks": NUMBER,
    "prefetch_l2": ACCESSES,
    "prefetch_l1": ACCESSES,
    "quad": LOOP,
    "signed": FLAG,
    "tiles": NUMBER,
    "flat": FLAG,
    "short": LOOP_BY,
    "panel": LOOP,
    "span": NUMBER,
    "at_once": LOOP_BY,
    "joined": NUMBER,
    "coalesced": LOOPS,
    "small": FLAG,
    "unprefetched": NUMBER,
    "in_line": NUMBER,
}
"""The fields of a schedule in the order in which they are written."""

_DEFAULTS: Mapping[str, Any] = {
    **{"lane": None, "vector": 1, "tile": (), "order": (), "reduced": ()},
    **{field.name: field.default for field in fields(Schedule) if field.default is not MISSING},
}


def schedule_text(schedule: Schedule) -> str:
    """The strategy, then all fields that have not their defaults."""
    words = [schedule.strategy.value]
    for name, form in FORMS.items():
        value = getattr(schedule, name)
        if value != _DEFAULTS[name]:
            words += [name, form.text(value)]
    return " ".join(filter(None, words))


def parse_schedule(parser: KernelParser) -> Schedule:
    """The schedule that comes next; raises xDSL's ParseError."""
    strategies = {strategy.value: strategy for strategy in Strategy}
    strategy = parser.parser.parse_identifier(" of a strategy")
    if strategy not in strategies:
        parser.parser.raise_error(f"there is no strategy {strategy}")
    said = dict(_DEFAULTS)
    for name, form in FORMS.items():
        if parser.parser.parse_optional_keyword(name) is not None:
            said[name] = form.parse(parser)
    return Schedule(strategies[strategy], **said)
