"""Functions and modules of them, made with all that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ncc.dialects.attributes import string
from ncc.dialects.operation import make

PRIVATE = StringAttr("private")
"""How functions are seen that only their module calls."""


def private_function(name: str, body: Block, outputs: Sequence[Attribute] = ()) -> func.FuncOp:
    """A function that only its module calls. body: ends with the return of its outputs."""
    return _private(name, body.arg_types, outputs, Region(body))


def declaration(name: str, inputs: Sequence[Attribute]) -> func.FuncOp:
    """A function without outputs that another module defines."""
    return _private(name, inputs, (), Region())


def module_of(operations: Iterable[Operation]) -> ModuleOp:
    """A module of functions."""
    return make(ModuleOp, regions=[Region(Block(operations))])


def _private(
    name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute], body: Region
) -> func.FuncOp:
    properties = {
        "sym_name": string(name),
        "function_type": FunctionType.from_lists(inputs, outputs),
        "sym_visibility": PRIVATE,
    }
    return make(func.FuncOp, properties=properties, regions=[body])
