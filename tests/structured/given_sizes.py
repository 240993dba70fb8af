"""Modules with numbers in place of sizes: what a run computes for given extents of its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ncc.dialects.attributes import SizeAttr, extents_of, integers, tensor_type, values_of
from ncc.dialects.rt import SizeOp
from ncc.dialects.scalar import index
from ncc.dialects.size import Size


def with_extents(module: ModuleOp, extents: Mapping[str, int]) -> ModuleOp:
    """A copy of a module for these extents of its inputs."""
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
    if isinstance(op, SizeOp):
        value = IntegerAttr(_number(op.size.data, extents), index)
        Rewriter.replace_op(op, arith.ConstantOp(value))
        return
    for held in (op.properties, op.attributes):
        held.update({name: given(value, extents) for name, value in held.items()})


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
        case ArrayAttr() if any(isinstance(one, SizeAttr) for one in attribute):
            return integers([_number(one, extents) for one in values_of(attribute)])
        case ArrayAttr():
            return ArrayAttr([given(one, extents) for one in attribute])
    return attribute
