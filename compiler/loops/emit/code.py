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
from functools import cached_property
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


class CodeKernel:
    """The `rt.code` of a call as a kernel.

    sizes: the values of its own sizes, first of strides, then those that its body names.
    """

    def __init__(self, call: Call) -> None:
        block = call.function.body.block
        self.call, outer = call, list[SSAValue](block.args)
        self.op = next(op for op in ops_of(block) if isinstance(op, CodeOp))
        self.positions = [outer.index(value) for value in self.op.inputs]
        if len(set(self.positions)) != len(outer):
            raise CompilerBug("an operand that the code does not read")
        own = OwnSizes()
        self.strides = own.of(tuple(subview.strides for subview in call.subviews))
        self.named = own.of(tuple(inner.size.data for inner in _size_ops(self.op)))
        self.sizes: tuple[int, ...] = tuple(own.values)

    @property
    def chunks(self) -> int:
        """How many iterations there are."""
        return 1 if self.op.iterations is None else number_of(self.op.iterations)

    @property
    def steps(self) -> int | None:
        """How many steps there are; None if the code has no steps."""
        return None if self.op.steps is None else number_of(self.op.steps)

    @cached_property
    def text(self) -> str:
        """All that the kernel depends on: equal for calls that can share a kernel."""
        op = self.op
        kept = [subview is not None for subview in self.call.scratch]
        properties = {name: value for name, value in op.properties.items() if name != "steps"}
        if self.named:
            op = op.clone()
            for inner, size in zip(_size_ops(op), self.named, strict=True):
                inner.properties["size"] = integer(size)
        if isinstance(op.iterations, SizeAttr):
            del properties["iterations"]  # a launch counts them
        around = (self.positions, self.strides, kept, properties, op.steps is not None)
        return f"{stable_text(around)}\n{region_text(op.body)}"

    @cached_property
    def types(self) -> tuple[MemRefType[Attribute], ...]:
        """The memrefs of operands, results, and scratch memory beyond the stack."""
        inside = self.op.body.block.args
        given = {outer: inside[place].type for place, outer in enumerate(self.positions)}
        behind = inside[len(self.positions) :]
        results = [result.type for result in behind[: len(self.op.results)]]
        kept = zip(behind[len(results) :], self.call.scratch, strict=False)
        scratch = [held.type for held, subview in kept if subview is not None]
        held = [*(given[outer] for outer in range(len(given))), *results, *scratch]
        return tuple(map(_placed, held, self.strides))

    def outlined(self, name: str, target: Target) -> func.FuncOp:
        """The region as a function; it is cloned."""
        op, count = self.op.clone(), len(self.types)
        body, named = op.body.block, _size_ops(op)
        widen(body, target)
        told: list[Attribute] = [memory_type(i64, len(self.sizes))] if self.sizes else []
        numbers = [IndexType()] * (2 if op.steps is None else 3)
        entry = Block(arg_types=[*self.types, *told, *numbers])
        builder = LoopBuilder(entry, entry.args[count] if told else None)
        arguments = list(body.args)
        iteration = None if op.iterations is None else arguments.pop()
        if op.steps is not None:
            arguments.pop().replace_all_uses_with(entry.args[-3])
        self._place(arguments, entry.args[:count], builder)
        for inner, size in zip(named, self.named, strict=True):
            inner.result.replace_all_uses_with(builder.constant(size))
            Rewriter.erase_op(inner)

        def one_iteration(number: SSAValue) -> None:
            if iteration is not None:
                iteration.replace_all_uses_with(number)
            for inner in ops_of(body):
                body.detach_op(inner)
                if not isinstance(inner, YieldOp):
                    builder.put(inner)

        first, last = entry.args[-2:]
        builder.each(first, last, 1, one_iteration)
        return builder.function(name)

    def _place(
        self, arguments: Sequence[SSAValue], given: Sequence[SSAValue], builder: LoopBuilder
    ) -> None:
        """Put memory in the place of the arguments of the code: inputs, results, scratch memory.
        given: the memory that the kernel is called with.
        """
        values = [given[position] for position in self.positions]
        behind = iter(given[len(set(self.positions)) :])
        values += islice(behind, len(self.op.results))
        scratch = arguments[len(values) :]
        kept = self.call.scratch or (None,) * len(scratch)
        for held, subview in zip(scratch, kept, strict=True):
            values.append(builder.scratch(held.type) if subview is None else next(behind))
        strides = dict(zip(given, self.strides, strict=True))
        for argument, value in zip(arguments, values, strict=True):
            told = strides.get(value, ())
            if is_open(*told):
                flatten(argument, told, builder)
            argument.replace_all_uses_with(value)


def _size_ops(op: CodeOp) -> list[SizeOp]:
    return [inner for inner in op.body.walk() if isinstance(inner, SizeOp)]


def _placed(kind: Attribute, strides: Sequence[int]) -> MemRefType[Attribute]:
    """The memref of a region with the strides of a subview."""
    if not isinstance(kind, MemRefType):
        raise CompilerBug(f"{kind} is no memory")
    if is_open(*strides):
        return MemRefType(kind.element_type, [DYNAMIC_INDEX])
    if kind.get_strides() == tuple(strides):
        return kind
    return MemRefType(kind.element_type, kind.get_shape(), StridedLayoutAttr(strides, 0))
