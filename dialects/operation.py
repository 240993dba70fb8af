"""Makes operations fast, if all of their properties are given.

`Operation.create` calls setters that first remove earlier operands and results, and looks up the
defaults of the kind each time. A network becomes some ten thousand operations on its way to machine
code, so the code that makes most of them uses these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef

OpT = TypeVar("OpT", bound=Operation)

NOTHING: Mapping[str, Attribute] = {}
"""No properties, no attributes."""


def make(
    kind: type[OpT],
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = NOTHING,
    attributes: Mapping[str, Attribute] = NOTHING,
    regions: Sequence[Region] = (),
) -> OpT:
    """Like `kind.create` without successors, in less than half of its time."""
    op = kind.__new__(kind)
    op._operands = SSAValues(operands)
    uses = []
    for place, operand in enumerate(operands):
        use = Use(op, place)
        uses.append(use)
        # operand.add_use(use)
        others = operand.first_use
        if others is not None:
            use._next_use = others
            others._prev_use = use
        operand.first_use = use
    op._operand_uses = tuple(uses)
    if len(result_types) == 1:
        op.results = SSAValues((OpResult(result_types[0], op, 0),))
    elif result_types:
        results = [OpResult(type, op, place) for place, type in enumerate(result_types)]
        op.results = SSAValues(results)
    op.properties = dict(properties)
    for name, default in _defaults(kind):
        op.properties.setdefault(name, default)
    op.attributes = dict(attributes)
    op.location = UNKNOWN_LOC
    for region in regions:
        op.add_region(region)
    return op


def operands_of(op: Operation) -> Sequence[SSAValue]:
    """The operands as a tuple; `op.operands` makes a new view at each use."""
    return op._operands


def ops_of(block: Block) -> list[Operation]:
    """The operations of a block; an iterator of `block.ops` makes several calls for each."""
    found, op = [], block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def append(block: Block, op: Operation) -> None:
    """Like `block.add_op(op)`, for an operation that is in no block yet."""
    last = block._last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        op._prev_op = last
        last._next_op = op
    block._last_op = op


def only_result(op: Operation) -> SSAValue:
    """The result of an operation with one result; `op.results[0]` takes longer."""
    (result,) = op.results
    return result


def copied(region: Region) -> Region:
    """Like `region.clone()`, for a region of one block, such as the body of a generic."""
    block = Block(arg_types=region.block.arg_types)
    values: dict[SSAValue, SSAValue] = {}
    _pair(region.block.args, block.args, values)
    for op in region.block.ops:
        append(block, copy_of(op, values))
    return Region(block)


def copy_of(op: OpT, values: dict[SSAValue, SSAValue]) -> OpT:
    """Like `op.clone(values)`: the operation on other values; its results are added to `values`."""
    if op.regions:
        return op.clone(values)
    copy = make(
        type(op),
        operands=[values.get(operand, operand) for operand in operands_of(op)],
        result_types=[result.type for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )
    _pair(op.results, copy.results, values)
    return copy


def _pair(
    old: Sequence[SSAValue], new: Sequence[SSAValue], values: dict[SSAValue, SSAValue]
) -> None:
    """Map old values to new ones, which get their names."""
    for before, after in zip(old, new, strict=True):
        values[before] = after
        if before.name_hint is not None:
            after.name_hint = before.name_hint


@cache
def _defaults(kind: type[Operation]) -> tuple[tuple[str, Attribute], ...]:
    """The properties that every operation of a kind has, unless it is given others."""
    if not issubclass(kind, IRDLOperation):
        return ()
    definitions = kind.get_irdl_definition().properties.items()
    return tuple(
        (name, definition.default_value)
        for name, definition in definitions
        if definition.default_value is not None and not isinstance(definition, OptionalDef)
    )
