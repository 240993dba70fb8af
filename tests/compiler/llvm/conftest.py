"""Text of the loops level, compiled and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from llvmlite import binding
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.llvm import LLVM
from xdsl.parser import Parser

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.target import AVX2, BASELINE, TARGETS, Target
from ncc.dialects.rt import RT
from ncc.dialects.tile import TILE
from ncc.runtime import cpu
from tests.runnable import RUNNABLE

DIALECTS = (
    builtin.Builtin, arith.Arith, func.Func, math.Math, memref.MemRef, scf.Scf, vector.Vector,
    LLVM, RT, TILE,
)  # fmt: skip


def parse_text(text: str) -> ModuleOp:
    """The module of a text; not verified, since vectors of i1 are more than xDSL's arith knows."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


class Compiled:
    """Machine code in this process."""

    def __init__(self, text: str, target: Target, more: str = "") -> None:
        self.llvm = emit_llvm(lower(parse_text(text), target), target, more)
        machine = binding.Target.from_default_triple().create_target_machine()
        self.engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        image = binding.ObjectFileRef.from_data(emit_object(self.llvm, target))
        self.engine.add_object_file(image)
        self.engine.finalize_object()

    def call(self, name: str, *arguments: object) -> None:
        """Call a function: arrays as pointers, numbers as i64."""
        address = self.engine.get_function_address(name)
        assert address, name
        values = [
            ctypes.c_void_p(argument.ctypes.data)
            if isinstance(argument, np.ndarray)
            else ctypes.c_int64(int(str(argument)))
            for argument in arguments
        ]
        ctypes.CFUNCTYPE(None, *(type(value) for value in values))(address)(*values)


USUAL = (RUNNABLE[0], AVX2, BASELINE)
"""The widest target, and the narrower vectors with and without fused multiply-add."""


@pytest.fixture(
    params=[
        pytest.param(one, id=one.name, marks=() if one in USUAL else pytest.mark.slow)
        for one in TARGETS
    ]
)
def target(request: pytest.FixtureRequest) -> Target:
    """Each target that this CPU can run; a usual run has three."""
    chosen: Target = request.param
    if not chosen.features <= cpu.features():
        pytest.skip(f"this CPU cannot run {chosen.name}")
    return chosen


@pytest.fixture(scope="session")
def machine_code() -> Callable[..., Compiled]:
    """The machine code of a text for a target, which many tests may call."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return cache(Compiled)


@pytest.fixture
def compiled(target: Target, machine_code: Callable[..., Compiled]) -> Callable[..., Compiled]:
    """A function from text of the loops level to machine code for the target."""

    def compile_text(text: str, more: str = "") -> Compiled:
        return machine_code(text, target, more)

    return compile_text


@pytest.fixture
def parse() -> Callable[[str], ModuleOp]:
    """A function from text of the loops level to its module."""
    return parse_text
