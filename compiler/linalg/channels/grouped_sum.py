"""Sums over the channels of groups, which read a channel as group * size + channel of the group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.insert import Index, move_before, reread, tensor_of
from ncc.compiler.linalg.tensors import pad_sides, pad_value
from ncc.compiler.linalg.view import Access, View, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of

Made: TypeAlias = dict[tuple[SSAValue, int], SSAValue]
"""What was made of values with groups of so many channels: once, however many sums read it."""


@dataclass(frozen=True)
class GroupedSum:
    """y[g] += x[g * size + i] * w: the operand that x is, w, and the loops g and i."""

    view: View
    position: int
    weights: SSAValue
    group: int
    channel: int

    @staticmethod
    def of(view: View) -> GroupedSum | None:
        """The sum, if it is one whose groups of several channels lie one behind the other."""
        pair = view.product
        if pair is None:
            return None
        data, weights = (view.reads[position] for position in pair)
        if not data.index or element_of(data.value) != f32:
            return None
        first, *rest = data.index
        if len(first.terms) != 2 or first.constant:
            return None
        channel, group = sorted(first.loops(), key=first.coefficient)
        size = view.extents[channel]
        together = (first.coefficient(channel), first.coefficient(group)) == (1, size)
        if size < 2 or not together or shape_of(data.value)[0] != view.extents[group] * size:
            return None
        if channel not in view.reduced or group in view.reduced:
            return None
        if any(form.coefficient(loop) for form in rest for loop in (group, channel)):
            return None
        return GroupedSum(view, pair[0], weights.value, group, channel)

    @property
    def data(self) -> Access:
        """What is summed over."""
        return self.view.reads[self.position]

    @property
    def size(self) -> int:
        """Channels of a group."""
        return self.view.extents[self.channel]

    @property
    def groups(self) -> int:
        """How many there are."""
        return self.view.extents[self.group]

    def channels_of(self, b: Builder, first: int, end: int) -> Tensor:
        """What some of the groups read, with padding of their own where there is one."""
        value, size = self.data.value, self.size
        pad = value.owner
        if not isinstance(pad, tensor.PadOp) or any(side[0] for side in pad_sides(pad)):
            return b.cut(tensor_of(value), 0, first * size, end * size)
        channels = b.cut(tensor_of(pad.source), 0, first * size, end * size)
        return b.pad(channels, *pad_sides(pad), pad_value(pad))

    def read(
        self,
        made: Made,
        make: Callable[[Builder, SSAValue, int], Tensor],
        lead: Index,
    ) -> None:
        """Let the sum read what `make` makes of the data, at `lead` instead of its channels."""
        op, key = self.view.op, (self.data.value, self.size)
        if key not in made:
            b = Builder(Block(), "layout")
            made[key] = make(b, *key).value
            move_before(b, op)
        rest = op.indexing_maps.data[self.position].data.results[1:]
        reread(op, self.position, made[key], [*lead, *rest])
