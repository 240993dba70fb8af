"""Modules with numbers in place of sizes: what a run computes for given extents of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ncc.dialects.attributes import SizeAttr, extents_of, integer, integers, tensor_type, values_of
from ncc.dialects.rt import SizeOp
from ncc.dialects.scalar import index
from ncc.dialects.size import Size, form_of, in_full_tile, in_last_tile, tile_size

OperationT = TypeVar("OperationT", bound=Operation)
Change: TypeAlias = Callable[[Size], int]


def with_extents(module: ModuleOp, extents: Mapping[str, int]) -> ModuleOp:
    """A copy of a module for these extents of its inputs."""

    def number(size: Size) -> int:
        full, last = (form_of(of(size)).value(extents) for of in (in_full_tile, in_last_tile))
        return tile_size(full, last)

    return with_sizes(module, number)


def with_sizes(op: OperationT, number: Change) -> OperationT:
    """A copy of an operation, or of a module, with other sizes."""
    made = op.clone()
    for inner in list(made.walk()):
        _fill_in(inner, number)
        blocks = [block for region in inner.regions for block in region.blocks]
        for value in [*inner.results, *(arg for block in blocks for arg in block.args)]:
            _retype(value, number)
    return made


def _retype(value: SSAValue, number: Change) -> None:
    kind = given(value.type, number)
    if kind != value.type:
        Rewriter.replace_value_with_new_type(value, kind)


def _fill_in(op: Operation, number: Change) -> None:
    """Write numbers in place of the sizes of an operation."""
    if isinstance(op, SizeOp):
        value = IntegerAttr(_number(op.size.data, number), index)
        Rewriter.replace_op(op, arith.ConstantOp(value))
        return
    for held in (op.properties, op.attributes):
        held.update({name: given(value, number) for name, value in held.items()})


def _number(value: int, number: Change) -> int:
    return number(value) if isinstance(value, Size) else value


def given(attribute: Attribute, number: Change) -> Attribute:
    """An attribute with numbers in place of sizes."""
    match attribute:
        case SizeAttr():
            return integer(_number(attribute.data, number))
        case TensorType():
            shape = [_number(n, number) for n in extents_of(attribute)]
            return tensor_type(attribute.element_type, shape)
        case FunctionType():
            inputs, outputs = (
                [given(kind, number) for kind in kinds]
                for kinds in (attribute.inputs, attribute.outputs)
            )
            return FunctionType.from_lists(inputs, outputs)
        case ArrayAttr() if any(isinstance(one, SizeAttr) for one in attribute):
            return integers([_number(one, number) for one in values_of(attribute)])
        case ArrayAttr():
            return ArrayAttr([given(one, number) for one in attribute])
    return attribute
