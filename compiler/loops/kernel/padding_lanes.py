"""Finds padding lanes: those after the last channel, in blocks that channels do not fill.

    y[o, p, o'] += x[i, p] * w[o, i, o']      of 24 channels: o = 1, o' >= 8 has no weights

The sources of blocked weights know how many channels they have, so the IR needs no other mark.

If channels fill at most half of the last block, short vectors compute this half, provided that a
vector of half the length takes half the time. They share a tile with whole vectors, so that both
use the same broadcasts; a block and a half is computed as three short vectors. If a short vector
takes as long as a whole one, two points share a vector (`loops/emit/shared_vectors.py`), on a core
that shuffles while it multiplies. If vectors are shorter than a block, those of the last block
without any channel are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.plan import Kind, Subview
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.sources import Source
from ncc.dialects.weights.weight import ConstantOp


def padding_lanes(
    linalg_op: LinalgOp, subviews: Mapping[SSAValue, Subview], loops: Mapping[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Pairs of loops, as `loops` names them: outer, inner, and how many elements are valid."""
    for access in linalg_op.reads:
        subview = subviews.get(access.value)
        source = None if subview is None else _blocked(subview, shape_of(access.value))
        if source is None:
            continue
        plain = source.of.shape
        for axis, inside in zip(source.axes, access.index[len(plain) :], strict=True):
            outer, inner, true = access.index[axis].bare, inside.bare, plain[axis]
            if outer is None or inner is None or not {outer, inner} <= {*linalg_op.parallel}:
                continue
            whole = linalg_op.extents[outer] * linalg_op.extents[inner]
            if linalg_op.extents[inner] == source.block and true < whole < true + source.block:
                yield loops[outer], loops[inner], true


def _blocked(subview: Subview, shape: tuple[int, ...]) -> Blocked | None:
    """The blocked weights at a subview, if it reads whole blocks."""
    if subview.offset or shape_of(subview.buffer.value) != shape:
        return None
    source = source_at(subview)
    return source if isinstance(source, Blocked) else None


def source_at(subview: Subview) -> Source | None:
    """The source of the weights at a subview; None if it has none."""
    constant = subview.buffer.value.owner if subview.buffer.kind is Kind.CONSTANT else None
    return constant.value.data.source if isinstance(constant, ConstantOp) else None
