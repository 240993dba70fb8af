"""What calls of a kernel share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from ncc.compiler.loops.emit.position import reach_of
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.open_extents import for_any_size, for_the_hint
from ncc.compiler.loops.units import Family, Member
from ncc.compiler.plan import Buffer, Kind
from ncc.compiler.target import AVX512
from ncc.dialects.size import Size, form_of
from tests.compiler.loops.emit.layers import KernelOf
from tests.compiler.loops.emit.layers import convolution as of_planes


def test_what_an_open_kernel_touches_counts_beside_others(kernel: KernelOf) -> None:
    """Of an argument that has a part of memory to itself, nobody asks how long it is."""
    closed = kernel(of_planes, (3, 114, 114))
    height = Size.symbol("h", 112)
    opened = replace(closed, extents=tuple(height if n == 112 else n for n in closed.extents))
    hinted = for_the_hint(opened, AVX512.costs.schedules)
    schedule = for_any_size(opened, choose(hinted, AVX512), AVX512)
    member = Member(Family(opened, schedule, None), opened)
    stored, count = opened.store.argument, len(opened.element_types)
    whole = 4 * reach_of(closed, stored)

    def told(parts: Sequence[int]) -> int:
        value = Block(arg_types=[f32]).args[0]
        buffers = [Buffer(Kind.ARENA, 0, 4, n, value, part=n) for n in parts]
        return form_of(list(member.reaches(buffers))[stored]).value({"h": 112})

    assert told([0] * count) == whole
    assert told(range(count)) == 0
