"""The last block of a sum's outputs, where channels fill half of it or less, as a folded one.

    y[o, p, o'] += x[i, p, i'] * w[o, i, i', o']        of 24 outputs: o = 1 has 8 of 16 lanes
        ->  z[p, o', q] += x[i, p, 2 k + q] * w[1, i, 2 k + q, o']         two inputs at once
            y[1, p, o'] = z[p, o', 0] + z[p, o', 1]

Weights alone say so here: in memory, two rows of that block are one (`Folded`), or four of up to
four outputs. The kernel that reads them adds up what lanes have summed.

Two inputs of up to eight outputs share a vector, or four inputs of up to four outputs; one load
spreads them over the lanes. Only the order of weights in memory changes, not their values, so that
no pass between this one and the reader of kernels has to know. `loops/emit/k_split.py` emits
the kernel.

Needs: constants in blocks, and that no other pass moves them.  Breaks: the order of these sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.weight_uses import points_of
from ncc.compiler.target import AVX512, Target
from ncc.dialects.element import element_of
from ncc.dialects.operation import ops_of
from ncc.dialects.weights.derived import Blocked, Folded
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

MOST_TIMES = 4
"""Inputs that are multiplied at once: more leave more to add up than they save."""

LEAST_INPUTS, LEAST_POINTS = 8, 8
"""Inputs of a sum that is worth it, and points: of fewer, sums wait for themselves."""


@dataclass(frozen=True)
class SplitKOverLanes(ModulePass):
    """Fold the weights of all such sums; see the head of this file."""

    name = "split-k-over-lanes"

    target: Target = AVX512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.target.folds:
            return
        for constant in ops_of(network_of(op).body.block):
            if isinstance(constant, ConstantOp):
                _fold(constant)


def _fold(constant: ConstantOp) -> None:
    """Fold a constant, if all that read it are such sums."""
    source, uses = constant.value.data.source, list(constant.result.uses)
    if not isinstance(source, Blocked) or source.block != BLOCK or not uses:
        return
    times = _times(source)
    if times == 1 or element_of(constant.result) not in (f16, f32):
        return
    if all(_is_sum(use, source) for use in uses):
        folded = ConstantOp.of(WeightAttr(Folded(constant.value.data, times).weights))
        Rewriter.replace_op(constant, folded)


def _times(source: Blocked) -> int:
    """How often the last block of outputs is folded; 1 where it is not."""
    if len(source.axes) != 2:
        return 1
    inputs, outputs = (source.of.shape[axis] for axis in source.axes)
    return times_folded(outputs, inputs)


def times_folded(outputs: int, inputs: int) -> int:
    """The same of so many outputs, of each of which so many inputs are summed."""
    left = outputs % BLOCK
    if not left or inputs < LEAST_INPUTS:
        return 1
    times = 1
    while times < MOST_TIMES and left * times * 2 <= BLOCK and inputs % (times * 2) == 0:
        times *= 2
    return times


def _is_sum(use: Use, source: Blocked) -> bool:
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
    floats = element_of(data.value) == f32 and points_of(data, linalg_op) >= LEAST_POINTS
    return summed and along and apart and stored and floats


def _is_read_in_place(value: SSAValue) -> bool:
    """Whether it is a selection of lanes that its reader reads where they lie, one by one."""
    linalg_op = LinalgOp(value.owner) if isinstance(value.owner, GenericOp) else None
    if linalg_op is None or linalg_op.lanes is None:
        return False
    return any(len(shape_of(source)) == 1 for source in linalg_op.captured)
