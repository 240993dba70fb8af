"""Groups: computations that become one kernel, each outlined as a function.

    %b = generic(spread %bias)          func.func private @k0(%x, %w, %bias, %r) {
    %c = generic(%x, %w) outs(%b)         %b = ...  %c = ...  %s = ...  %y = ...
    %s = generic(%c + %r)         ->      func.return %y
    %y = generic(max(%s, 0))            }
                                        %y = func.call @k0(%x, %w, %bias, %r)

A group is an anchor, the pointwise computation of its initial values, and the pointwise
computations that follow at the point that is stored. No body is merged: a kernel's text still is
the readable generics of its layers. Views (pad, concat, slices, reshapes) and constants stay
outside; they are memory, not work.

Halves of a value (`SplitHalves`) are stored by the kernel that makes it, last; the function returns
the value as well where somebody else reads it.

Legality of an epilogue: it alone reads the group's result, at the place that it writes itself.

Needs: the structured level, tensors. Breaks: nothing; results are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.insert import erase_dead
from ncc.compiler.linalg.network import PRIVATE, network_of
from ncc.compiler.linalg.tensors import VIEWS
from ncc.compiler.linalg.view import View, shape_of
from ncc.dialects.attributes import string, symbol
from ncc.dialects.code import CodeOp
from ncc.dialects.operation import copy_of, make, operands_of
from ncc.dialects.weights.weight import ConstantOp

MOST_IN_EPILOGUE = 32
"""Computations at one point that is stored: LLVM's time grows with more than their number."""

_MEMORY = (*VIEWS, ConstantOp, arith.ConstantOp, tensor.EmptyOp, func.ReturnOp)


@dataclass
class Group:
    """The operations of one kernel, in program order."""

    anchor: Operation
    initial: list[Operation] = field(default_factory=list)
    selection: GenericOp | None = None
    epilogue: list[GenericOp] = field(default_factory=list)
    halves: GenericOp | None = None

    @property
    def operations(self) -> list[Operation]:
        selection = [] if self.selection is None else [self.selection]
        halves = [] if self.halves is None else [self.halves]
        return [*self.initial, *selection, self.anchor, *self.epilogue, *halves]

    @property
    def value(self) -> Operation:
        """What computes the value at a point that is stored, whole or in halves."""
        return self.epilogue[-1] if self.epilogue else self.anchor

    @property
    def results(self) -> list[SSAValue]:
        """What others read."""
        values: list[SSAValue] = list(self.value.results)
        if self.halves is None:
            return values
        alone = all(value.has_one_use() for value in values)
        return [*([] if alone else values), *self.halves.results]


@dataclass(frozen=True)
class Fuse(ModulePass):
    """Outline every group of the network's function; see the head of this file."""

    name = "fuse-groups"

    epilogues: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        network = network_of(op)
        erase_dead(network.body.block)
        for number, group in enumerate(find_groups(network.body.block, self.epilogues)):
            _outline(op, group, f"k{number}")
        erase_dead(network.body.block)


def find_groups(block: Block, epilogues: bool = True) -> list[Group]:
    """The groups of a block, in the order of their anchors."""
    groups: list[Group] = []
    result_of: dict[SSAValue, Group] = {}
    for op in block.ops:
        if isinstance(op, _MEMORY):
            continue
        if not isinstance(op, GenericOp | FillOp | CodeOp):
            raise CompilerBug(f"{op.name} has no place in the structured level")
        if _is_initial(op) or _is_inside(op):
            continue
        if epilogues and isinstance(op, GenericOp) and View(op).halves:
            host = _halved(op, result_of)
            if host is not None:
                host.halves = op
                continue
        host = _host(op, result_of) if epilogues and isinstance(op, GenericOp) else None
        if host is not None and isinstance(op, GenericOp):
            del result_of[host.value.results[0]]
            host.epilogue.append(op)
            result_of[op.results[0]] = host
            continue
        group = Group(op, _initial_of(op), _selection_of(op))
        groups.append(group)
        if isinstance(op, GenericOp):
            result_of[op.results[0]] = group
    return groups


def _is_initial(op: Operation) -> bool:
    """Whether op only computes the initial values of one whole accumulation."""
    if isinstance(op, FillOp):
        return all(_accumulates_whole(use.operation) for use in op.results[0].uses)
    if not isinstance(op, GenericOp):
        return False
    view, user = View(op), op.results[0].get_user_of_unique_use()
    if not view.is_pointwise or view.indexed or not _writes_whole(view):
        return False
    if user is None or not _accumulates_whole(user):
        return False
    return isinstance(user, GenericOp) and user.outputs[0] is op.results[0]


