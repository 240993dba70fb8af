"""Kernels that are loops from the start: the region of an `rt.code` as a function.

    func.func private @k7(%x: tensor<8xf32>) -> tensor<8xf32> { %y = rt.code(%x) {...} }
        ->  func.func private @code_7(%x: memref<8xf32>, %y: memref<8xf32>, %first, %last)

One thread runs all of it: the kernel is one chunk.
"""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.build import LoopBuilder
from ncc.dialects.rt import CodeOp, YieldOp


def is_code(function: func.FuncOp) -> bool:
    """Whether an outlined function holds an `rt.code`."""
    return any(isinstance(op, CodeOp) for op in function.body.block.ops)


def memrefs(function: func.FuncOp) -> list[MemRefType[Attribute]]:
    """The memrefs of an outlined function's operands and results."""
    types = function.function_type.inputs.data
    return [kind for kind in types if isinstance(kind, MemRefType)]


def outlined(function: func.FuncOp, name: str) -> func.FuncOp:
    """The region of the function's `rt.code` as a kernel; the region is cloned."""
    op = next(op for op in function.body.block.ops if isinstance(op, CodeOp))
    positions = [function.body.block.args.index(value) for value in op.inputs]
    operands = [value.type for value in function.body.block.args]
    region = op.body.clone()
    body = region.block
    arguments = list(body.args)
    taken = {position: i for i, position in enumerate(positions)}
    types: list[Attribute] = []
    for position in range(len(operands)):
        if position not in taken:
            raise CompilerBug("an operand that the code does not read")
        types.append(arguments[taken[position]].type)
    results = arguments[len(op.inputs) : len(op.inputs) + len(op.results)]
    types += [argument.type for argument in results]
    entry = Block(arg_types=[*types, IndexType(), IndexType()])
    values: list[SSAValue] = [entry.args[position] for position in positions]
    values += list(entry.args[len(operands) : len(operands) + len(results)])
    for scratch in arguments[len(values) :]:
        values.append(_alloca(entry, scratch.type))
    for argument, value in zip(arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    builder = LoopBuilder(entry)
    first, last = entry.args[-2:]

    def whole(_: SSAValue, __: list[SSAValue]) -> list[SSAValue]:
        for inner in list(body.ops):
            body.detach_op(inner)
            if not isinstance(inner, YieldOp):
                builder.blocks[-1].add_op(inner)
        return []

    builder.loop(first, last, 1, [], whole)
    entry.add_op(func.ReturnOp())
    inputs = [argument.type for argument in entry.args]
    return func.FuncOp(name, (inputs, []), Region(entry), visibility="private")


def _alloca(entry: Block, kind: Attribute) -> SSAValue:
    op: Operation = memref.AllocaOp.create(
        result_types=[kind],
        properties={
            "alignment": IntegerAttr(64, i64),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0]),
        },
    )
    entry.add_op(op)
    return op.results[0]
