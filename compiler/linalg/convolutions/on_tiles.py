"""The pointwise operations after a convolution, on its tiles.

%c = conv(%x, %w)                           %t = tiles of the convolution
%y = pointwise(%c, %r)             ->       %e = pointwise(%t, expand %r)
                                            %y = extract_slice (collapse %e)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.convolution import Convolution
from ncc.compiler.linalg.rewrite.insert import rebuilt, tensor_of
from ncc.compiler.linalg.rewrite.padded import padded
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import is_never_below, is_open
from ncc.dialects.structured import PARALLEL, offsets_of, pad_sides


class TiledImage:
    """The result of a convolution in tiles: (outputs, rows, m, columns, m), or for volumes
    (outputs, slices, rows, m, columns, m).
    """

    def __init__(self, convolution: Convolution) -> None:
        self.tiling = convolution.tiling
        self.spans = self.tiling.plane.spans
        self.covered = self.spans[0] * self.tiling.rows, self.spans[1] * self.tiling.columns
        self.grouped = self.tiling.groups > 1
        self.slices = list(shape_of(convolution.op.results[0])[1:-2]) if not self.grouped else []

    def axes(self) -> list[list[int]]:
        """The collapse of tiles to an image, or to a volume."""
        row, parts = 1 + len(self.slices), 2 if self.tiling.plane.dilations == (1, 1) else 3
        rows, columns = (list(range(n, n + parts)) for n in (row, row + parts))
        return [*([axis] for axis in range(row)), rows, columns]

    def image(self, b: Builder, tiles: Tensor) -> Tensor:
        """The image in whole tiles, of each slice."""
        image = b.collapse(tiles, self.axes())
        size = [*image.shape[:-2], self.tiling.height, self.tiling.width]
        return b.slice(image, [0] * image.rank, size)

    def by_channel(self, b: Builder, value: SSAValue) -> Tensor:
        """A vector with an element for each channel, made of one for each channel of each group."""
        vector = tensor_of(value)
        return b.collapse(vector, [[0, 1]]) if self.grouped else vector


class Followers:
    """The pointwise operations after a convolution that can run on its tiles, in order."""

    def __init__(self, convolution: Convolution) -> None:
        self.convolution = convolution.op
        self.tiles = TiledImage(convolution)
        self.ops = self._found()
        self.last: Operation = self.ops[-1] if self.ops else convolution.op

    def on_tiles(self, b: Builder, y: Tensor) -> Tensor:
        """The followers, applied to the tiles y."""
        value: SSAValue = self.convolution.results[0]
        for op in self.ops:
            y = self._one(b, op, value, y)
            value = op.results[0]
        return y

    def _found(self) -> list[GenericOp]:
        found: list[GenericOp] = []
        value: SSAValue = self.convolution.results[0]
        while (op := self._follower(value)) is not None:
            found.append(op)
            value = op.results[0]
        return found

    def _follower(self, value: SSAValue) -> GenericOp | None:
        op = reader_of(value)
        if op is None:
            return None
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise or linalg_op.computes_coordinates:
            return None
        if set(linalg_op.write.axes or ()) != set(linalg_op.parallel):
            return None
        if len(linalg_op.live) != len(linalg_op.reads):
            return None
        return (
            op
            if all(self._readable(op, linalg_op, access, value) for access in linalg_op.reads)
            else None
        )

    def _readable(
        self, op: GenericOp, linalg_op: LinalgOp, access: TensorAccess, flight: SSAValue
    ) -> bool:
        if access.index == linalg_op.write.index:
            if access.value is flight:
                return True
            return not self.tiles.grouped and self._cover(access.value, op) is not None
        if access.value is flight or any(map(access.uses, self._spatial(linalg_op))):
            return False
        by_channel = access.index == self._channels(linalg_op)
        return by_channel or not self.tiles.grouped or not any(form.terms for form in access.index)

    def _cover(self, value: SSAValue, before: Operation) -> tuple[SSAValue, list[int]] | None:
        """A tensor with room for whole tiles that contains `value`, and the offset of `value`.

        It is the value itself, or what this is the begin of, if no view has fixed its memory yet,
        so that it can be padded.
        """
        shape, begin = shape_of(value), [0] * len(shape_of(value))
        if shape[-2:] == self.tiles.covered:
            return value, begin
        value = _begun(value)
        for use in value.uses:
            pad = use.operation
            if isinstance(pad, tensor.PadOp) and pad.is_before_in_block(before):
                low, _ = pad_sides(pad)
                room = [n - k for n, k in zip(shape_of(pad.result), low, strict=True)]
                # One whose extents the run tells grows.
                if is_open(*room) or all(map(is_never_below, room[-2:], self.tiles.covered)):
                    return pad.result, low
        return (value, begin) if _is_free(value) else None

    def _one(self, b: Builder, op: GenericOp, value: SSAValue, y: Tensor) -> Tensor:
        """One follower, applied to y in place of `value`."""
        linalg_op = LinalgOp(op)
        channels = self._channels(linalg_op)
        operands: list[SSAValue] = []
        maps: list[AffineMapAttr] = []
        out = b.empty(y.shape, element_of(op.results[0]))
        identity = AffineMapAttr(AffineMap.identity(out.rank))
        for access in linalg_op.reads:
            index, whole = access.index, access.index == linalg_op.write.index
            if access.value is value:
                operands.append(y.value)
            elif whole:
                operands.append(self._in_tiles(b, access.value, op, y))
            elif index == channels:
                operands.append(self.tiles.by_channel(b, access.value).value)
                index = index[:1]
            else:
                operands.append(access.value)
            maps.append(identity if whole else _moved_by_channel(index, out.rank))
        return rebuilt(b, op, operands, out, [*maps, identity], [PARALLEL] * out.rank)

    def _in_tiles(self, b: Builder, value: SSAValue, op: GenericOp, y: Tensor) -> SSAValue:
        """A tensor in the tiles of y."""
        cover = self._cover(value, self.last)
        if cover is None:
            raise CompilerBug(f"{op.name} cannot run on tiles")
        source, begin = cover
        ends = zip(begin[-2:], self.tiles.covered, strict=True)
        source = padded(source, *(first + count for first, count in ends))
        lead = y.shape[: 1 + len(self.tiles.slices)]
        held = b.slice(tensor_of(source), begin, [*lead, *self.tiles.covered])
        return b.expand(held, self.tiles.axes(), y.shape).value

    def _channels(self, linalg_op: LinalgOp) -> tuple[AffineForm, ...]:
        """The indices of the channels of a follower's result, with those of groups."""
        return linalg_op.write.index[: -2 - len(self.tiles.slices)]

    def _spatial(self, linalg_op: LinalgOp) -> list[int]:
        """The other loops of a follower."""
        forms = linalg_op.write.index[-2 - len(self.tiles.slices) :]
        return [form.bare for form in forms if form.bare is not None]


