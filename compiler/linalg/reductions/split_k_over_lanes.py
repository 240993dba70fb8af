"""Sums of few outputs take several inputs at once, in the lanes that outputs leave idle.

    y[o, p, o'] += x[i, p, i'] * w[o, i, i', o']        of 24 outputs: o = 1 has 8 of 16 lanes
        ->  z[p, o', q] += x[i, p, 2 k + q] * w[1, i, 2 k + q, o']         two inputs at once
            y[1, p, o'] = z[p, o', 0] + z[p, o', 1]

Only weights change: two rows of that block become one in memory (`Folded`), or four rows of up to
four outputs. The kernel that reads them adds the sums of its lanes.

Two inputs of up to eight outputs share a vector, or four inputs of up to four outputs; one load
spreads them over the lanes. Only the order of weights in memory changes, not their values, so that
no pass between this one and the reader of kernels has to know. `loops/emit/k_split.py` emits
the kernel.

Needs: constants in blocks, and that no other pass moves them.  Breaks: the order of these sums.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import f16, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue, Use
from xdsl.rewriter import Rewriter

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.weight_uses import points_of
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.pattern import WeightPattern
from ncc.dialects.element import element_of
from ncc.dialects.weights.derived import Blocked, Folded
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

MOST_TIMES = 4
"""Inputs that are multiplied at once: more leave more to add up than they save."""


class SplitKOverLanes(WeightPattern["_Fold"], TargetPass):
    """Take several inputs at once in lanes of the last block that no output fills."""

    name = "split-k-over-lanes"

    def match(self, op: ConstantOp) -> _Fold | str | None:
        source, uses = op.value.data.source, list(op.result.uses)
        if not self.target.folds or not uses or element_of(op.result) not in (f16, f32):
            return None
        if not isinstance(source, Blocked) or source.block != BLOCK or len(source.axes) != 2:
            return None
        inputs, outputs = (source.of.shape[axis] for axis in source.axes)
        if outputs % BLOCK == 0:
            return None
        fewest = self.target.costs.reductions.fewest_folded
        times = times_folded(outputs, inputs, fewest)
        if times == 1:
            return f"no two of {inputs} inputs share lanes with {outputs % BLOCK} outputs"
        if not all(_is_sum(use, source, fewest) for use in uses):
            return "it is no sum over blocks of channels, or one of few points"
        return _Fold(op, times)

    def describe(self, found: _Fold) -> str:
        return f"{found.times} inputs at once"

    def rewrite(self, found: _Fold) -> None:
        folded = Folded(found.constant.value.data, found.times).weights
        Rewriter.replace_op(found.constant, ConstantOp.of(WeightAttr(folded)))


class _Fold(NamedTuple):
    """Weights, and how many inputs share a vector."""

    constant: ConstantOp
    times: int


def times_folded(outputs: int, inputs: int, fewest: int) -> int:
    """How many inputs, if there are a few, share a vector in the last block of outputs; 1 where
    each takes its own.
    """
    left = outputs % BLOCK
    if not left or inputs < fewest:
        return 1
    times = 1
    while times < MOST_TIMES and left * times * 2 <= BLOCK and inputs % (times * 2) == 0:
        times *= 2
    return times


def _is_sum(use: Use, source: Blocked, fewest: int) -> bool:
    """Whether it is a sum of products with data in blocks, whose lanes are outputs."""
    op = use.operation
    linalg_op = LinalgOp(op) if isinstance(op, GenericOp) else None
    pair = None if linalg_op is None else linalg_op.product
    if linalg_op is None or pair is None or use.index not in pair or sorted(pair) != linalg_op.live:
        return False
    weights, [data] = (
        linalg_op.reads[use.index],
        [linalg_op.reads[k] for k in pair if k != use.index],
    )
    axes, write = weights.axes, linalg_op.write.axes
    if (
        axes is None
        or write is None
        or linalg_op.computes_coordinates
        or _is_read_in_place(data.value)
    ):
        return False
    *_, within, lane = axes
    inputs, outputs = (axes[axis] for axis in source.axes)
    summed = {inputs, within} <= {*linalg_op.reduced} and {outputs, lane} <= {*linalg_op.parallel}
    along = data.index[-1].bare == within and shape_of(data.value)[-1] == BLOCK
    apart = not data.uses(outputs) and not data.uses(lane)
    stored = outputs in write and write[-1] == lane
    floats = element_of(data.value) == f32 and points_of(data, linalg_op) >= fewest
    return summed and along and apart and stored and floats


def _is_read_in_place(value: SSAValue) -> bool:
    """Whether it is a gather of lanes that its reader reads in place, one by one."""
    linalg_op = LinalgOp(value.owner) if isinstance(value.owner, GenericOp) else None
    if linalg_op is None or linalg_op.lanes is None:
        return False
    return any(len(shape_of(source)) == 1 for source in linalg_op.captured)
