"""The graph inside of a Loop or Scan as the body of its operator.

Operators that no value of the iteration reaches are the same in all iterations, so they stay
outside. All other values from outside become arguments of the body, behind its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnrankedTensorType, f32
from xdsl.ir import Block, SSAValue

from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.onnx.loops import YieldOp


def arguments(count: int) -> Block:
    """A block with so many arguments, whose types nobody knows yet."""
    return Block(arg_types=[UnrankedTensorType(f32)] * count)


def fill(
    block: Block, ops: Sequence[Layer], results: Sequence[SSAValue]
) -> tuple[list[Layer], list[SSAValue]]:
    """Let a block compute results by those of some operators that need its arguments.

    The operators that do not, and the values from outside that became arguments.
    """
    inside: set[SSAValue] = set(block.args)
    inner, outer = list[Layer](), list[Layer]()
    for op in ops:
        if inside.isdisjoint(op.operands):
            outer.append(op)
        else:
            inner.append(op)
            inside.update(op.results)
    read = [*(value for op in inner for value in op.operands), *results]
    seen = list(dict.fromkeys(value for value in read if value not in inside))
    given = {value: block.insert_arg(value.type, len(block.args)) for value in seen}
    for op in inner:
        op.operands = [given.get(value, value) for value in op.operands]
    block.add_ops([*inner, YieldOp([given.get(value, value) for value in results])])
    return outer, seen
