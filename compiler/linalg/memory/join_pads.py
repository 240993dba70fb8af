"""Joins all pads of one value, because a value can lie inside one pad only: a second needs a copy.

    %p = pad %v low[1, 1] high[1, 1]         %q = pad %v low[2, 2] high[2, 2]
    %q = pad %v low[2, 2] high[2, 2]   ->    %p = extract_slice %q[1, 1]

The pad that is left is as wide as the widest one on each side.

Needs: nothing.  Breaks: nothing; readers find the same elements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.rewrite.insert import erase_dead, move_before, replace_op, tensor_of
from ncc.dialects.index_notation import Builder
from ncc.dialects.size import largest
from ncc.dialects.structured import pad_sides


def join_pads(block: Block) -> None:
    """Join all pads of the block that surround one value with one number, of one sign."""
    found: dict[tuple[SSAValue, str], list[tensor.PadOp]] = defaultdict(list)
    for op in block.ops:
        if isinstance(op, tensor.PadOp):
            found[op.source, repr(pad_value(op))].append(op)  # 0.0 equals -0.0
    several = [pads for pads in found.values() if len(pads) > 1]
    for pads in several:
        _join(pads)
    if several:
        erase_dead(block)


def _join(pads: Sequence[tensor.PadOp]) -> None:
    """One pad in front of the first, as wide as the widest on each side, and slices of it."""
    first, b = pads[0], Builder(Block())
    lows, highs = zip(*map(pad_sides, pads), strict=True)
    low, high = ([largest(*one) for one in zip(*sides, strict=True)] for sides in (lows, highs))
    whole = b.pad(tensor_of(first.source), low, high, pad_value(first))
    move_before(b, first)
    for op, before in zip(pads, lows, strict=True):
        begin = [most - own for most, own in zip(low, before, strict=True)]
        replace_op(op, b, b.slice(whole, begin, shape_of(op.result)))
