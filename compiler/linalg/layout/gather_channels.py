"""Writes shuffles of a concat's channels as gathers, so that networks that shuffle stay in blocks.

    z = concat(a, b);  s[n, g] = z[g * 24 + n];  x, y = halves of collapse(s)
        ->  x[c, p, q] = z[t[c], p, q],   y[c, p, q] = z[u[c], p, q]

t and u are tables; the attribute `channels` of a gather has the same numbers. Where `PackChannels`
chooses blocks, a gather takes lanes (`gather_lanes`), and its concat may have gaps: each part
begins with a block of its own, whatever its extent is.

Needs: the linalg level before layouts are chosen.  Breaks: nothing; results are equal bit by
bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.analysis.attributes import CHANNELS, LANES
from ncc.compiler.linalg.analysis.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of
from ncc.compiler.linalg.layout.fold_transposes import Move
from ncc.compiler.linalg.layout.packed_axes import follows
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decisions
from ncc.compiler.linalg.rewrite.insert import (
    doc_of,
    erase_dead,
    generic_of,
    move_before,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import Choice
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, same_view
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.structured import offsets_of


class GatherChannels(Choice[tensor.CollapseShapeOp, "_Gather"], CostedPass):
    """Write shuffles of a concat's channels, and slices of them, as gathers."""

    name = "gather-channels"

    def match(self, op: tensor.CollapseShapeOp) -> _Gather | str | None:
        return _shuffled(op, self.costs.layout.most_gathered_channels)

    def run(self, block: Block, decisions: Decisions | None) -> None:
        found: dict[SSAValue, _Gather] = {}
        for one in block.ops:
            if isinstance(one, tensor.CollapseShapeOp):
                shuffle = self.decide(one, decisions)
            else:
                shuffle = _sliced(one, found)
            if shuffle is not None:
                found[one.results[0]] = shuffle
        for value, shuffle in found.items():
            uses = [use for use in value.uses if _result(use.operation) not in found]
            if not uses or not isinstance(value.owner, Operation):
                continue
            b = Builder(Block(), shuffle.doc)
            made = gather(b, shuffle.source, shuffle.channels)
            move_before(b, value.owner)
            made.value.name_hint = value.name_hint
            for use in uses:
                use.operation.operands[use.index] = made.value
        erase_dead(block)


class _Gather(NamedTuple):
    """Channels of a concat, in the order of the result."""

    source: SSAValue
    channels: tuple[int, ...]
    doc: str


def _result(op: Operation) -> SSAValue | None:
    return op.results[0] if op.results else None


def _shuffled(op: tensor.CollapseShapeOp, most: int) -> _Gather | str | None:
    """The channels that a collapsed transpose of a concat takes, if images stay as they are."""
    if not isinstance(op.src.owner, GenericOp):
        return None
    move, groups = Move.of(op.src.owner), groups_of(op)
    if move is None or len(groups) != 3 or any(len(group) != 1 for group in groups[1:]):
        return None
    source, (first, *rest) = move.source, move.index
    if not _is_concat(source):
        return None
    if element_of(source) != f32:
        return "it is not of float32"
    if shape_of(source)[1:] != shape_of(op.result)[1:]:
        return "it moves rows or columns, too"
    axes = range(len(groups[0]), len(move.shape))
    same = [
        not form.constant and form.loops() == ({axis} if move.shape[axis] != 1 else set())
        for form, axis in zip(rest, axes, strict=True)
    ]
    outer = set(range(len(groups[0])))
    if not all(same) or not first.loops() <= outer:
        return "it moves rows or columns, too"
    if shape_of(op.result)[0] > most:
        return f"it has more than {most} channels"
    elements = product(*(range(move.shape[axis]) for axis in groups[0]))
    channels = [first.constant + sum(c * at[d] for d, c in first.terms) for at in elements]
    return _Gather(source, tuple(channels), doc_of(op.src.owner))


def _is_concat(value: SSAValue) -> bool:
    """Whether a value has channels of several values, of computed groups, or of sums for this
    reader, whose weights can be in any order.
    """
    match value.owner:
        case tensor.ConcatOp() as op:
            return not op.dim.value.data
        case tensor.CollapseShapeOp() as op:
            return isinstance(op.src.owner, GenericOp) and len(groups_of(op)[0]) > 1
        case GenericOp() as op:
            linalg_op = LinalgOp(op)
            is_sum = linalg_op.product is not None or follows(linalg_op) is not None
            return is_sum and value.has_one_use()
    return False


def _sliced(op: Operation, found: dict[SSAValue, _Gather]) -> _Gather | None:
    """A slice of the channels of a gather."""
    if not isinstance(op, tensor.ExtractSliceOp) or op.source not in found:
        return None
    whole, shape = found[op.source], shape_of(op.result)
    begin, *rest = offsets_of(op)
    if any(rest) or shape[1:] != shape_of(op.source)[1:]:
        return None
    return _Gather(whole.source, whole.channels[begin : begin + shape[0]], whole.doc)


def gather(b: Builder, value: SSAValue, channels: Sequence[int]) -> Tensor:
    """Some channels of a value, in this order."""
    source = tensor_of(value)
    channel = b.table(np.array(channels))
    c, y, z = b.loops_of((len(channels), *source.shape[1:]))
    made = b.map((c, y, z), source.at(channel[c], b.index(y), b.index(z)))
    CHANNELS.put(generic_of(made), tuple(channels))
    return made


def gather_inside(b: Builder, value: SSAValue, channels: Sequence[int]) -> Tensor:
    """The same; where a value is padded along other axes only, the gather is inside of the pad."""
    owner = value.owner
    if isinstance(owner, tensor.PadOp) and leaves_whole(owner, 0):
        return same_view(b, owner, [gather_inside(b, owner.source, channels)])
    return gather(b, value, channels)


def gather_lanes(b: Builder, source: Tensor, lanes: Sequence[int]) -> Tensor:
    """Blocks of channels out of blocks: lane n of the result is lane `lanes[n]` of the source."""
    blocks = np.array(lanes).reshape(-1, BLOCK)
    block, lane = b.table(blocks // BLOCK), b.table(blocks % BLOCK)
    j, y, z, n = b.loops_of((len(blocks), *source.shape[1:]))
    at = source.at(block[j, n], b.index(y), b.index(z), lane[j, n])
    made = b.map((j, y, z, n), at)
    LANES.put(generic_of(made), tuple(lanes))
    return made


def lanes_of(extents: Sequence[int], channels: Sequence[int]) -> list[int]:
    """The lanes of channels of parts in blocks; the last channel fills its block up.

    extents: how many channels each part has.
    """
    lane_of: list[int] = []
    first = 0
    for extent in extents:
        lane_of += range(first, first + extent)
        first += lanes_in(extent)
    lanes = [lane_of[channel] for channel in channels]
    return lanes + lanes[-1:] * (-len(lanes) % BLOCK)
