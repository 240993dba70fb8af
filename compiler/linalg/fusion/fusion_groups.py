"""Which computations become one kernel: an anchor, what it starts from, and what follows it.

A group is an anchor, the pointwise computation of its initial values, and the pointwise
computations that follow at the point that is stored. Views (pad, concat, slices, reshapes) and
constants stay outside; they are memory, not work.

Halves of a value (`SplitBf16`) are stored by the kernel that makes it, last. So are zeros for the
block that an odd number lacks: the pad that says so stands inside.

Legality of an epilogue: it alone reads the group's result, at the place that it writes itself.

A kernel ends after `MOST_IN_EPILOGUE` computations behind its sum: the time of LLVM grows faster
than the length of a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import VIEWS, pad_sides, pad_value
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.dialects.code import CodeOp
from ncc.dialects.forall import ForallOp, YieldOp
from ncc.dialects.operation import operands_of
from ncc.dialects.weights.weight import ConstantOp

MOST_IN_EPILOGUE = 32
"""Computations at one point that is stored: LLVM's time grows with more than their number."""

_MEMORY = (*VIEWS, ConstantOp, arith.ConstantOp, tensor.EmptyOp, func.ReturnOp, ForallOp, YieldOp)


@dataclass
class Group:
    """The operations of one kernel, in program order."""

    anchor: Operation
    initial: list[Operation] = field(default_factory=list)
    gather: GenericOp | None = None
    epilogue: list[GenericOp] = field(default_factory=list)
    halves: GenericOp | None = None

    @property
    def operations(self) -> list[Operation]:
        gather = [] if self.gather is None else [self.gather]
        halves = [] if self.halves is None else [*_pads_of(self.halves), self.halves]
        return [*self.initial, *gather, self.anchor, *self.epilogue, *halves]

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


def find_groups(block: Block, epilogues: bool = True) -> list[Group]:
    """The groups of a block, in the order of their anchors."""
    groups: list[Group] = []
    result_of: dict[SSAValue, Group] = {}
    for op in block.ops:
        if isinstance(op, _MEMORY):
            continue
        if not isinstance(op, GenericOp | FillOp | CodeOp):
            raise CompilerBug(f"{op.name} has no place in the linalg level")
        if is_initial(op) or _is_inside(op):
            continue
        if epilogues and isinstance(op, GenericOp) and _is_taken_in(op, result_of):
            continue
        group = Group(op, _initial_of(op), _selection_of(op))
        groups.append(group)
        if isinstance(op, GenericOp):
            result_of[op.results[0]] = group
    return groups


def _is_taken_in(op: GenericOp, result_of: dict[SSAValue, Group]) -> bool:
    """Whether a group ends with op from now on."""
    if LinalgOp(op).halves and (host := _halved(op, result_of)) is not None:
        host.halves = op
        return True
    host = _host(op, result_of)
    if host is None:
        return False
    del result_of[host.value.results[0]]
    host.epilogue.append(op)
    result_of[op.results[0]] = host
    return True


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
    """Whether op is a selection of elements in a row, which its reader finds where they lie."""
    if not isinstance(op, GenericOp):
        return False
    linalg_op = LinalgOp(op)
    return linalg_op.lanes is not None and len(shape_of(linalg_op.captured[0])) == 1


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
    linalg_op = LinalgOp(user)
    return linalg_op.reads_outs and _writes_whole(linalg_op)


def _writes_whole(linalg_op: LinalgOp) -> bool:
    """Whether each point of the result is written by one point of the parallel loops."""
    return all(form.bare is not None for form in linalg_op.write.index)


def _initial_of(op: Operation) -> list[Operation]:
    if not isinstance(op, GenericOp):
        return []
    source = outs_of(op).owner
    return [source] if isinstance(source, GenericOp) and is_initial(source) else []


def _host(op: GenericOp, result_of: dict[SSAValue, Group]) -> Group | None:
    """The group whose epilogue op can be: the latest one, when several qualify."""
    linalg_op = LinalgOp(op)
    if not linalg_op.is_pointwise or linalg_op.computes_coordinates:
        return None
    found: Group | None = None
    for position, access in enumerate(linalg_op.reads):
        group = result_of.get(access.value)
        if group is None or not access.value.has_one_use():
            continue
        if position not in linalg_op.live or not isinstance(group.anchor, GenericOp):
            continue
        if len(group.epilogue) == MOST_IN_EPILOGUE:
            continue
        anchor = LinalgOp(group.anchor)
        whole = _writes_whole(anchor)
        same = access.index == linalg_op.write.index and len(linalg_op.extents) == len(access.index)
        if whole and same and all(form.bare is not None for form in access.index):
            later = found is None or found.value.is_before_in_block(group.value)
            found = group if later else found
    return found


def _pads_of(halves: GenericOp) -> list[tensor.PadOp]:
    """The block of zeros that completes the last pair of blocks of the value, if there is one."""
    access, axis = LinalgOp(halves).halved
    pad = access.value.owner
    if not isinstance(pad, tensor.PadOp) or not pad.result.has_one_use():
        return []
    low, high = pad_sides(pad)
    one_block = not any(low) and high[axis] == 1 and sum(high) == 1
    completes = one_block and shape_of(pad.source)[axis] % 2 == 1 and pad_value(pad) == 0.0
    return [pad] if completes else []


def _halved(op: GenericOp, result_of: dict[SSAValue, Group]) -> Group | None:
    """The group whose value op reads to make halves of it, if it can store them itself."""
    (access, _), pads = LinalgOp(op).halved, _pads_of(op)
    group = result_of.get(pads[0].source if pads else access.value)
    if group is None or group.halves is not None or not isinstance(group.anchor, GenericOp):
        return None
    anchor = LinalgOp(group.anchor)
    goes_on = isinstance(outs_of(group.anchor).owner, GenericOp | Block) and not group.initial
    asks_where = anchor.indexed and anchor.lanes is None  # lanes are known without
    if goes_on or asks_where or not _writes_whole(anchor):
        return None
    return group if len(access.index) == len(anchor.write.index) else None
