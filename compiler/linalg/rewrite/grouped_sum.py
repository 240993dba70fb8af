"""Sums over the channels of a group, which read channel group * size + channel of the group."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.rewrite.insert import Index, move_before, read_instead, tensor_of
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, same_view
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor

Made: TypeAlias = dict[tuple[SSAValue, int], SSAValue]
"""What was made of a value, for groups of some size; several sums may read it."""


class GroupedSum(NamedTuple):
    """y[g] += x[g * size + i] * w: the position of x, the weights w, and the loops g and i."""

    linalg_op: LinalgOp
    position: int
    weights: SSAValue
    group: int
    channel: int

    @staticmethod
    def of(linalg_op: LinalgOp) -> GroupedSum | None:
        """The sum, if its groups have several channels and follow each other."""
        pair = linalg_op.product
        if pair is None:
            return None
        data, weights = (linalg_op.reads[position] for position in pair)
        if not data.index or element_of(data.value) != f32:
            return None
        first, *rest = data.index
        if len(first.terms) != 2 or first.constant:
            return None
        channel, group = sorted(first.loops(), key=first.coefficient)
        size = linalg_op.extents[channel]
        together = (first.coefficient(channel), first.coefficient(group)) == (1, size)
        if size < 2 or not together or shape_of(data.value)[0] != linalg_op.extents[group] * size:
            return None
        if channel not in linalg_op.reduced or group in linalg_op.reduced:
            return None
        if any(form.coefficient(loop) for form in rest for loop in (group, channel)):
            return None
        return GroupedSum(linalg_op, pair[0], weights.value, group, channel)

    @property
    def data(self) -> TensorAccess:
        """How the sum reads x."""
        return self.linalg_op.reads[self.position]

    @property
    def size(self) -> int:
        """Channels of a group."""
        return self.linalg_op.extents[self.channel]

    @property
    def groups(self) -> int:
        """How many there are."""
        return self.linalg_op.extents[self.group]

    def channels_of(self, b: Builder, first: int, end: int) -> Tensor:
        """What groups [first, end) read; if x is padded, the pad of their channels."""
        value, size = self.data.value, self.size
        pad = value.owner
        if not isinstance(pad, tensor.PadOp) or not leaves_whole(pad, 0):
            return b.cut(tensor_of(value), 0, first * size, end * size)
        channels = b.cut(tensor_of(pad.source), 0, first * size, end * size)
        return same_view(b, pad, [channels])

    def read(
        self,
        made: Made,
        make: Callable[[Builder, SSAValue, int], Tensor],
        lead: Index,
    ) -> None:
        """Let the sum read what `make` makes of x, with `lead` as index instead of the channel."""
        op, key = self.linalg_op.op, (self.data.value, self.size)
        if key not in made:
            b = Builder(Block(), "layout")
            made[key] = make(b, *key).value
            move_before(b, op)
        rest = op.indexing_maps.data[self.position].data.results[1:]
        read_instead(op, self.position, made[key], [*lead, *rest])
