"""Which arguments of kernels may name the same memory, told from the calls in the entry point.

The memory planner puts values over one another, also inside one call: a residual sum in place of
one of its operands. LLVM may only be told `noalias` where every call keeps the arguments apart.

    %a = rt.buffer %buffers[1] offset 0 : memref<8xf32>        bytes 0 to 32 of the arena
    %b = rt.buffer %buffers[1] offset 16 : memref<8xf32>       bytes 16 to 48: both arguments share
    func.call @k(%a, %b)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ncc.compiler.llvm.addresses import layout
from ncc.compiler.llvm.function import machine_type
from ncc.compiler.llvm.memory import alignment
from ncc.dialects import rt

Range = tuple[int, int, int]
"""Number of the buffer, first byte, byte after the last."""


def overlapping_arguments(entries: Sequence[func.FuncOp]) -> dict[str, frozenset[int]]:
    """For each function that the entries call, the positions of the memrefs not disjoint."""
    shared: dict[str, set[int]] = {}
    for op in (op for entry in entries for op in entry.walk()):
        if isinstance(op, func.CallOp):
            here = shared.setdefault(op.callee.string_value(), set())
            memrefs = [
                (position, _range(argument))
                for position, argument in enumerate(op.arguments)
                if isinstance(argument.type, MemRefType)
            ]
            for (first, one), (second, other) in combinations(memrefs, 2):
                if _may_meet(one, other):
                    here |= {first, second}
    return {name: frozenset(positions) for name, positions in shared.items()}


def _range(argument: SSAValue) -> Range | None:
    """The bytes that a memref can reach, if it comes straight from a buffer."""
    owner, type = argument.owner, argument.type
    if not isinstance(owner, rt.BufferOp) or not isinstance(type, MemRefType):
        return None
    strides, start = layout(type)
    reach = [
        stride * (extent - 1) for stride, extent in zip(strides, type.get_shape(), strict=True)
    ]
    low = start + sum(step for step in reach if step < 0)
    high = start + sum(step for step in reach if step > 0) + 1
    size = alignment(machine_type(type.element_type))
    first = owner.offset.value.data
    return owner.index.value.data, first + low * size, first + high * size


def _may_meet(one: Range | None, other: Range | None) -> bool:
    if one is None or other is None:
        return True
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
