"""Finds the operations that become one kernel: an anchor, its initial values, and its epilogue.

The epilogue are the pointwise operations that follow at the element that is stored. Views (pad,
concat, slices, reshapes) and constants stay outside; they are memory, not work.

The kernel that makes a value also stores its bf16 parts (`SplitBf16`), last. Where the number of
blocks is odd, it stores zeros for the missing one: the pad that says so stands inside.

An operation may join an epilogue if it alone reads the result of the group, at the index that it
writes itself.

A kernel ends after `Fusion.most_in_epilogue` operations behind its sum: the time of LLVM grows
faster than the length of a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import VIEWS, pad_value
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.dialects.code import CodeOp
from ncc.dialects.operation import operands_of
from ncc.dialects.structured import pad_sides
from ncc.dialects.tiled import TiledLoopOp, YieldOp
from ncc.dialects.weights.weight import ConstantOp

_MEMORY = (
    *VIEWS,
    ConstantOp,
    arith.ConstantOp,
    tensor.EmptyOp,
    func.ReturnOp,
    TiledLoopOp,
    YieldOp,
)


@dataclass
class Group:
    """The operations of one kernel, in program order.

    apart: why the anchor did not join the group of a value that it reads, if it reads one.
    """

    anchor: Operation
    initial: list[Operation] = field(default_factory=list)
    gather: GenericOp | None = None
    epilogue: list[GenericOp] = field(default_factory=list)
    bf16_split: GenericOp | None = None
    apart: str = ""

    @property
    def operations(self) -> list[Operation]:
        gather = [] if self.gather is None else [self.gather]
        split = [] if self.bf16_split is None else [*_pads_of(self.bf16_split), self.bf16_split]
        return [*self.initial, *gather, self.anchor, *self.epilogue, *split]

    @property
    def value(self) -> Operation:
        """The operation that computes the stored element, whole or in bf16 parts."""
        return self.epilogue[-1] if self.epilogue else self.anchor

    @property
    def results(self) -> list[SSAValue]:
        """The values that other kernels read."""
        values: list[SSAValue] = list(self.value.results)
        if self.bf16_split is None:
            return values
        alone = all(value.has_one_use() for value in values)
        return [*([] if alone else values), *self.bf16_split.results]


def find_groups(block: Block, most: int) -> list[Group]:
    """The groups of a block, in the order of their anchors. most: operations of an epilogue."""
    groups: list[Group] = []
    result_of: dict[SSAValue, Group] = {}
    for op in block.ops:
        if isinstance(op, _MEMORY):
            continue
        if not isinstance(op, GenericOp | FillOp | CodeOp):
            raise CompilerBug(f"{op.name} is no operation of the linalg level")
        if is_initial(op) or _is_inside(op):
            continue
        host: Group | str = ""
        if most and isinstance(op, GenericOp):
            host = _join(op, result_of, most)
        if isinstance(host, Group):
            continue
        group = Group(op, _initial_of(op), _selection_of(op), apart=host)
        groups.append(group)
        if isinstance(op, GenericOp):
            result_of[op.results[0]] = group
    return groups


def _join(op: GenericOp, result_of: dict[SSAValue, Group], most: int) -> Group | str:
    """Add op to the end of a group; the reason if no group of a value that it reads takes it."""
    if LinalgOp(op).bf16_split and (group := _group_of_split(op, result_of)) is not None:
        group.bf16_split = op
        return group
    host = _host(op, result_of, most)
    if isinstance(host, Group):
        del result_of[host.value.results[0]]
        host.epilogue.append(op)
        result_of[op.results[0]] = host
    return host


def is_initial(op: Operation) -> bool:
    """Whether op only computes the initial values of one whole accumulation."""
    if isinstance(op, FillOp):
        return all(_accumulates_whole(use.operation) for use in op.results[0].uses)
    if not isinstance(op, GenericOp):
        return False
    linalg_op, user = LinalgOp(op), reader_of(op.results[0])
    if not linalg_op.is_pointwise or linalg_op.indexed or not _writes_whole(linalg_op):
        return False
    if user is None or not _accumulates_whole(user):
        return False
    return outs_of(user) is op.results[0]


def _is_inside(op: Operation) -> bool:
    """Whether op gathers from a row of elements, which its reader does in place."""
    if not isinstance(op, GenericOp):
        return False
    linalg_op = LinalgOp(op)
    return linalg_op.lanes is not None and len(shape_of(linalg_op.captured[0])) == 1


def _selection_of(op: Operation) -> GenericOp | None:
    """The gather that an accumulation does in place."""
    for operand in operands_of(op):
        if isinstance(operand.owner, GenericOp) and _is_inside(operand.owner):
            return operand.owner
    return None


def _accumulates_whole(user: Operation) -> bool:
    """Whether a generic starts from `outs` and writes every element of it."""
    if not isinstance(user, GenericOp):
        return False
    linalg_op = LinalgOp(user)
    return linalg_op.reads_outs and _writes_whole(linalg_op)


def _writes_whole(linalg_op: LinalgOp) -> bool:
    """Whether one iteration of the parallel loops writes each element of the result."""
    return all(form.bare is not None for form in linalg_op.write.index)


def _initial_of(op: Operation) -> list[Operation]:
    if not isinstance(op, GenericOp):
        return []
    source = outs_of(op).owner
    return [source] if isinstance(source, GenericOp) and is_initial(source) else []


def _host(op: GenericOp, result_of: dict[SSAValue, Group], most: int) -> Group | str:
    """The group whose epilogue op can be: the latest one, when several qualify."""
    linalg_op = LinalgOp(op)
    hosts = [one for one in enumerate(linalg_op.reads) if one[1].value in result_of]
    if not linalg_op.is_pointwise or linalg_op.computes_coordinates:
        return "it is not pointwise" if hosts else ""
    found: Group | str = ""
    for position, access in hosts:
        group = result_of[access.value]
        reason = _why_apart(linalg_op, position, group, most)
        if reason is not None:
            found = found or reason
        elif not isinstance(found, Group) or found.value.is_before_in_block(group.value):
            found = group
    return found


def _why_apart(linalg_op: LinalgOp, position: int, group: Group, most: int) -> str | None:
    """Why a pointwise operation cannot be in the epilogue of a group that makes an operand."""
    access = linalg_op.reads[position]
    if not access.value.has_one_use():
        return "others read its operand, too"
    if position not in linalg_op.live or not isinstance(group.anchor, GenericOp):
        return "code that is no linalg op makes its operand"
    if len(group.epilogue) == most:
        return f"the kernel of its operand has {most} operations behind its sum"
    same = access.index == linalg_op.write.index and len(linalg_op.extents) == len(access.index)
    if not same or any(form.bare is None for form in access.index):
        return "it reads its operand at another index than it writes"
    whole = _writes_whole(LinalgOp(group.anchor))
    return None if whole else "the kernel of its operand writes a part of it"


def _pads_of(split: GenericOp) -> list[tensor.PadOp]:
    """The pad with zeros that completes the last pair of blocks of the value, if there is one."""
    access, axis = LinalgOp(split).bf16_source
    pad = access.value.owner
    if not isinstance(pad, tensor.PadOp) or not pad.result.has_one_use():
        return []
    low, high = pad_sides(pad)
    one_block = not any(low) and high[axis] == 1 and sum(high) == 1
    completes = one_block and shape_of(pad.source)[axis] % 2 == 1 and pad_value(pad) == 0.0
    return [pad] if completes else []


def _group_of_split(op: GenericOp, result_of: dict[SSAValue, Group]) -> Group | None:
    """The group whose value op splits in bf16 parts, if that kernel can store them."""
    (access, _), pads = LinalgOp(op).bf16_source, _pads_of(op)
    group = result_of.get(pads[0].source if pads else access.value)
    if group is None or group.bf16_split is not None or not isinstance(group.anchor, GenericOp):
        return None
    anchor = LinalgOp(group.anchor)
    goes_on = isinstance(outs_of(group.anchor).owner, GenericOp | Block) and not group.initial
    asks_where = anchor.indexed and anchor.lanes is None  # a gather's lanes need no loop number
    if goes_on or asks_where or not _writes_whole(anchor):
        return None
    return group if len(access.index) == len(anchor.write.index) else None
