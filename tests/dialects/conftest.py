"""Running an operation that is written as loops, for tests of who writes it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from llvmlite import binding
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp, f32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.loops.emit.lanes import widen
from ncc.compiler.target import BASELINE
from ncc.dialects.attributes import number_of
from ncc.dialects.code import CodeOp
from ncc.dialects.weights.sources import Array

RunCode = Callable[[CodeOp, Sequence[Array]], list[Array]]


@pytest.fixture(scope="session")
def run_code() -> Iterator[RunCode]:
    """run_code(op, arrays): the results of an `rt.code`, compiled for any x86-64."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    engines: list[binding.ExecutionEngine] = []

    def run(code: CodeOp, arrays: Sequence[Array]) -> list[Array]:
        body = code.body.block
        given = [arg.type for arg in body.args if isinstance(arg.type, MemRefType)]
        kinds = [_numpy(kind) for kind in given[: len(arrays)]]
        memory = [np.ascontiguousarray(x, kind) for x, kind in zip(arrays, kinds, strict=True)]
        memory += [_undefined(kind) for kind in given[len(arrays) :]]
        engines.append(_engine(code))
        address = engines[-1].get_function_address("code")
        pointers = [array.ctypes.data for array in memory]
        counts = [
            1 if count is None else number_of(count) for count in (code.steps, code.iterations)
        ]
        types = [*[ctypes.c_void_p] * len(pointers), *[ctypes.c_int64] * 2]
        function = ctypes.CFUNCTYPE(None, *types)(address)
        for step, iteration in product(*map(range, counts)):
            function(*pointers, *((iteration, 0) if code.steps is None else (step, iteration)))
        return memory[len(arrays) : len(arrays) + len(code.results)]

    yield run


@pytest.fixture(scope="session")
def run_codes(run_code: RunCode) -> Callable[[Iterable[Operation], Sequence[Array]], list[Array]]:
    """run_codes(ops, arrays): the results of the last of several, which read one another.

    The arrays are those of the block's arguments, then what constants hold, in the order in which
    they are read.
    """

    def run(ops: Iterable[Operation], arrays: Sequence[Array]) -> list[Array]:
        codes = [op for op in ops if isinstance(op, CodeOp)]
        block = codes[0].parent
        assert block is not None
        known: dict[SSAValue, Array] = dict(zip(block.args, arrays, strict=False))
        constants = iter(arrays[len(block.args) :])
        found: list[Array] = []
        for code in codes:
            read = [_reshaped(value) for value in code.inputs]
            inputs = [known[v] if v in known else next(constants) for v in read]
            found = run_code(code, inputs)
            known.update(zip(code.results, found, strict=True))
        return found

    return run


def _reshaped(value: SSAValue) -> SSAValue:
    """What a value is, however its elements are counted."""
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        value = value.owner.src
    return value


def _undefined(kind: MemRefType[Attribute]) -> Array:
    """Memory of a memref's type with values that nobody can mistake for a result."""
    element = _numpy(kind)
    return np.full(kind.get_shape(), np.nan if element == "f4" else -(1 << 40), element)


def _numpy(kind: MemRefType[Attribute]) -> str:
    """float32, or integers of 64 bits, which have room for any."""
    return "f4" if kind.element_type == f32 else "i8"


def _engine(code: CodeOp) -> binding.ExecutionEngine:
    """Machine code of the region; its scratch memory becomes arguments."""
    body = code.body.clone()
    end = body.block.last_op
    assert end is not None
    body.block.erase_op(end)
    body.block.add_op(func.ReturnOp())
    types = [argument.type for argument in body.block.args]
    block = body.detach_block(0)
    module = ModuleOp([func.FuncOp("code", (types, []), Region(block))])
    module.verify()
    widen(block, BASELINE)  # xDSL's select takes no vector of conditions: it would not verify
    text = emit_llvm(lower(module, BASELINE), BASELINE)
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(emit_object(text, BASELINE)))
    engine.finalize_object()
    return engine
