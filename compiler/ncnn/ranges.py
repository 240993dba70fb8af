"""The ranges of extents of inputs before layers narrow them.

    --shape image=3x64..1024x?            3, 64..1024, 1..
    past -> onnx.Concat(past, keys)       1, 8, 0.., 64       along axis 2

Extents begin at 1, since most layers need an element. But decoders of ONNX join the past to what is
new, and have no past before the first token: an axis along which an input is only joined to others
may be empty.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.options import Options
from ncc.dialects.ncnn.network import Network
from ncc.dialects.onnx.movement import ConcatOp
from ncc.dialects.onnx.plumbing import ShapeAsked
from ncc.dialects.shapes import OpenShape
from ncc.runtime.extents import ANY, Range

MAYBE_EMPTY: Range = (0, None)


def ranges_of(module: ModuleOp, options: Options) -> Mapping[str, tuple[Range, ...]]:
    """The range of each axis of the inputs, where something is known."""
    known = open_shapes(module, options.input_shapes)
    found: dict[str, tuple[Range, ...]] = {}
    for name, value in Network.of(module).inputs.items():
        shape = known[name]
        if name in options.ranges:
            found[name] = options.ranges[name]
        elif shape is not None and any(empty := _may_be_empty(value, shape)):
            found[name] = tuple(MAYBE_EMPTY if one else ANY for one in empty)
    return found


def _may_be_empty(value: SSAValue, shape: OpenShape) -> list[bool]:
    """Whether each axis is open, and only joined to others, or asked for its extent."""
    empty = [extent is None for extent in shape]
    for use in value.uses:
        reader = use.operation
        if isinstance(reader, ConcatOp) and len(reader.operands) > 1:
            along = reader.along((1,) * len(shape))
            empty = [one and axis == along for axis, one in enumerate(empty)]
        elif not isinstance(reader, ShapeAsked):
            return [False] * len(shape)
    return empty
