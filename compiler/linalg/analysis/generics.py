"""The function of the network, and the functions that it calls."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.operation import ops_of


def network_of(module: ModuleOp) -> func.FuncOp:
    """The function of the network: the one that no other function calls."""
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_visibility is None:
            return op
    raise CompilerBug("a module without a public function")


def generics_of(block: Block) -> list[GenericOp]:
    """The generics of a block, in a list that later rewrites do not change."""
    return [op for op in ops_of(block) if isinstance(op, GenericOp)]


def callee_of(call: func.CallOp) -> str:
    """The name of the called function."""
    name: str = call.callee.root_reference.data
    return name