def _is_inside(op: Operation) -> bool:
    """Whether op is a selection of elements in a row, which its reader finds where they lie."""
    if not isinstance(op, GenericOp):
        return False
    view = View(op)
    return view.lanes is not None and len(shape_of(view.captured[0])) == 1


def _selection_of(op: Operation) -> GenericOp | None:
    """The selection whose elements an accumulation reads where they lie."""
    for operand in operands_of(op):
        if isinstance(operand.owner, GenericOp) and _is_inside(operand.owner):
            return operand.owner
    return None


def _accumulates_whole(user: Operation) -> bool:
    """Whether a generic starts from `outs` and writes every point of it."""
    if not isinstance(user, GenericOp):
        return False
    view = View(user)
    return view.reads_outs and _writes_whole(view)


def _writes_whole(view: View) -> bool:
    """Whether each point of the result is written by one point of the parallel loops."""
    return all(form.bare is not None for form in view.write.index)


def _initial_of(op: Operation) -> list[Operation]:
    if not isinstance(op, GenericOp):
        return []
    source = op.outputs[0].owner
    return [source] if isinstance(source, GenericOp) and _is_initial(source) else []


def _host(op: GenericOp, result_of: dict[SSAValue, Group]) -> Group | None:
    """The group whose epilogue op can be: the latest one, when several qualify."""
    view = View(op)
    if not view.is_pointwise or view.computes_coordinates:
        return None
    found: Group | None = None
    for position, access in enumerate(view.reads):
        group = result_of.get(access.value)
        if group is None or not access.value.has_one_use():
            continue
        if position not in view.live or not isinstance(group.anchor, GenericOp):
            continue
        if len(group.epilogue) == MOST_IN_EPILOGUE:
            continue
        anchor = View(group.anchor)
        whole = _writes_whole(anchor)
        same = access.index == view.write.index and len(view.extents) == len(access.index)
        if whole and same and all(form.bare is not None for form in access.index):
            later = found is None or found.value.is_before_in_block(group.value)
            found = group if later else found
    return found


def _halved(op: GenericOp, result_of: dict[SSAValue, Group]) -> Group | None:
    """The group whose value op reads to make halves of it, if it can store them itself."""
    view = View(op)
    [access] = view.reads
    group = result_of.get(access.value)
    if group is None or group.halves is not None or not isinstance(group.anchor, GenericOp):
        return None
    anchor = View(group.anchor)
    goes_on = isinstance(group.anchor.outputs[0].owner, GenericOp | Block) and not group.initial
    if goes_on or anchor.separable is not None or anchor.indexed or not _writes_whole(anchor):
        return None
    pair = access.index[0]  # step * 2 + side: blocks of the value are all in pairs
    return group if len(pair.terms) == 2 and len(access.index) == len(anchor.write.index) else None


def _outline(module: ModuleOp, group: Group, name: str) -> None:
    """Move a group into a function and call it where the group's last operation stood."""
    last, results = group.operations[-1], group.results
    inside = set(group.operations)
    local = _local_operations(group.operations)
    external = _external_values(group.operations, {*inside, *local})
    block = Block(arg_types=[value.type for value in external])
    renamed: dict[SSAValue, SSAValue] = dict(zip(external, block.args, strict=True))
    call = make(
        func.CallOp,
        operands=external,
        result_types=[result.type for result in results],
        properties={"callee": symbol(name)},
        attributes={"layers": ArrayAttr(map(string, _docs(group.operations)))},
    )
    parent = last.parent_block()
    if parent is None:
        raise CompilerBug(f"{last.name} stands nowhere")
    parent.insert_op_before(call, last)
    for old, new in zip(results, call.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_uses_with_if(new, lambda use: use.operation not in inside)
    for op in local:
        block.add_op(copy_of(op, renamed))
    for op in group.operations:
        parent.detach_op(op)
        for inner in op.walk():
            for index, operand in enumerate(operands_of(inner)):
                if operand in renamed:
                    inner.operands[index] = renamed[operand]
        block.add_op(op)
    block.add_op(make(func.ReturnOp, operands=results))
    type = FunctionType.from_lists([v.type for v in external], [r.type for r in results])
    properties = {"sym_name": string(name), "function_type": type, "sym_visibility": PRIVATE}
    module.body.block.add_op(make(func.FuncOp, properties=properties, regions=[Region(block)]))


def _local_operations(operations: Iterable[Operation]) -> list[Operation]:
    """What every kernel makes for itself: shapes of results, scalar constants, and fills."""
    found: dict[Operation, None] = {}
    for op in operations:
        for operand in operands_of(op):
            owner = operand.owner
            if isinstance(owner, FillOp) and _is_initial(owner):
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
