"""Images read at the places that a grid says."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, composes
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.sampling.grid_sample import BICUBIC, BILINEAR, BORDER, ZEROS
from ncc.dialects.ncnn.sampling.grid_sample import GridSampleOp as GridSampleLayer
from ncc.dialects.onnx.sampling import GridSampleOp

TYPES: Mapping[str, int] = {"linear": BILINEAR, "cubic": BICUBIC}
"""Nearest is missing: ncnn rounds halves up, ONNX to even."""

PADDINGS: Mapping[str, int] = {"zeros": ZEROS, "border": BORDER}
"""Reflection is missing: ncnn mirrors once, ONNX again and again."""


@composes(GridSampleOp)
def grid_sample(op: GridSampleOp, to: Conversion) -> SSAValue | None:
    """Of one image, or one volume."""
    x, grid = op.operands
    known = op.way in TYPES and op.padding_mode in PADDINGS
    if not known or shape(x)[0] != 1 or len(shape(x)) not in (4, 5):
        return None
    kinds = {"sample_type": TYPES[op.way], "padding_mode": PADDINGS[op.padding_mode]}
    blobs = [to.view(value, shape(value)[1:]) for value in (x, grid)]
    return to.layer(GridSampleLayer, blobs, **kinds, align_corner=op.align_corners)
