"""Multiplies the weights of a contraction by the factors of its data.

    m[i, p] = a[i, p] * s[i]                         v[o, i] = w[o, i] * s[i]
    r[o, p] = sum over i of m[i, p] * w[o, i]   ->   r[o, p] = sum over i of a[i, p] * v[o, i]

A run computes the factors, as those of squeeze-and-excite; constant factors were folded long
before. A kernel over the weights replaces one over the image, where the weights are smaller. Matrix
tiles need constant weights. With tiles, the pass takes only contractions of few outputs, which take
less time without tiles than it takes to scale the image.

Needs: the linalg level before groups, weights as they are streamed.  Breaks: nothing; products
are rounded in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.analysis.uses import producer_of
from ncc.compiler.linalg.analysis.weight_uses import positions_with
from ncc.compiler.linalg.rewrite.decisions import Decisions
from ncc.compiler.linalg.rewrite.insert import builder_for, erase_dead, move_before, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.dialects.size import hint


@dataclass(frozen=True)
class FoldScaleIntoWeights(LinalgChoice["_Scaled"]):
    """Multiply weights by factors of a run, instead of the data of a contraction."""

    name = "fold-scale-into-weights"

    most_outputs: int | None = None
    """The most that a contraction may have; any number if None."""

    costs: CostModel = CostModel()

    def match(self, op: GenericOp) -> _Scaled | str | None:
        linalg_op = LinalgOp(op)
        pair = linalg_op.product
        if pair is None:
            return None
        data, weights = (linalg_op.reads[position] for position in pair)
        scaling = data.value.owner
        if not isinstance(scaling, GenericOp):
            return None
        made = _product(LinalgOp(scaling))
        if made is None:
            return None
        if not is_constant(weights.value):
            return "its weights are computed"
        if not data.value.has_one_use():
            return "others read the scaled image, too"
        if producer_of(made[0].value) is not None:
            return "the kernel that makes the image scales it at no cost"
        times = self.costs.reductions.times_scaled_image
        image = hint(positions_with(weights.value) * prod(shape_of(made[1].value)))
        if image <= times * prod(shape_of(weights.value)):
            return f"its image is at most {times} times as large as its weights"
        axes = _axes(LinalgOp(scaling), made[1], linalg_op, data, weights)
        if axes is None:
            return "factors are no axes of the weights that it sums over"
        return _Scaled(op, scaling, *pair, made[0].value, made[1].value, axes)

    def check(self, found: _Scaled) -> str | None:
        if self.most_outputs is None or found.outputs <= self.most_outputs:
            return None
        return f"it has more than {self.most_outputs} outputs, which matrix tiles compute sooner"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        scaled: dict[tuple[object, ...], SSAValue] = {}
        for found in [self.decide(op, decisions) for op in generics_of(block)]:
            if found is not None:
                found.rewrite(scaled)
        erase_dead(block)


class _Scaled(NamedTuple):
    """A contraction of data that another operation scales, and the positions of data and weights.

    source: the data before they are scaled. axes: those of the weights for the axes of factors.
    """

    contraction: GenericOp
    scaling: GenericOp
    data: int
    weights: int
    source: SSAValue
    factors: SSAValue
    axes: tuple[int, ...]

    @property
    def outputs(self) -> int:
        """Sums at one point."""
        linalg_op = LinalgOp(self.contraction)
        weights = prod(shape_of(linalg_op.reads[self.weights].value))
        return weights // prod(linalg_op.extents[d] for d in linalg_op.reduced)

    def rewrite(self, scaled: dict[tuple[object, ...], SSAValue]) -> None:
        """Read the source, and weights that hold the factors; equal ones are made once."""
        weights = self.contraction.operands[self.weights]
        key = (weights, self.factors, self.axes)
        if key not in scaled:
            b = builder_for(self.scaling)
            loops = b.loops_of(shape_of(weights))
            factors = tensor_of(self.factors)[tuple(loops[axis] for axis in self.axes)]
            scaled[key] = b.map(loops, tensor_of(weights)[tuple(loops)] * factors).value
            move_before(b, self.contraction)
        self.contraction.operands[self.data] = self.source
        self.contraction.operands[self.weights] = scaled[key]


def _product(linalg_op: LinalgOp) -> tuple[TensorAccess, TensorAccess] | None:
    """The operands of x * s at every point of x; None where an operation is anything else."""
    times = linalg_op.yielded.owner
    if not linalg_op.is_pointwise or not isinstance(times, arith.MulfOp):
        return None
    operands = linalg_op.positions(times.operands)
    if operands is None:
        return None
    accesses = [linalg_op.reads[position] for position in operands]
    whole = [access.index == linalg_op.write.index for access in accesses]
    if whole.count(True) != 1 or linalg_op.write.axes is None:
        return None
    x, s = accesses if whole[0] else reversed(accesses)
    return x, s


def _axes(
    scaling: LinalgOp,
    factors: TensorAccess,
    linalg_op: LinalgOp,
    data: TensorAccess,
    weights: TensorAccess,
) -> tuple[int, ...] | None:
    """The axis of the weights that each axis of the factors moves with; None if one has none."""
    axis_of = {form.bare: axis for axis, form in enumerate(weights.index)}
    scaled_axis_of = {form.bare: axis for axis, form in enumerate(scaling.write.index)}
    axes: list[int] = []
    for form in factors.index:
        axis = scaled_axis_of.get(form.bare)
        loop = None if form.bare is None or axis is None else data.index[axis].bare
        if loop is None or loop not in linalg_op.reduced or loop not in axis_of:
            return None
        axes.append(axis_of[loop])
    return tuple(axes)
