"""Kernels with their schedules as text, which parses back to equal ones.

kernel @contraction_2f9a0c5b7d11 {
  arguments f32, f32, f32
  ..                                              as in kernel/kernel_text.py
  schedule contraction lane d2 vector 16 ..       as in schedule_text.py
}
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import arith, linalg, math, tensor
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.kernel_parser import KernelParser
from ncc.compiler.loops.kernel.kernel_text import kernel_text
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.loops.schedule.schedule_text import parse_schedule, schedule_text

DIALECTS = (Builtin, arith.Arith, linalg.Linalg, math.Math, tensor.Tensor)
"""The dialects that bodies of kernels are written in."""


class ScheduledKernel(NamedTuple):
    """A kernel and its schedule: all that its loops depend on."""

    name: str
    kernel: Kernel
    schedule: Schedule

    def text(self, comments: Iterable[str] = ()) -> str:
        """The kernel between braces; comments: lines in front of its clauses."""
        said = "\n".join(f"// {line}" for line in comments)
        clauses = [said, kernel_text(self.kernel), f"schedule {schedule_text(self.schedule)}"]
        body = indent("\n".join(filter(None, clauses)), "  ")
        return f"kernel @{self.name} {{\n{body}\n}}"


def parse_kernels(text: str) -> list[ScheduledKernel]:
    """The kernels of a text; raises xDSL's ParseError."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    parser = Parser(context, text)
    found: list[ScheduledKernel] = []
    while parser.parse_optional_keyword("kernel") is not None:
        name = parser.parse_symbol_name().data
        parser.parse_punctuation("{")
        clauses = KernelParser(parser)
        kernel = clauses.parse()
        parser.parse_keyword("schedule")
        found.append(ScheduledKernel(name, kernel, parse_schedule(clauses)))
        parser.parse_punctuation("}")
    if parser.pos != len(text):
        parser.raise_error("a kernel expected")
    return found
