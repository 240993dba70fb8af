"""Sums over more than a cache holds, in parts that stay there, one behind the other.

    y[m, n] += sum over k of x[m, k] * w[n, k]
        ->  t[m, n] = y[m, n] + sum over the first part of k of x[m, k] * w[n, k]
            y[m, n] = t[m, n] + sum over the rest ..

Where neither x nor w stays in a second-level cache, every few vectors of results bring all of x
from behind it again, or every few points all of w. Parts of x stay there; what comes again is the
sums so far, once for every part.

Needs: the structured level before groups, constants in blocks.  Breaks: nothing where one loop is
summed over: a sum goes on from where it was. Of several, the order of floating-point sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ncc.compiler.linalg.fuse import network_of
from ncc.compiler.linalg.insert import erase_dead, move_before, tensor_of
from ncc.compiler.linalg.packing import BLOCK
from ncc.compiler.linalg.view import Access, Role, View, shape_of
from ncc.compiler.target import AVX512, Target
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of

STAYS = 1 / 2
"""The share of the cache that an operand takes at most which is there when it is read again."""

PART = 1 / 3
"""The share that a part takes at most: the results pass by, and what comes of the other operand."""

POINTS, CHANNELS = 12, 2 * BLOCK
"""The results of a register tile: for so many, an element of an operand is read once."""

WORTH = 4
"""How many times the traffic of sums in parts the traffic of whole sums is: that can be foreseen,
and what is written goes both ways."""


@dataclass(frozen=True)
class SumInParts(ModulePass):
    """Cut the sums of the network that are too large; see the head of this file."""

    name = "sum-in-parts"

    target: Target = AVX512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for generic in [one for one in block.ops if isinstance(one, GenericOp)]:
            found = _Sum.of(generic, self.target.core.l2_bytes)
            if found is not None:
                found.rewrite()
        erase_dead(block)


def parts_of(data: int, traffic: int, sums: int, room: int, worth: int) -> int:
    """In how many parts to sum, so that one of the data takes no more than the room.

    All in bytes. traffic: what is read of the data as long as the sums are whole, which is `worth`
    times what it is in parts, or the sums stay whole.
    """
    parts = -(-data // room)
    return parts if traffic > worth * (data + 2 * (parts - 1) * sums) else 1


@dataclass(frozen=True)
class _Sum:
    """A contraction, the axis of each operand along which it is cut, and the number of parts."""

    op: GenericOp
    axes: tuple[int, ...]
    parts: int

    @staticmethod
    def of(op: GenericOp, l2_bytes: int) -> _Sum | None:
        """The contraction, if it is worth cutting."""
        view = View(op)
        if view.product() is None or len(view.reads) != 2 or not view.reduced or op.attributes:
            return None
        loop = max(view.reduced, key=lambda d: view.extents[d])
        axes = [axis for access in view.reads if (axis := _axis(access, loop)) is not None]
        if len(axes) != 2 or {element_of(value) for value in op.operands} != {f32}:
            return None
        parts = min(_parts(view, l2_bytes), view.extents[loop])
        return _Sum(op, tuple(axes), _even(view.extents[loop], parts)) if parts > 1 else None

    def rewrite(self) -> None:
        """Sum part by part, each on top of those before it."""
        scratch = Block()
        b = Builder(scratch)
        operands = [tensor_of(value) for value in self.op.inputs]
        extent, total = operands[0].shape[self.axes[0]], self.op.outputs[0]
        for begin, end in pairwise(extent * n // self.parts for n in range(self.parts + 1)):
            cut = [_cut(b, x, k, begin, end) for x, k in zip(operands, self.axes, strict=True)]
            new = self.op.clone()
            new.operands = [*(x.value for x in cut), total]
            scratch.add_op(new)
            total = new.results[0]
        move_before(scratch, self.op)
        total.name_hint = self.op.results[0].name_hint
        self.op.results[0].replace_all_uses_with(total)


def _axis(access: Access, loop: int) -> int | None:
    """The axis that the loop alone moves along, if it moves along no other."""
    axes = [axis for axis, form in enumerate(access.index) if form.coefficient(loop)]
    return axes[0] if len(axes) == 1 and access.index[axes[0]].bare == loop else None


def _parts(view: View, l2_bytes: int) -> int:
    """In how many parts to sum; 1 where an operand stays near by itself."""
    roles = view.roles()
    extents = {
        role: prod(view.extents[d] for d in roles if roles[d] is role)
        for role in (Role.BATCH, Role.IMAGE, Role.OUT)
    }
    x, w, y = (
        4 * prod(shape_of(value)) // extents[Role.BATCH]
        for value in (*view.op.inputs, view.op.outputs[0])
    )
    if min(x, w) <= STAYS * l2_bytes:
        return 1
    traffic = min(x * -(-extents[Role.OUT] // CHANNELS), w * -(-extents[Role.IMAGE] // POINTS))
    return parts_of(min(x, w), traffic, y, int(PART * l2_bytes), WORTH)


def _even(extent: int, parts: int) -> int:
    """A few more parts if they are equal: they share a kernel."""
    more = range(parts, parts * 4 // 3 + 1)
    return next((n for n in more if extent % n == 0), parts)


def _cut(b: Builder, x: Tensor, axis: int, begin: int, end: int) -> Tensor:
    """Cells [begin, end) along an axis."""
    offsets, sizes = [0] * x.rank, list(x.shape)
    offsets[axis], sizes[axis] = begin, end - begin
    return b.slice(x, offsets, sizes)
