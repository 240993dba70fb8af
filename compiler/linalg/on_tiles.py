"""A computation of an image that is made in another shape, and what follows it there.

    %c = conv(..)                             %t = the same in tiles
    %y = pointwise(%c, %r)            ->      %e = pointwise(%t, expand %r)   on the tiles
                                              %y = extract_slice (collapse %e)

Tiles have axes that make an axis of the image (channels, height, width) each when they are
collapsed: `groups` of them, in order. They cover the image, or more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.convolve import is_free, padded
from ncc.compiler.linalg.insert import tensor_of
from ncc.compiler.linalg.view import Access, View, shape_of
from ncc.dialects.attributes import segments
from ncc.dialects.comprehension import PARALLEL, Builder, Tensor
from ncc.dialects.operation import copied, make


class Followers:
    """The pointwise computations behind `op` that can be done on its tiles, in order.

    covered: the height and width of all tiles.
    """

    def __init__(
        self, op: GenericOp, covered: tuple[int, int], groups: Sequence[Sequence[int]]
    ) -> None:
        self.op = op
        self.covered = covered
        self.groups = groups
        self.ops: list[GenericOp] = []
        while (found := self._follower(self.last.results[0])) is not None:
            self.ops.append(found)

    @property
    def last(self) -> GenericOp:
        """What makes the value that others read."""
        return self.ops[-1] if self.ops else self.op

    def on_tiles(self, b: Builder, y: Tensor, first: int) -> Tensor:
        """The same computations on tiles y of the image from row `first` on."""
        value: SSAValue = self.op.results[0]
        for op in self.ops:
            y = self._on_tiles(b, op, value, y, first)
            value = op.results[0]
        return y

    # --- which they are ---------------------------------------------------------------------

    def _follower(self, value: SSAValue) -> GenericOp | None:
        uses = list(value.uses)
        op = uses[0].operation if len(uses) == 1 else None
        if not isinstance(op, GenericOp) or value is op.outputs[0]:
            return None
        view = View(op)
        if not view.is_pointwise or view.captured or view.indexed:
            return None
        if len(view.extents) != 3 or None in [form.bare for form in view.write.index]:
            return None
        if len(view.live) != len(view.reads):
            return None
        return op if all(self._readable(op, view, access, value) for access in view.reads) else None

    def _readable(self, op: GenericOp, view: View, access: Access, flight: SSAValue) -> bool:
        if access.index == view.write.index:
            return access.value is flight or self._cover(access.value, op) is not None
        if access.value is flight or any(map(access.uses, _spatial(view))):
            return False
        channel = view.write.index[0].bare
        by_channel = [form.bare for form in access.index if form.terms]
        return len(self.groups[0]) == 1 or by_channel in ([], [channel])

    def _cover(self, value: SSAValue, before: Operation) -> tuple[SSAValue, list[int]] | None:
        """A tensor with room for whole tiles that holds `value`, and where it begins there.

        The value itself stands for one that can be padded: nothing else decides where it lives.
        """
        if shape_of(value)[1:] == self.covered:
            return value, [0, 0, 0]
        for use in value.uses:
            pad = use.operation
            if isinstance(pad, tensor.PadOp) and pad.is_before_in_block(before):
                low = [int(n) for n in pad.static_low.get_values()]
                room = [n - k for n, k in zip(shape_of(pad.result), low, strict=True)]
                if room[1] >= self.covered[0] and room[2] >= self.covered[1]:
                    return pad.result, low
        return (value, [0, 0, 0]) if is_free(value) else None

    # --- on tiles ---------------------------------------------------------------------------

    def _on_tiles(
        self, b: Builder, op: GenericOp, value: SSAValue, y: Tensor, first: int
    ) -> Tensor:
        """A pointwise computation whose input `value` is y."""
        view = View(op)
        operands: list[SSAValue] = []
        maps: list[AffineMapAttr] = []
        for access in view.reads:
            if access.index == view.write.index:
                held = y if access.value is value else self._tiles(b, access.value, y, first)
                operands.append(held.value)
                maps.append(_identity(y.rank))
            else:
                source, map = self._by_channel(b, access, y)
                operands.append(source)
                maps.append(map)
        out = b.empty(y.shape)
        new = make(
            GenericOp,
            operands=[*operands, out.value],
            result_types=[out.value.type],
            properties={
                "indexing_maps": ArrayAttr([*maps, _identity(y.rank)]),
                "iterator_types": ArrayAttr([PARALLEL] * y.rank),
                "operandSegmentSizes": segments(len(operands), 1),
                **({"doc": op.doc} if op.doc is not None else {}),
            },
            regions=[copied(op.body)],
        )
        b.block.add_op(new)
        return Tensor(new.results[0], y.shape)

    def _tiles(self, b: Builder, value: SSAValue, y: Tensor, first: int) -> Tensor:
        """The rows of a tensor that belong to the tiles of y."""
        cover = self._cover(value, self.last)
        if cover is None:
            raise CompilerBug("an operand that was not to be read in tiles")
        source, begin = cover
        held = tensor_of(source)
        if source is value:
            held = tensor_of(padded(value, *self.covered))
        box = [prod(y.shape[axis] for axis in group) for group in self.groups]
        held = b.slice(held, [0, begin[1] + first, begin[2]], box)
        return b.expand(held, self.groups, y.shape)

    def _by_channel(self, b: Builder, access: Access, y: Tensor) -> tuple[SSAValue, AffineMapAttr]:
        """An operand that only the channel moves, which is the first loop on tiles, or the first
        two of them: then its axis is expanded as that of the image is.
        """
        axes = self.groups[0]
        moved = [axis for axis, form in enumerate(access.index) if form.terms]
        forms: list[AffineExpr] = []
        for form in access.index:
            ((_, factor),) = form.terms or ((0, 0),)
            if not factor:
                forms.append(AffineConstantExpr(form.constant))
            elif len(axes) > 1:
                forms += [AffineDimExpr(axis) for axis in axes]
            else:
                expr = AffineDimExpr(0) if factor == 1 else AffineDimExpr(0) * factor
                forms.append(expr + form.constant if form.constant else expr)
        map = AffineMapAttr(AffineMap(y.rank, 0, tuple(forms)))
        if len(axes) == 1 or not moved:
            return access.value, map
        shape, groups = list(shape_of(access.value)), []
        for axis in range(len(shape)):
            groups.append([axis] if axis < moved[0] else [axis + 1])
        groups[moved[0]] = [moved[0], moved[0] + 1]
        shape[moved[0] : moved[0] + 1] = [y.shape[axis] for axis in axes]
        return b.expand(tensor_of(access.value), groups, shape).value, map


def _spatial(view: View) -> list[int]:
    return [form.bare for form in view.write.index[1:] if form.bare is not None]


def _identity(rank: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(rank, 0, tuple(AffineDimExpr(d) for d in range(rank))))


def erase_replaced(ops: Sequence[Operation]) -> None:
    """Erase computations that nobody reads any more, and what was made for them to start from."""
    starts = (op.outputs[0].owner for op in ops if isinstance(op, GenericOp))
    for op in dict.fromkeys([*ops, *starts]):
        if isinstance(op, Operation) and not any(value.uses for value in op.results):
            op.detach()
            op.erase()