def _begun(value: SSAValue) -> SSAValue:
    """The tensor that a value is the begin of, where the run tells of how many rows."""
    owner = value.owner
    if not isinstance(owner, tensor.ExtractSliceOp) or any(n != 0 for n in offsets_of(owner)):
        return value
    return owner.source if is_open(*shape_of(value)) else value


def _is_free(value: SSAValue) -> bool:
    """Whether generics compute a value, here or on tiles, and no view has fixed its memory: one for
    all images, or each for some of them (`small_images.py`).
    """
    owners = (tensor.PadOp, tensor.ConcatOp, func.ReturnOp)
    if any(isinstance(use.operation, owners) for use in value.uses):
        return False
    owner = value.owner
    if isinstance(owner, tensor.ExtractSliceOp):
        return isinstance(owner.source.owner, tensor.CollapseShapeOp)
    if isinstance(owner, tensor.ConcatOp):
        return is_open(shape_of(value)[owner.dim.value.data])
    return isinstance(owner, GenericOp)


def _moved_by_channel(index: Sequence[AffineForm], loops: int) -> AffineMapAttr:
    """The map of an operand that only the channel indexes, which is the first loop on tiles."""
    forms = (AffineForm.of({0: sum(c for _, c in form.terms)}, form.constant) for form in index)
    return indexing_map(loops, forms)
