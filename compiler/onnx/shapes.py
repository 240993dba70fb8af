"""Shapes of values, and of the blobs that ncnn has for them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.ncnn.layer import Shape, shape_of


def shape(value: SSAValue) -> Shape:
    """The shape of a value, which is inferred."""
    found = shape_of(value)
    if found is None:
        raise CompilerBug("shapes are not inferred", "convert-onnx-to-ncnn")
    return found


def without_batch(extents: Shape) -> Shape:
    """The shape of a blob: without a batch of 1, and of one axis at least."""
    if len(extents) > 1 and extents[0] == 1:
        return extents[1:]
    return extents or (1,)
