"""Converts plain values, and views of them, to blocks of channels, and blocks to plain values.

(channels, height, width)    <->    (ceil(channels / 16), height, width, 16)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import tensor
from xdsl.ir import Operation

from ncc.compiler.linalg.analysis.block_size import BLOCK, blocks_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, same_view
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import select
from ncc.dialects.structured import pad_sides


def pack(b: Builder, x: Tensor, axis: int) -> Tensor:
    """A plain value in blocks along one axis, rounded up with zeros."""
    blocks = blocks_of(x.shape[axis])
    high = [blocks * BLOCK - n if k == axis else 0 for k, n in enumerate(x.shape)]
    x = b.pad(x, [0] * x.rank, high)
    groups = [[k + (k > axis)] if k != axis else [k, k + 1] for k in range(x.rank)]
    x = b.expand(x, groups, [*x.shape[:axis], blocks, BLOCK, *x.shape[axis + 1 :]])
    if axis == x.rank - 2:
        return x
    shape = [*x.shape[: axis + 1], *x.shape[axis + 2 :], BLOCK]
    *outer, lane = b.loops_of(shape)
    return b.map([*outer, lane], x[(*outer[: axis + 1], lane, *outer[axis + 1 :])])


def unpack(b: Builder, x: Tensor, axis: int, shape: Sequence[int]) -> Tensor:
    """Blocks along `axis` as a plain value of `shape`: whole ones, then the rest of the last."""
    whole, rest = divmod(shape[axis], BLOCK)
    if x.rank == 2 or axis == x.rank - 2:
        flat = b.collapse(x, [*([k] for k in range(axis)), [axis, axis + 1]])
        return b.slice(flat, [0] * len(shape), shape)
    parts: list[Tensor] = []
    for begin, blocks, lanes in ((0, whole, BLOCK), (whole, 1, rest)):
        if blocks and lanes:
            first, size = [0] * x.rank, list(x.shape)
            first[axis], size[axis], size[-1] = begin, blocks, lanes
            part = b.slice(x, first, size)
            *outer, lane = b.loops_of(size)
            at = [*outer[: axis + 1], lane, *outer[axis + 1 :]]
            part = b.map(at, part[(*outer, lane)])
            groups = [[k + (k > axis)] if k != axis else [k, k + 1] for k in range(len(shape))]
            parts.append(b.collapse(part, groups))
    return b.concat(parts, axis)


def view_of_blocks(b: Builder, op: Operation, operands: Sequence[Tensor]) -> Tensor:
    """A view of plain values as the same view of values in blocks, which `operands` are."""
    if not isinstance(op, tensor.PadOp) or leaves_whole(op, 0):
        return same_view(b, op, operands, behind=0, block=BLOCK)
    (low, high), value, channels = pad_sides(op), pad_value(op), shape_of(op.source)[0]
    x = _filled_up(b, operands[0], channels, value)
    high[0] = blocks_of(channels + high[0]) - x.shape[0]
    return b.pad(x, [*low, 0], [*high, 0], value)


def _filled_up(b: Builder, x: Tensor, channels: int, value: float) -> Tensor:
    """Blocks along the first axis with a value in the lanes of the last one past the channels."""
    if channels % BLOCK == 0:
        return x
    lanes = np.arange(x.shape[0] * BLOCK).reshape(-1, BLOCK)
    is_channel = b.table((lanes < channels).astype(np.float32))
    at = b.loops_of(x.shape)
    return b.map(at, select(is_channel[at[0], at[-1]] > 0.0, x[tuple(at)], value))
