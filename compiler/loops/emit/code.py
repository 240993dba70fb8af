"""Kernels that are loops from the start: the region of an `rt.code` as a function.

    func.func private @k7(%x: tensor<8xf32>) -> tensor<8xf32> { %y = rt.code(%x) iterations 2 {..} }
        ->  func.func private @code_7(%x: memref<8xf32>, %y: memref<8xf32>, %first, %last)

Each iteration is a chunk; code without iterations is one chunk. The kernel is launched once for
each step, whose index is the argument in front of the chunks. The memrefs have the strides of
operands and results, which may be subviews of other values. Scratch memory is on the stack, or in
the arena if the memory plan puts it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, StridedLayoutAttr, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.flat_memory import flatten
from ncc.compiler.loops.emit.lanes import widen
from ncc.compiler.loops.emit.loop_builder import LoopBuilder, memory_type
from ncc.compiler.loops.kernel.own_sizes import OwnSizes
from ncc.compiler.loops.kernel.stable_text import region_text, stable_text
from ncc.compiler.plan import Call
from ncc.compiler.target import Target
from ncc.dialects.attributes import SizeAttr, integer, number_of
from ncc.dialects.code import CodeOp, YieldOp
from ncc.dialects.operation import ops_of
from ncc.dialects.rt import SizeOp
from ncc.dialects.size import is_open


def is_code(function: func.FuncOp) -> bool:
    """Whether an outlined function holds an `rt.code`."""
    return any(isinstance(op, CodeOp) for op in ops_of(function.body.block))


def chunks(call: Call) -> int:
    """How many iterations there are."""
    iterations = _code(call).iterations
    return 1 if iterations is None else number_of(iterations)


def steps(call: Call) -> int | None:
    """How many steps there are; None if the code has no steps."""
    steps = _code(call).steps
    return None if steps is None else number_of(steps)


def memrefs(function: func.FuncOp) -> list[MemRefType[Attribute]]:
    """The memrefs of an outlined function's operands and results."""
    types = function.function_type.inputs.data
    return [kind for kind in types if isinstance(kind, MemRefType)]


def signature_text(call: Call) -> str:
    """All that the kernel of a call depends on: equal for calls that can share a kernel."""
    op = _code(call)
    outer: list[SSAValue] = list(call.function.body.block.args)
    positions = [outer.index(value) for value in op.inputs]
    strides, named, _ = _owned(call, op)
    kept = [subview is not None for subview in call.scratch]
    properties = {name: value for name, value in op.properties.items() if name != "steps"}
    if named:
        op = op.clone()
        for inner, size in zip(_size_ops(op), named, strict=True):
            inner.properties["size"] = integer(size)
    if isinstance(op.iterations, SizeAttr):
        del properties["iterations"]  # a launch counts them
    around = stable_text((positions, strides, kept, properties, op.steps is not None))
    return f"{around}\n{region_text(op.body)}"


def sizes(call: Call) -> tuple[int, ...]:
    """The values of the kernel's own sizes: first of strides, then those that its body names."""
    *_, values = _owned(call, _code(call))
    return values


def _owned(
    call: Call, op: CodeOp
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], tuple[int, ...]]:
    """The strides of the memory of a call and the numbers that its code names, by the kernel's own
    sizes, and the values of these.
    """
    own = OwnSizes()
    strides = tuple(subview.strides for subview in call.subviews)
    named = tuple(inner.size.data for inner in _size_ops(op))
    return own.of(strides), own.of(named), tuple(own.values)


def _size_ops(op: CodeOp) -> list[SizeOp]:
    return [inner for inner in op.body.walk() if isinstance(inner, SizeOp)]


def outlined(call: Call, name: str, target: Target) -> func.FuncOp:
    """The region of the call's `rt.code` as a kernel; the region is cloned."""
    op = _code(call).clone()
    strides, named, sizes = _owned(call, op)
    body = op.body.block
    named_by = dict(zip(_size_ops(op), named, strict=True))
    widen(body, target)
    arguments = list(body.args)
    iteration = None if op.iterations is None else arguments.pop()
    step = None if op.steps is None else arguments.pop()
    builder, values, places = _entry(call, arguments, strides, len(sizes))
    for argument, value in zip(arguments, values, strict=True):
        told = places.get(value, ())
        if is_open(*told):
            flatten(argument, told, builder)
        argument.replace_all_uses_with(value)
    for inner, size in named_by.items():
        inner.result.replace_all_uses_with(builder.constant(size))
        Rewriter.erase_op(inner)
    (entry,) = builder.blocks
    if step is not None:
        step.replace_all_uses_with(entry.args[-3])

    def one_iteration(number: SSAValue, _: list[SSAValue]) -> list[SSAValue]:
        if iteration is not None:
            iteration.replace_all_uses_with(number)
        for inner in ops_of(body):
            body.detach_op(inner)
            if not isinstance(inner, YieldOp):
                builder.put(inner)
        return []

    first, last = entry.args[-2:]
    builder.loop(first, last, 1, [], one_iteration)
    return builder.function(name)


def _entry(
    call: Call, arguments: Sequence[SSAValue], strides: Sequence[tuple[int, ...]], sizes: int
) -> tuple[LoopBuilder, list[SSAValue], dict[SSAValue, tuple[int, ...]]]:
    """A function with a memref for each subview of a call, the values that replace the arguments of
    the code (inputs, results, scratch memory), and the strides of those that have some.
    """
    op = _code(call)
    outer: list[SSAValue] = list(call.function.body.block.args)
    positions = [outer.index(value) for value in op.inputs]
    taken = {position: i for i, position in enumerate(positions)}
    if len(taken) != len(outer):
        raise CompilerBug("an operand that the code does not read")
    inside = len(positions) + len(op.results)
    results, scratch = arguments[len(positions) : inside], arguments[inside:]
    kept = call.scratch or (None,) * len(scratch)
    given = [arguments[taken[position]].type for position in range(len(outer))]
    given += [result.type for result in results]
    given += [held.type for held, subview in zip(scratch, kept, strict=True) if subview is not None]
    types = list(map(_placed, given, strides))
    told: list[Attribute] = [memory_type(i64, sizes)] if sizes else []
    numbers = [IndexType()] * (2 if op.steps is None else 3)
    entry = Block(arg_types=[*types, *told, *numbers])
    builder = LoopBuilder(entry, entry.args[len(types)] if sizes else None)
    values: list[SSAValue] = [entry.args[position] for position in positions]
    behind = iter(entry.args[len(outer) : len(types)])
    values += islice(behind, len(results))
    for held, subview in zip(scratch, kept, strict=True):
        values.append(builder.scratch(held.type) if subview is None else next(behind))
    places: dict[SSAValue, tuple[int, ...]] = {}
    places.update(zip(entry.args[: len(types)], strides, strict=True))
    return builder, values, places


def _code(call: Call) -> CodeOp:
    """The `rt.code` of an outlined function."""
    return next(op for op in ops_of(call.function.body.block) if isinstance(op, CodeOp))


def _placed(kind: Attribute, strides: Sequence[int]) -> Attribute:
    """The memref of a region with the strides of a subview."""
    if not isinstance(kind, MemRefType):
        raise CompilerBug(f"{kind} is no memory")
    if is_open(*strides):
        return MemRefType(kind.element_type, [DYNAMIC_INDEX])
    if kind.get_strides() == tuple(strides):
        return kind
    return MemRefType(kind.element_type, kind.get_shape(), StridedLayoutAttr(strides, 0))
