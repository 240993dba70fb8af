"""Modules with numbers in place of sizes: what a run computes for given extents of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ncc.dialects.attributes import SizeAttr, extents_of, integers, tensor_type
from ncc.dialects.rt import SizeOp
from ncc.dialects.scalar import index
from ncc.dialects.size import Size
from ncc.dialects.structured import SIZES, offsets_of, pad_sides

OperationT = TypeVar("OperationT", bound=Operation)


def with_extents(module: OperationT, extents: Mapping[str, int]) -> OperationT:
    """A copy of a module, or of a function, for these extents of its inputs."""
    made = module.clone()
    for op in list(made.walk()):
        _fill_in(op, extents)
        for value in [*op.results, *(arg for r in op.regions for b in r.blocks for arg in b.args)]:
            _retype(value, extents)
    return made


def _retype(value: SSAValue, extents: Mapping[str, int]) -> None:
    kind = given(value.type, extents)
    if kind != value.type:
        Rewriter.replace_value_with_new_type(value, kind)


def _fill_in(op: Operation, extents: Mapping[str, int]) -> None:
    """Write numbers in place of the sizes of an operation."""
    match op:
        case tensor.PadOp():
            low, high = ([_number(n, extents) for n in side] for side in pad_sides(op))
            op.properties |= {"static_low": integers(low), "static_high": integers(high)}
        case tensor.ExtractSliceOp():
            begin = [_number(n, extents) for n in offsets_of(op)]
            op.properties["static_offsets"] = integers(begin)
            op.properties["static_sizes"] = integers(_shape(op.result, extents))
        case tensor.ExpandShapeOp():
            op.properties["static_output_shape"] = integers(_shape(op.result, extents))
        case SizeOp():
            value = IntegerAttr(_number(op.size.data, extents), index)
            Rewriter.replace_op(op, arith.ConstantOp(value))
            return
    op.attributes.pop(SIZES, None)
    for held in (op.properties, op.attributes):
        held.update({name: given(value, extents) for name, value in held.items()})


def _shape(value: SSAValue, extents: Mapping[str, int]) -> list[int]:
    if not isinstance(value.type, TensorType):
        raise TypeError(f"{value.type} is no tensor")
    return [_number(n, extents) for n in extents_of(value.type)]


def _number(value: int, extents: Mapping[str, int]) -> int:
    return value.form.value(extents) if isinstance(value, Size) else value


def given(attribute: Attribute, extents: Mapping[str, int]) -> Attribute:
    """An attribute with numbers in place of sizes."""
    match attribute:
        case SizeAttr():
            return IntegerAttr(_number(attribute.data, extents), i64)
        case TensorType():
            shape = [_number(n, extents) for n in extents_of(attribute)]
            return tensor_type(attribute.element_type, shape)
        case FunctionType():
            inputs, outputs = (
                [given(kind, extents) for kind in kinds]
                for kinds in (attribute.inputs, attribute.outputs)
            )
            return FunctionType.from_lists(inputs, outputs)
        case ArrayAttr():
            return ArrayAttr([given(one, extents) for one in attribute])
    return attribute
