"""Where operations of a function are put, and which constants are one."""

from __future__ import annotations

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IndexType, VectorType, f32, f64, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.scopes import Scope, ScopeWriter


def value() -> Operation:
    """An operation of one result."""
    return TestOp(result_types=[f32])


def test_constants_are_shared() -> None:
    """By value and type: the zeros of floats are two numbers, and 1 is another one in 64 bits."""
    writer = ScopeWriter(Block())
    vector = VectorType(f32, [4])
    assert writer.constant(1.0, f32) is writer.constant(1.0, f32)
    others = [(1.0, f64), (1, i32), (0.0, f32), (-0.0, f32), (1.0, vector)]
    found = {writer.constant(number, type) for number, type in [(1.0, f32), *others]}
    assert len(found) == 6 and len(list(writer.entry.ops)) == 6
    assert writer.undefined(f32) is writer.undefined(f32)
    assert writer.undefined(f32) is not writer.undefined(vector)


def test_constants_stand_first() -> None:
    """Whatever scope asked for them: every loop sees them."""
    writer = ScopeWriter(Block())
    begun = writer.emit(value())
    body = Block()
    writer.scope = Scope(body, writer.scope)
    number = writer.constant(2.0, f32)
    assert list(writer.entry.ops) == [number.owner, begun] and body.is_empty
    assert writer.scope_of(number) is writer.root


def test_what_a_loop_does_not_change_is_put_in_front_of_it() -> None:
    """It is known to be there, as what is written inside is known to be inside."""
    writer = ScopeWriter(Block())
    outer, body = writer.scope, Block()
    writer.scope = Scope(body, outer)
    hoisted = writer.emit_in(outer, value())
    inside = writer.note(writer.result(value()))
    assert list(writer.entry.ops) == [hoisted.owner] and list(body.ops) == [inside.owner]
    assert writer.scope_of(hoisted) is outer and writer.scope_of(inside).depth == 1


def test_types_that_have_no_constants() -> None:
    """Whoever asks for one is wrong."""
    writer = ScopeWriter(Block())
    with pytest.raises(CompilerBug, match="constant of type"):
        writer.constant(1.0, llvm.LLVMPointerType())
    with pytest.raises(CompilerBug, match="constant vector of type index"):
        writer.vector_of([1.0], IndexType())
