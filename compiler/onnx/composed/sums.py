"""Running sums, and sums of products by letters."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ncc.compiler.onnx.composed.moves import flipped
from ncc.compiler.onnx.conversion import Conversion, composes
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.linear.einsum import EinsumOp as EinsumLayer
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.reduction.scan import CumulativeSumOp
from ncc.dialects.onnx.einsum import EinsumOp
from ncc.dialects.onnx.scan import CumSumOp

FIRST, MOST_LETTERS = ord("i"), 16
"""ncnn's letters are i to x. Those of the result are the first ones, in their order."""


@composes(CumSumOp)
def running_sum(op: CumSumOp, to: Conversion) -> SSAValue | None:
    """Along an axis; from the back, of the elements from back to front."""
    x = op.operands[0]
    axis = op.along(len(shape(x)))
    if op.exclusive:
        return None
    turned = flipped(to, x, axis) if op.reverse else x
    made = to.view(to.layer(CumulativeSumOp, [to.along(turned, axis)], axis=1), shape(x))
    return flipped(to, made, axis) if op.reverse else made


@composes(EinsumOp)
def einsum(op: EinsumOp, to: Conversion) -> SSAValue | None:
    """With ncnn's letters, and without axes of 1. A result of one element has such an axis."""
    shapes = [shape(value) for value in op.operands]
    terms, result = op.terms(shapes)
    runs = op.extents(terms, shapes)
    pairs = [zip(term, extents, strict=True) for term, extents in zip(terms, shapes, strict=True)]
    kept = [[letter for letter, extent in pair if extent != 1] for pair in pairs]
    letters = [c for c in result if runs[c] != 1] or [""]
    others = sorted({c for one in kept for c in one}.difference(letters))
    if letters == [""] or len(op.operands) == 1 and not kept[0]:
        kept[0].insert(0, "")
    if max(map(len, [*kept, letters])) > MAX_RANK or len(letters) + len(others) > MOST_LETTERS:
        return None
    if any(not one for one in kept) or not set(letters) <= {c for one in kept for c in one}:
        return None
    named = {c: chr(FIRST + place) for place, c in enumerate([*letters, *others])}
    left = ",".join("".join(map(named.__getitem__, one)) for one in kept)
    text = f"{left}->{''.join(map(named.__getitem__, letters))}"
    blobs = [
        to.view(value, tuple(runs.get(c, 1) for c in one))
        for value, one in zip(op.operands, kept, strict=True)
    ]
    return to.layer(EinsumLayer, blobs, equation=tuple(map(ord, text)))
