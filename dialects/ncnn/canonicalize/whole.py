"""Layers that move, cut, pad or resize nothing: their result is their first operand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ncc.dialects.ncnn.canonicalize.identities import Identity
from ncc.dialects.ncnn.canonicalize.pattern import canonical
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.movement.crop import CropOp
from ncc.dialects.ncnn.movement.movement import ConcatOp, FlipOp, PermuteOp, SliceOp, TileOp
from ncc.dialects.ncnn.movement.padding import PaddingOp
from ncc.dialects.ncnn.movement.reshape import ExpandDimsOp, FlattenOp, ReshapeOp, SqueezeOp
from ncc.dialects.ncnn.plumbing import DeepCopyOp
from ncc.dialects.ncnn.sampling.resample import InterpOp


class Whole(Identity):
    """layer(x) = x where shapes prove it."""

    def refuse(self, op: Any) -> str | None:
        shape = shape_of(op.operands[0])
        return "the shape of its input is not known" if shape is None else None


@canonical(PaddingOp)
class EliminatePadding(Identity):
    """Padding(x) = x where nothing is put before or behind."""

    name = "eliminate_padding"

    def refuse(self, op: PaddingOp) -> str | None:
        pads = (op.top, op.bottom, op.left, op.right, op.front, op.behind)
        return "it pads" if any(pads) else None


@canonical(ConcatOp)
class EliminateConcat(Identity):
    """Concat(x) = x."""

    name = "eliminate_concat"

    def refuse(self, op: ConcatOp) -> str | None:
        return f"it joins {len(op.operands)} inputs" if len(op.operands) != 1 else None


@canonical(DeepCopyOp)
class EliminateDeepCopy(Identity):
    """DeepCopy(x) = x: values have no memory."""

    name = "eliminate_deepcopy"


@canonical(SliceOp)
class EliminateSlice(Whole):
    """Slice(x) = x where the one part is all of x."""

    name = "eliminate_slice"

    def refuse(self, op: SliceOp) -> str | None:
        parts = f"it makes {len(op.results)} parts" if len(op.results) != 1 else None
        return super().refuse(op) or parts


@canonical(PermuteOp)
class EliminatePermute(Whole):
    """Permute(x) = x where every axis stays."""

    name = "eliminate_permute"

    def refuse(self, op: PermuteOp) -> str | None:
        shape = shape_of(op.operands[0])
        stays = shape is not None and op.order(len(shape)) == tuple(range(len(shape)))
        return super().refuse(op) or (None if stays else "it moves axes")


@canonical(InterpOp)
class EliminateInterp(Whole):
    """Interp(x) = x where x has the size wanted: ncnn hands it on, whatever the way of resizing,
    but for a bicubic one whose scales are not 1: its weights follow these, rounded as the size is.
    """

    name = "eliminate_interp"

    def check(self, op: InterpOp) -> str | None:
        shapes = [shape for value in op.operands if (shape := shape_of(value)) is not None]
        if refused := super().check(op):
            return refused
        return None if op.stays(*shapes) else "its bicubic weights follow its scales"


@canonical(FlipOp)
class EliminateFlip(Identity):
    """Flip(x) = x where no axis is reversed."""

    name = "eliminate_flip"

    def refuse(self, op: FlipOp) -> str | None:
        return "it reverses axes" if op.axes else None


ALWAYS: Mapping[type[Layer], str] = {
    CropOp: "Crop(x) = x where the box is all of x: no other box has the shape of x.",
    TileOp: "Tile(x) = x where every axis is taken once and the rank stays.",
    ReshapeOp: "Reshape(x) = x where x has that shape.",
    FlattenOp: "Flatten(x) = x where x is a vector, or a matrix that is cut between its axes.",
    SqueezeOp: "Squeeze(x) = x where no axis named has an extent of 1.",
    ExpandDimsOp: "ExpandDims(x) = x where no axis is put in.",
}
"""Layers that are their input wherever the shape stays, and the equation of each."""

for _kind, _equation in ALWAYS.items():
    _name = f"eliminate_{_kind.LAYER.type.lower()}"
    canonical(_kind)(type(_name, (Whole,), {"name": _name, "__doc__": _equation}))
