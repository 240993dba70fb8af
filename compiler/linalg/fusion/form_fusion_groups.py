"""Forms fusion groups: operations that become one kernel, each group outlined as a function.

    %b = generic(spread %bias)          func.func private @k0(%x, %w, %bias, %r) {
    %c = generic(%x, %w) outs(%b)         %b = ...  %c = ...  %s = ...  %y = ...
    %s = generic(%c + %r)         ->      func.return %y
    %y = generic(max(%s, 0))            }
                                        %y = func.call @k0(%x, %w, %bias, %r)

`find_groups` chooses them. No bodies are merged: the text of a kernel still is the readable
generics of its layers. A function that stores the bf16 parts of a value returns the value as well
if another kernel reads it.

Needs: the linalg level, tensors. Breaks: nothing; results are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.fusion.fusion_groups import Group, find_groups, is_initial
from ncc.compiler.linalg.rewrite.decisions import Decision, Decisions, ExplainedPass
from ncc.compiler.linalg.rewrite.insert import erase_dead
from ncc.compiler.linalg.rewrite.pattern import layers_of
from ncc.dialects.attributes import string, symbol
from ncc.dialects.functions import private_function
from ncc.dialects.operation import copy_of, make, operands_of, ops_of
from ncc.dialects.tiled import TiledLoopOp


@dataclass(frozen=True)
class FormFusionGroups(ExplainedPass):
    """Form groups of operations that become one kernel each."""

    name = "form-fusion-groups"

    epilogues: bool = True
    costs: CostModel = CostModel()

    def run(self, block: Block, decisions: Decisions | None) -> None:
        erase_dead(block)
        most = self.costs.fusion.most_in_epilogue if self.epilogues else 0
        bodies = [op.body.block for op in ops_of(block) if isinstance(op, TiledLoopOp)]
        groups = [group for one in (block, *bodies) for group in find_groups(one, most)]
        if decisions is not None:
            decisions += [one for group in groups for one in self._decisions(group)]
        network = block.parent_op()
        home = None if network is None else network.parent_block()
        if home is None:
            raise CompilerBug("a network outside of a module")
        for number, group in enumerate(groups):
            _outline(home, group, f"k{number}")
        erase_dead(block)

    def _decisions(self, group: Group) -> Iterator[Decision]:
        """Why the anchor joined no other group, and what joined it."""
        host = layers_of(group.anchor)
        if group.apart:
            yield Decision(self.name, host, False, group.apart)
        for layers in map(layers_of, group.epilogue):
            if layers != host:
                yield Decision(self.name, layers, True, f"in the kernel of layer {host!r}")


def _outline(home: Block, group: Group, name: str) -> None:
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
    home.add_op(private_function(name, block, [r.type for r in results]))


def _rename_operands(op: Operation, renamed: Mapping[SSAValue, SSAValue]) -> None:
    """Replace operands of an operation, and of those inside of it."""
    for inner in op.walk():
        for index, operand in enumerate(operands_of(inner)):
            if operand in renamed:
                inner.operands[index] = renamed[operand]


def _local_operations(operations: Iterable[Operation]) -> list[Operation]:
    """The operations that every kernel repeats: empty tensors, scalar constants, and fills."""
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
