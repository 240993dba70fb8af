"""Functions are made as xDSL makes them."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, f32
from xdsl.ir import Block, Region

from ncc.dialects.functions import declaration, module_of, private_function

MEMORY, TENSOR = MemRefType(f32, [4]), TensorType(f32, [4])


def body_of(*types: TensorType) -> Block:
    """A body that returns its arguments."""
    block = Block(arg_types=types)
    block.add_op(func.ReturnOp(*block.args))
    return block


def test_a_private_function() -> None:
    """Its inputs are the arguments of its body."""
    types = [TENSOR, TENSOR]
    made = private_function("same", body_of(*types), types)
    other = func.FuncOp("same", (types, types), Region(body_of(*types)), visibility="private")
    made.verify()
    assert made.is_structurally_equivalent(other) and str(made) == str(other)


def test_a_declaration() -> None:
    """It has no body."""
    made, other = declaration("k", [MEMORY, f32]), func.FuncOp.external("k", [MEMORY, f32], [])
    made.verify()
    assert made.is_declaration and str(made) == str(other)


def test_a_module() -> None:
    """It holds functions in their order."""
    made, other = (
        way([declaration("a", [MEMORY]), private_function("b", body_of())])
        for way in (module_of, ModuleOp)
    )
    made.verify()
    assert str(made) == str(other)
    assert [op.sym_name.data for op in made.ops if isinstance(op, func.FuncOp)] == ["a", "b"]
