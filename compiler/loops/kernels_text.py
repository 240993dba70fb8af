"""The kernels of a network as text, with the decisions that led to each schedule as comments.

    kernel @contraction_2f9a0c5b7d11 {
      // layers: conv1, relu1
      // operations: 21,954,560 in 29 chunks
      // strategy: contraction, which wants a sum of products, one side contiguous
      // not k_split: its weights do not split k
      // ..
      // cycles: 219,803 (multiply-adds 81 %, stores 12 %, iterations 5 %, starts 3 %)
      // runner-up: ..
      arguments f32, f32, f32
      ..
      schedule contraction lane d2 ..
    }

`parse_kernels` reads the same kernels and schedules from it, and skips comments. A function without
a kernel is only a comment: a layer's own code, or the fill of borders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.loops.schedule.decision import Decision
from ncc.compiler.loops.units import Unit
from ncc.compiler.loops.work import flops
from ncc.compiler.target import Target
from ncc.dialects.size import is_open


class KernelsText(NamedTuple):
    """The text of all kernels of a network; `str` makes it."""

    loops: NetworkLoops
    target: Target

    def __str__(self) -> str:
        """Every kernel, in the order of the steps."""
        return "\n".join(map(self.of, self.loops.units))

    def of(self, unit: Unit) -> str:
        """One of the kernels."""
        if unit.scheduled is None:
            return f"// @{unit.name}: {'; '.join(self.comments(unit))}"
        return unit.scheduled.text(self.comments(unit))

    def comments(self, unit: Unit) -> Iterator[str]:
        """Which layers a kernel computes, and why it has its schedule."""
        yield f"layers: {', '.join(self.loops.layers_of(unit))}"
        if unit.scheduled is None:
            yield "not written from a kernel"
            return
        kernel, schedule = unit.scheduled.kernel, unit.scheduled.schedule
        yield f"operations: {flops(kernel):,} in {_count(unit.chunks)}"
        yield from Decision.of(kernel, schedule, self.target).lines()


def _count(chunks: int) -> str:
    if is_open(chunks):
        return "chunks that the run counts"
    return f"{chunks} chunk{'s' * (chunks > 1)}"
