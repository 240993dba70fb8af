"""Groups: computations that become one kernel, each outlined as a function.

    %b = generic(spread %bias)          func.func private @k0(%x, %w, %bias, %r) {
    %c = generic(%x, %w) outs(%b)         %b = ...  %c = ...  %s = ...  %y = ...
    %s = generic(%c + %r)         ->      func.return %y
    %y = generic(max(%s, 0))            }
                                        %y = func.call @k0(%x, %w, %bias, %r)

`find_groups` tells which. No body is merged: a kernel's text still is the readable generics of its
layers. Where halves of a value are stored, the function returns the value as well if somebody else
reads it.

Needs: the linalg level, tensors. Breaks: nothing; results are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.generics import network_of, with_bodies
from ncc.compiler.linalg.fusion.fusion_groups import Group, find_groups, is_initial
from ncc.compiler.linalg.rewrite.insert import erase_dead
from ncc.dialects.attributes import string, symbol
from ncc.dialects.forall import ForallOp
from ncc.dialects.functions import private_function
from ncc.dialects.operation import copy_of, make, operands_of


@dataclass(frozen=True)
class FormFusionGroups(ModulePass):
    """Outline every group of the network's function; see the head of this file."""

    name = "form-fusion-groups"

    epilogues: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        erase_dead(block)
        bodies = [one.body.block for one in with_bodies(block) if isinstance(one, ForallOp)]
        groups = [group for one in (block, *bodies) for group in find_groups(one, self.epilogues)]
        for number, group in enumerate(groups):
            _outline(op, group, f"k{number}")
        erase_dead(block)


def _outline(module: ModuleOp, group: Group, name: str) -> None:
    """Move a group into a function and call it where the group's last operation stood."""
    results = group.results
    inside = set(group.operations)
    local = _local_operations(group.operations)
    external = _external_values(group.operations, {*inside, *local})
    call = make(
        func.CallOp,
        operands=external,
        result_types=[result.type for result in results],
        properties={"callee": symbol(name)},
        attributes={"layers": ArrayAttr(map(string, _docs(group.operations)))},
    )
    parent = group.anchor.parent_block()
    if parent is None:
        raise CompilerBug(f"{group.anchor.name} stands nowhere")
    parent.insert_op_before(call, group.operations[-1])
    for old, new in zip(results, call.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_uses_with_if(new, lambda use: use.operation not in inside)
    block = Block(arg_types=[value.type for value in external])
    renamed: dict[SSAValue, SSAValue] = dict(zip(external, block.args, strict=True))
    for op in local:
        block.add_op(copy_of(op, renamed))
    for op in group.operations:
        parent.detach_op(op)
        _rename_operands(op, renamed)
        block.add_op(op)
    block.add_op(make(func.ReturnOp, operands=results))
    module.body.block.add_op(private_function(name, block, [r.type for r in results]))


def _rename_operands(op: Operation, renamed: Mapping[SSAValue, SSAValue]) -> None:
    """Let an operation, and those inside of it, read other values."""
    for inner in op.walk():
        for index, operand in enumerate(operands_of(inner)):
            if operand in renamed:
                inner.operands[index] = renamed[operand]


def _local_operations(operations: Iterable[Operation]) -> list[Operation]:
    """What every kernel makes for itself: shapes of results, scalar constants, and fills."""
    found: dict[Operation, None] = {}
    for op in operations:
        for operand in operands_of(op):
            owner = operand.owner
            if isinstance(owner, FillOp) and is_initial(owner):
                found.update(dict.fromkeys([*_local_operations([owner]), owner]))
            elif isinstance(owner, tensor.EmptyOp):
                found[owner] = None
            elif isinstance(owner, arith.ConstantOp) and not isinstance(operand.type, TensorType):
                found[owner] = None
    return list(found)


def _external_values(operations: Iterable[Operation], inside: set[Operation]) -> list[SSAValue]:
    found: dict[SSAValue, None] = {}
    for op in operations:
        nested = list(op.walk())
        blocks = [block for inner in nested for r in inner.regions for block in r.blocks]
        own = {*nested, *blocks}
        for inner in nested:
            for value in operands_of(inner):
                if value.owner not in own and value.owner not in inside:
                    found[value] = None
    return list(found)


def _docs(operations: Iterable[Operation]) -> list[str]:
    found: dict[str, None] = {}
    for op in operations:
        doc = op.properties.get("doc") or op.attributes.get("doc")
        if isinstance(doc, StringAttr):
            found[doc.data] = None
    return list(found)
