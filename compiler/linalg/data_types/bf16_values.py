"""Splits values in two bfloat16 parts each (bf16x3), in the shape that matrix tiles read.

    x[o, p, o']  or  x[p, c]  or  x[c, p]           channels in blocks of 16, in rows, or in planes
        ->  s[j, p, 0, c] = the bfloat16 nearest to x, s[j, p, 1, c] to what that leaves    c < 32

    x[c, p, q]                                      of a few planes, elements of a row
        ->  s[p, 0, q C + c], s[p, 1, q C + c] in the same way                              c < C


Blocks are split next to the operation that makes them, in front of pads, concats and slices of
their images, and of reshapes that join axes of an image, or groups of channels. If the number of
blocks of a group is odd, zeros take the place of the missing one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import bf16, f32, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.analysis.attributes import BF16_SPLIT
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of, pad_value
from ncc.compiler.linalg.rewrite.insert import generic_of, move_after, tensor_of
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, same_view
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar, bitcast, convert, equal, select
from ncc.dialects.structured import pad_sides
from ncc.dialects.tile import TILE_K

HALF_UNIT = 0x8000
"""Half a unit in the last place of a bfloat16, in the bits of a float32."""

UPPER_BITS = -0x10000
"""The bits of a float32 that a bfloat16 has."""

_VIEWS = (tensor.PadOp, tensor.ConcatOp, tensor.ExtractSliceOp, tensor.CollapseShapeOp)


class Channels(Enum):
    """How the channels lie that are summed."""

    BLOCKS = auto()  # (blocks, points .., 16)
    GROUPS = auto()  # (groups, blocks, points .., 16)
    ROWS = auto()  # (points .., channels)
    PLANES = auto()  # (channels, points ..)
    WINDOW_ROWS = auto()  # the same, with fewer channels than a k-tile has


class Bf16Values:
    """The bf16 pairs of values of one network, made once for all readers."""

    def __init__(self) -> None:
        self.made: dict[tuple[SSAValue, Channels, int, int], Tensor] = {}

    def of(self, value: SSAValue, channels: Channels, count: int, groups: int = 1) -> Tensor:
        """The bf16 pairs of a value of `count` channels, or of `groups` times as many.

        They are (k_tiles, points .., 2, 32), or (groups, k_tiles, ..) where the value has groups as
        an axis, or, for `WINDOW_ROWS`, (rows .., 2, numbers of a row and 32 more).
        """
        if channels is Channels.BLOCKS and count % TILE_K == 0:
            count, groups = groups * count, 1
        key = (value, channels, count, groups)
        if key not in self.made:
            b = Builder(Block(), "bf16")
            x = tensor_of(value)
            match channels:
                case Channels.BLOCKS:
                    made = self._of_blocks(b, value, _Groups(count, groups))
                case Channels.GROUPS:
                    made = _split(b, x, _Groups(count), axis=1)
                case Channels.ROWS:
                    made = _of_rows(b, x)
                case Channels.PLANES:
                    made = _of_planes(b, x)
                case Channels.WINDOW_ROWS:
                    made = _of_window_rows(b, value)
            move_after(b, value)
            self.made[key] = made
        return self.made[key]

    def _of_blocks(self, b: Builder, value: SSAValue, groups: _Groups) -> Tensor:
        """The bf16 pairs of blocks; those of a view are in front of it, if its operands are."""
        linalg_op = value.owner
        if not isinstance(linalg_op, _VIEWS) or not _is_computed(value, groups):
            return _of_blocks(b, tensor_of(value), groups)
        if isinstance(linalg_op, tensor.CollapseShapeOp) and _joins_groups(linalg_op):
            count = groups.count * groups.number // shape_of(linalg_op.src)[0]
            return _joined(b, self.of(linalg_op.src, Channels.GROUPS, count))
        behind = _behind(linalg_op, groups)
        parts = [self.of(one, Channels.BLOCKS, own.count, own.number) for one, own in behind]
        # (blocks, points .., 16) -> (k_tiles, points .., 2, 32)
        return same_view(b, linalg_op, parts, behind=1)


@dataclass(frozen=True)
class _Groups:
    """Groups of channels in blocks, one behind the other: `count` channels in each."""

    count: int
    number: int = 1


def _of_blocks(b: Builder, x: Tensor, groups: _Groups) -> Tensor:
    """The bf16 pairs of (blocks, points .., 16). Groups of odd numbers of blocks get an axis."""
    blocks, *image = x.shape
    if groups.number == 1 or blocks // groups.number % 2 == 0:
        return _split(b, x, groups, axis=0)
    axes = [[axis] for axis in range(2, x.rank + 1)]
    apart = b.expand(x, [[0, 1], *axes], (groups.number, blocks // groups.number, *image))
    at = b.loops_of(apart.shape)
    return _joined(b, _split(b, b.map(at, apart[at]), _Groups(groups.count), axis=1))


def _split(b: Builder, x: Tensor, groups: _Groups, axis: int) -> Tensor:
    """The bf16 pairs of (.., blocks, points .., 16), where blocks are so many groups; behind the
    channels of each are zeros.
    """
    x = b.pad(x, [0] * x.rank, [n % 2 * (one == axis) for one, n in enumerate(x.shape)])
    outer = list(x.shape[:-1])
    k_tiles = outer[axis] = outer[axis] // 2
    inside: Tensor | None = None
    if groups.count % BLOCK:
        numbers = np.arange(k_tiles * TILE_K) % (k_tiles // groups.number * TILE_K)
        inside = b.table((numbers < groups.count).astype(np.float32))
        inside = b.expand(inside, [[0, 1, 2]], (k_tiles, 2, BLOCK))
    *points, which, side, c = b.loops_of((*outer, 2, 2, BLOCK))
    before, k_tile, image = points[:axis], points[axis], points[axis + 1 :]
    value: Scalar = x[[*before, k_tile * 2 + side, *image, c]]
    if inside is not None:
        value = select(inside[[k_tile, side, c]] > 0.0, value, 0.0)
    of = b.map([*points, which, side, c], _half(value, b.index(which)))
    BF16_SPLIT.put(generic_of(of), True)
    rank = len(points)
    return b.collapse(of, [*([k] for k in range(rank + 1)), [rank + 1, rank + 2]])


def _joined(b: Builder, parts: Tensor) -> Tensor:
    """(groups, k_tiles, ..) as (k_tiles, ..)."""
    return b.collapse(parts, [[0, 1], *([axis] for axis in range(2, parts.rank))])


def _is_computed(value: SSAValue, groups: _Groups) -> bool:
    """Whether linalg ops make all operands of views, in pairs of blocks where views join them."""
    linalg_op = value.owner
    if not isinstance(linalg_op, _VIEWS) or not _keeps_pairs(linalg_op, groups):
        return isinstance(linalg_op, GenericOp)
    return all(_is_computed(*behind) for behind in _behind(linalg_op, groups))


def _behind(linalg_op: Operation, groups: _Groups) -> list[tuple[SSAValue, _Groups]]:
    """The operands of a view, with their groups."""
    if _joins_blocks(linalg_op):
        return [(part, _Groups(shape_of(part)[0] * BLOCK)) for part in linalg_op.operands]
    shown = linalg_op.operands if isinstance(linalg_op, tensor.ConcatOp) else linalg_op.operands[:1]
    return [(value, groups) for value in shown]


def _keeps_pairs(linalg_op: Operation, groups: _Groups) -> bool:
    """Whether a view of blocks is one of pairs of blocks, and of nothing but numbers or zeros."""
    if isinstance(linalg_op, tensor.ExtractSliceOp):
        return leaves_whole(linalg_op, 0)
    if isinstance(linalg_op, tensor.CollapseShapeOp):
        if _joins_groups(linalg_op):
            number, blocks, *_ = shape_of(linalg_op.src)
            pairs = groups == _Groups(number * blocks * BLOCK) and blocks % 2 == 0
            return number == groups.number or pairs
        first, *_, last = groups_of(linalg_op)
        return len(first) == len(last) == 1
    if isinstance(linalg_op, tensor.PadOp):
        whole = leaves_whole(linalg_op, 0) and leaves_whole(linalg_op, -1)
        return pad_value(linalg_op) == 0.0 and whole
    if not _joins_blocks(linalg_op):
        return isinstance(linalg_op, tensor.ConcatOp)
    blocks_of = [shape_of(part)[0] for part in linalg_op.operands]
    whole = groups == _Groups(sum(blocks_of) * BLOCK)
    return whole and all(blocks % 2 == 0 for blocks in blocks_of)


def _joins_groups(linalg_op: tensor.CollapseShapeOp) -> bool:
    """Whether a reshape puts groups of blocks behind one another, and does nothing else."""
    first, *rest = groups_of(linalg_op)
    return len(first) == 2 and all(len(group) == 1 for group in rest)


def _joins_blocks(linalg_op: Operation) -> bool:
    """Whether a view puts blocks of several values behind one another."""
    return isinstance(linalg_op, tensor.ConcatOp) and linalg_op.dim.value.data == 0


def _of_rows(b: Builder, x: Tensor) -> Tensor:
    """The bf16 pairs of (points .., channels)."""
    x = b.pad(x, [0] * x.rank, [*[0] * (x.rank - 1), -x.shape[-1] % TILE_K])
    k_tiles, rank = x.shape[-1] // TILE_K, x.rank
    groups = [[k] for k in range(rank - 1)]
    x = b.expand(x, [*groups, [rank - 1, rank]], (*x.shape[:-1], k_tiles, TILE_K))
    k_tile, *image, which, c = b.loops_of((k_tiles, *x.shape[:-2], 2, TILE_K))
    value = x[[*image, k_tile, c]]
    return b.map([k_tile, *image, which, c], _half(value, b.index(which)))


def _of_planes(b: Builder, x: Tensor) -> Tensor:
    """The bf16 pairs of (channels, points ..)."""
    x = b.pad(x, [0] * x.rank, [-x.shape[0] % TILE_K, *[0] * (x.rank - 1)])
    groups = [[0, 1], *([k] for k in range(2, x.rank + 1))]
    x = b.expand(x, groups, (x.shape[0] // TILE_K, TILE_K, *x.shape[1:]))
    k_tile, *image, which, c = b.loops_of((x.shape[0], *x.shape[2:], 2, TILE_K))
    value = x[[k_tile, c, *image]]
    return b.map([k_tile, *image, which, c], _half(value, b.index(which)))


def _of_window_rows(b: Builder, value: SSAValue) -> Tensor:
    """The bf16 pairs of (channels, rows .., columns), channels innermost, with borders."""
    pad, x = value.owner, tensor_of(value)
    low, high = [0] * x.rank, [0] * x.rank
    if isinstance(pad, tensor.PadOp) and pad_value(pad) == 0.0 and leaves_whole(pad, 0):
        x, (low, high) = tensor_of(pad.source), pad_sides(pad)
    channels, *rows, columns = x.shape
    c, *image = b.loops_of(x.shape)
    elements = b.map([*image, c], x[[c, *image]])
    elements = b.collapse(elements, [*([k] for k in range(len(rows))), [len(rows), len(rows) + 1]])
    *image, which, number = b.loops_of((*rows, 2, columns * channels))
    parts = b.map([*image, which, number], _half(elements[[*image, number]], b.index(which)))
    before, behind = low[-1] * channels, high[-1] * channels + TILE_K
    return b.pad(parts, [*low[1:-1], 0, before], [*high[1:-1], 0, behind])


def _half(x: Scalar, which: Scalar) -> Scalar:
    """The high part of x, the nearest bfloat16, or the low part of x, if `which` is not 0.

    An addition to the bits of x and a mask round it, halves away from zero: so the rest needs no
    conversion to bfloat16 and back.
    """
    high = bitcast((bitcast(x, i32) + HALF_UNIT) & UPPER_BITS, f32)
    return convert(select(equal(which, 0), high, x - high), bf16)
