"""Accesses of memory whose strides the run tells, by one index.

%v = memref.load %x[%i, %j] : memref<?x?xf32>
    ->  %at = %i * %stride + %j
        %v = memref.load %flat[%at] : memref<?xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import LoopBuilder


def flatten(memory: SSAValue, strides: Sequence[int], builder: LoopBuilder) -> None:
    """Let every access of memory take one index instead of one for each axis."""
    for use in list(memory.uses):
        op, first = use.operation, use.index + 1
        behind = first + len(strides)
        indices = op.operands[first:behind]
        if len(indices) < len(strides):
            raise CompilerBug(f"{op.name} is no access of memory")
        at = _sum(op, indices, [builder.constant(stride) for stride in strides])
        op.operands = [*op.operands[:first], at, *op.operands[behind:]]


def _sum(before: Operation, indices: Sequence[SSAValue], strides: Sequence[SSAValue]) -> SSAValue:
    """The sum of indices, each times its stride, in front of an operation."""
    block = before.parent
    if block is None:
        raise CompilerBug("an access outside of any block")
    total: SSAValue | None = None
    for index, stride in zip(indices, strides, strict=True):
        product = arith.MuliOp(index, stride)
        made: list[Operation] = [product]
        if total is not None:
            made.append(arith.AddiOp(total, product.result))
        block.insert_ops_before(made, before)
        total = made[-1].results[0]
    if total is None:
        raise CompilerBug("memory without axes")
    return total
