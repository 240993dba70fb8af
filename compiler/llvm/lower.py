"""Lowers the loops level to the llvm dialect, in one pass over the operations.

    func.func private @k(%x: memref<8xf32>) { scf.for ... }   ->   llvm.func internal @k(!llvm.ptr)

Each file of `lowering` lowers a dialect, or some of its operations: control (scf), arithmetic,
integers and conversions (arith, math), vectors, memory (memref, rt.buffer), tiles, launches. Calls
and barriers are here. No pass rewrites the result: LLVM's code generator gets it as it is.

Needs: memrefs with static layouts, vectors of one dimension, functions without results.  Breaks:
nothing; the given module stays as it is.
"""

from __future__ import annotations

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.ir import Block, Operation, Region

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.formulas.math import Library
from ncc.compiler.llvm.llvm_builder import POINTER, VOID, function_op
from ncc.compiler.llvm.lowering import (
    arithmetic,
    control,
    conversions,
    dot_bytes,
    integers,
    memory,
    tiles,
    vectors,
)
from ncc.compiler.llvm.lowering.function import PASS, Function, Handler, machine_type
from ncc.compiler.llvm.lowering.launch import lower_launch
from ncc.compiler.target import Target
from ncc.dialects import rt
from ncc.dialects.functions import PRIVATE, module_of

BARRIER, END = "ncc_barrier", "ncc_end"
"""The names of these functions in the runtime's text."""


def lower_call(function: Function, op: func.CallOp) -> None:
    """Memrefs are passed as bare pointers."""
    function.builder.call(op.callee.string_value(), memory.passed(function, op.arguments))


def lower_meeting(function: Function, op: rt.BarrierOp | rt.EndOp) -> None:
    """A call of the runtime's barrier, or of its end of a run, with the state in buffers[0]. until:
    chunks of this run; the runtime gets the same as chunks of all runs.
    """
    builder = function.builder
    if isinstance(op, rt.EndOp):
        name, threads = END, [op.thread, op.threads]
    else:
        name, threads = BARRIER, [op.threads]
    function.library.declare(name, [POINTER, *[i64] * (2 + len(threads))])
    state = memory.buffer_pointer(function, op.buffers, 0)
    number = builder.constant(op.until.value.data, i64)
    until = builder.binary(llvm.AddOp, function.value(op.before), number)
    builder.call(name, [state, function.value(op.did), until, *function.values(threads)])


HANDLERS: dict[type[Operation], Handler] = {
    **arithmetic.HANDLERS,
    **integers.HANDLERS,
    **conversions.HANDLERS,
    **control.HANDLERS,
    **memory.HANDLERS,
    **vectors.HANDLERS,
    **tiles.HANDLERS,
    func.CallOp: lower_call,
    rt.LaunchOp: lower_launch,
    rt.BarrierOp: lower_meeting,
    rt.EndOp: lower_meeting,
    rt.DotBytesOp: dot_bytes.lower_dot_bytes,
    rt.MatrixBytesOp: dot_bytes.lower_matrix_bytes,
}


def lower(module: ModuleOp, target: Target) -> ModuleOp:
    """The module of the llvm dialect for a module of the loops level.

    Raises CompilerBug for an operation without a lowering.
    """
    library = Library(target)
    sources: list[func.FuncOp] = []
    for op in module.ops:
        if not isinstance(op, func.FuncOp):
            raise CompilerBug(f"{op.name} beside the functions", pass_name=PASS)
        sources.append(op)
    functions: list[llvm.FuncOp] = []
    for source in sources:
        if source.is_declaration:
            types = [machine_type(type) for type in source.function_type.inputs]
            library.declare(source.sym_name.data, types)
        else:
            functions.append(_lower_function(source, target, library))
    return module_of([*functions, *library.functions])


def is_private(source: func.FuncOp) -> bool:
    """Whether only functions of this module call it, as they call kernels and private loops."""
    return source.sym_visibility == PRIVATE


def _lower_function(source: func.FuncOp, target: Target, library: Library) -> llvm.FuncOp:
    """One function; attributes of its arguments (`llvm.noalias`) stay."""
    arguments = source.body.block.args
    entry = Block(arg_types=[machine_type(argument.type) for argument in arguments])
    region = Region(entry)
    function = Function(entry, target, library, HANDLERS)
    for argument, value in zip(arguments, entry.args, strict=True):
        if isinstance(argument.type, MemRefType):
            function.bind_memory(argument, memory.memory_at(value, argument.type))
        else:
            function.bind(argument, value)
    function.lower(source.body.block)
    function.builder.emit(llvm.ReturnOp.create())
    said = {} if source.arg_attrs is None else {"arg_attrs": source.arg_attrs}
    return function_op(
        source.sym_name.data,
        [argument.type for argument in entry.args],
        VOID,
        region,
        is_internal=is_private(source),
        said=said,
    )
