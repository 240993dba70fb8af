"""The function of the network, and the functions that it calls."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.operation import ops_of
from ncc.dialects.tiled import TiledLoopOp


def network_of(module: ModuleOp) -> func.FuncOp:
    """The function of the network: the one that no other function calls."""
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_visibility is None:
            return op
    raise CompilerBug("a module without a public function")


def generics_of(block: Block) -> list[GenericOp]:
    """The generics of a block and of its loops, in a list that later rewrites do not change."""
    return [op for op in with_bodies(block) if isinstance(op, GenericOp)]


def with_bodies(block: Block) -> list[Operation]:
    """The operations of a block in order; those of a loop over tiles come in front of the loop."""
    found: list[Operation] = []
    for op in ops_of(block):
        if op.regions and isinstance(op, TiledLoopOp):
            found += with_bodies(op.body.block)
        found.append(op)
    return found


def callee_of(call: func.CallOp) -> str:
    """The name of the called function."""
    name: str = call.callee.root_reference.data
    return name
