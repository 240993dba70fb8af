"""Functions that make operations of the linalg level with their bodies.

(xDSL's constructors write bodies with its implicit builder, which for a moment applies to all
operations of the process, so that no other thread could make any.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.dialects.linalg.ops import YieldOp as LinalgYieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.dialects import sized
from ncc.dialects.attributes import extents_of, integer, integers, segments, tensor_type, values_of
from ncc.dialects.element import element_of, number, signless
from ncc.dialects.operation import make
from ncc.dialects.scalar import index
from ncc.dialects.shapes import Shape
from ncc.dialects.size import is_open

PARALLEL = IteratorTypeAttr(IteratorType.PARALLEL)
REDUCTION = IteratorTypeAttr(IteratorType.REDUCTION)

INTERFACE = "interface"
"""The attribute of a network with the types of inputs and outputs that code has under another
shape: a scalar as one element, an image without its batch of 1.
"""


def shape_of_tensor(value: SSAValue) -> Shape:
    """The shape of a value that is a tensor."""
    if not isinstance(value.type, TensorType):
        raise TypeError(f"{value.type} is no tensor")
    return tuple(extents_of(value.type))


def generic(
    inputs: Sequence[SSAValue],
    outs: SSAValue,
    maps: ArrayAttr[AffineMapAttr],
    kinds: ArrayAttr[IteratorTypeAttr],
    body: Region,
    doc: StringAttr | None = None,
) -> GenericOp:
    """A `linalg.generic` with one result."""
    return make(
        GenericOp,
        operands=[*inputs, outs],
        result_types=[outs.type],
        properties={
            "indexing_maps": maps,
            "iterator_types": kinds,
            "operandSegmentSizes": segments(len(inputs), 1),
            **({"doc": doc} if doc is not None else {}),
        },
        regions=[body],
    )


def constant(value: float, element_type: Attribute) -> arith.ConstantOp:
    """A number; integers have no sign."""
    held = number(value, element_type).value.data
    properties = {"value": number(held, signless(element_type))}
    kind = signless(element_type)
    return make(arith.ConstantOp, properties=properties, result_types=[kind])


def empty(shape: Sequence[int], element_type: Attribute) -> tensor.EmptyOp:
    """A tensor whose contents are not read."""
    return make(tensor.EmptyOp, result_types=[tensor_type(element_type, shape)])


def fill(value: SSAValue, into: SSAValue) -> FillOp:
    """A tensor of one value."""
    body = Block(arg_types=[value.type, element_of(into)])
    body.add_op(make(LinalgYieldOp, operands=[body.args[0]]))
    return make(
        FillOp,
        operands=[value, into],
        result_types=[into.type],
        properties={"operandSegmentSizes": segments(1, 1)},
        regions=[Region(body)],
    )


def pad(x: SSAValue, low: Sequence[int], high: Sequence[int], value: float) -> tensor.PadOp:
    """x with `low` elements of that value before and `high` after each axis."""
    shape = [lo + n + hi for lo, n, hi in zip(low, shape_of_tensor(x), high, strict=True)]
    body = Block(arg_types=[index] * len(shape))
    element = constant(value, element_of(x))
    body.add_op(element)
    held = element.result
    if held.type != element_of(x):
        cast = make(arith.BitcastOp, operands=[held], result_types=[element_of(x)])
        body.add_op(cast)
        held = cast.results[0]
    body.add_op(make(tensor.YieldOp, operands=[held]))
    return make(
        sized.PadOp if is_open(*low, *high) else tensor.PadOp,
        operands=[x],
        properties={
            "static_low": integers(low),
            "static_high": integers(high),
            "operandSegmentSizes": segments(1, 0, 0),
        },
        regions=[Region(body)],
        result_types=[tensor_type(element_of(x), shape)],
    )


def pad_sides(op: tensor.PadOp) -> tuple[list[int], list[int]]:
    """How many elements a pad adds at the start and at the end of each axis."""
    return [*values_of(op.static_low)], [*values_of(op.static_high)]


def offsets_of(op: tensor.ExtractSliceOp) -> list[int]:
    """Where a slice begins along each axis."""
    return [*values_of(op.static_offsets)]


def collapse(x: SSAValue, groups: Sequence[Sequence[int]]) -> tensor.CollapseShapeOp:
    """Each group of neighbouring axes becomes one axis."""
    extents = shape_of_tensor(x)
    shape = [prod(extents[axis] for axis in group) for group in groups]
    return make(
        tensor.CollapseShapeOp,
        operands=[x],
        properties={"reassociation": _reassociation(tuple(map(tuple, groups)))},
        result_types=[tensor_type(element_of(x), shape)],
    )


def expand(
    x: SSAValue, groups: Sequence[Sequence[int]], shape: Sequence[int]
) -> tensor.ExpandShapeOp:
    """Axis k becomes the axes groups[k] of the result, whose shape is `shape`."""
    return make(
        sized.ExpandShapeOp if is_open(*shape) else tensor.ExpandShapeOp,
        operands=[x],
        properties={
            "reassociation": _reassociation(tuple(map(tuple, groups))),
            "static_output_shape": integers(shape),
        },
        result_types=[tensor_type(element_of(x), shape)],
    )


@lru_cache(maxsize=1024)
def _reassociation(groups: tuple[tuple[int, ...], ...]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in group]) for group in groups])


def extract_slice(x: SSAValue, begin: Sequence[int], size: Sequence[int]) -> tensor.ExtractSliceOp:
    """The box of `size` that starts at `begin`."""
    return make(
        sized.ExtractSliceOp if is_open(*begin, *size) else tensor.ExtractSliceOp,
        operands=[x],
        properties={
            "static_offsets": integers(begin),
            "static_sizes": integers(size),
            "static_strides": integers([1] * len(size)),
            "operandSegmentSizes": segments(1, 0, 0, 0),
        },
        result_types=[tensor_type(element_of(x), size)],
    )


def concat(xs: Sequence[SSAValue], axis: int, extent: int | None = None) -> tensor.ConcatOp:
    """The concatenation of tensors along an axis. extent: of the result, where a sum of expressions
    would not show that it is that.
    """
    shape = list(shape_of_tensor(xs[0]))
    shape[axis] = sum(shape_of_tensor(x)[axis] for x in xs) if extent is None else extent
    return make(
        tensor.ConcatOp,
        operands=xs,
        properties={"dim": integer(axis)},
        result_types=[tensor_type(element_of(xs[0]), shape)],
    )
