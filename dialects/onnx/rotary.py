"""Rotary embeddings: pairs of columns turned by the angle of their position."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.onnx.attention import columns_of, extents_of, joined, parted, positions
from ncc.dialects.onnx.attribute import integer, real
from ncc.dialects.onnx.binary import AddOp, MulOp, SubOp
from ncc.dialects.onnx.composed import MICROSOFT, Composed, Writer
from ncc.dialects.onnx.gather import GatherOp
from ncc.dialects.onnx.movement import ConcatOp, ReshapeOp, UnsqueezeOp
from ncc.dialects.onnx.operator import NotYet, operator
from ncc.dialects.shapes import Shape
from ncc.dialects.size import is_equal


def rotated(
    w: Writer, x: SSAValue, shape: Shape, tables: Sequence[SSAValue], size: int, paired: int
) -> SSAValue:
    """The first `size` columns of (batch, heads, rows, columns) turned; the others as they are.

    tables: cosines and sines, (batch, rows, size / 2). paired: whether neighbours are a pair; else
    a column of the first half and one of the second.
    """
    columns = shape[3]
    size = size or columns
    if size % 2 or size > columns:
        raise LayerError(f"{size} of {columns} columns are turned")
    cosine, sine = (w(UnsqueezeOp, one, w.numbers([1])) for one in tables)
    turned = columns_of(w, x, 0, size)
    if paired:
        turned = w(ReshapeOp, turned, w.numbers([*shape[:3], size // 2, 2]))
        cosine, sine = (w(UnsqueezeOp, one, w.numbers([4])) for one in (cosine, sine))
    half = 1 if paired else size // 2
    one, other = columns_of(w, turned, 0, half), columns_of(w, turned, half, 2 * half)
    real = w(SubOp, w(MulOp, one, cosine), w(MulOp, other, sine))
    imaginary = w(AddOp, w(MulOp, one, sine), w(MulOp, other, cosine))
    made = w(ConcatOp, real, imaginary, axis=-1)
    if paired:
        made = w(ReshapeOp, made, w.numbers([*shape[:3], size]))
    return made if size == columns else w(ConcatOp, made, columns_of(w, x, size, columns), axis=-1)


@operator("RotaryEmbedding", since=23, inputs=(3, 4))
class RotaryEmbeddingOp(Composed):
    """By tables of all positions, or of those of the rows."""

    interleaved = integer(0)
    num_heads = integer(0)
    rotary_embedding_dim = integer(0)

    def compose(
        self,
        w: Writer,
        x: SSAValue,
        cosines: SSAValue,
        sines: SSAValue,
        rows: SSAValue | None = None,
    ) -> SSAValue:
        heads, shape = parted(w, x, extents_of(x, 3, 4), self.num_heads)
        if rows is not None:
            cosines, sines = (w(GatherOp, table, rows) for table in (cosines, sines))
        size, paired = self.rotary_embedding_dim, self.interleaved
        made = rotated(w, heads, shape, (cosines, sines), size, paired)
        return joined(w, made, shape) if len(extents_of(x)) == 3 else made


@operator("RotaryEmbedding", domain=MICROSOFT, inputs=4)
class MicrosoftRotaryEmbeddingOp(Composed):
    """By tables of all positions; one position is that of the first row."""

    interleaved = integer(0)
    is_packed_batching = integer(0)
    num_heads = integer(0)
    rotary_embedding_dim = integer(0)
    scale = real(1.0)

    def check(self) -> None:
        if self.is_packed_batching or self.scale != 1:
            raise NotYet("RotaryEmbedding of packed batches or with a scale")

    def compose(
        self, w: Writer, x: SSAValue, first: SSAValue, cosines: SSAValue, sines: SSAValue
    ) -> SSAValue:
        extents, table = extents_of(x, 3, 4), extents_of(cosines, 2)
        count = self.num_heads or (extents[-1] // (2 * table[-1]) if len(extents) == 3 else 0)
        heads, shape = parted(w, x, extents, count)
        rows = first
        if len(extents_of(first, 1, 2)) == 1 and is_equal(extents_of(first)[0], 1):
            numbers = w(AddOp, positions(w, shape[2]), first)
            rows = w(UnsqueezeOp, numbers, w.numbers([0]))
        tables = [w(GatherOp, one, rows) for one in (cosines, sines)]
        size = self.rotary_embedding_dim
        made = rotated(w, heads, shape, tables, size, self.interleaved)
        return joined(w, made, shape) if len(extents) == 3 else made
