"""Factors of what a contraction sums, taken into its weights.

    m[i, p] = a[i, p] * s[i]                         v[o, i] = w[o, i] * s[i]
    r[o, p] = sum over i of m[i, p] * w[o, i]   ->   r[o, p] = sum over i of a[i, p] * v[o, i]

The factors are of this run, as those of squeeze-and-excite are; constant ones are folded long
before. A pass over the weights takes the place of one over the image, where that is the smaller.
Matrix tiles want constant weights: with them it is left to contractions of few outputs, which take
less time without tiles than to scale the image.

Needs: the structured level before groups, weights as they are streamed.  Breaks: nothing; products
are rounded in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.insert import builder_for, erase_dead, move_before, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.sums.positions import positions_with
from ncc.compiler.linalg.tensors import is_constant
from ncc.compiler.linalg.view import Access, View, shape_of

TIMES_SMALLER = 2
"""How many times as large as the weights the image must be: weights come from memory, and the image
from a cache."""

FEW_OUTPUTS = 32
"""Outputs that vectors multiply sooner than an image is scaled and tiles multiply: 16 and 24 take
0.4 to 0.75 of that time, 40 as long.
"""


@dataclass(frozen=True)
class ScaleWeights(ModulePass):
    """Multiply weights instead of what they are multiplied with; see the head of this file."""

    name = "scale-weights"

    most_outputs: int | None = None
    """The most that a contraction may have; any number if None."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        scaled: dict[tuple[object, ...], SSAValue] = {}
        most = self.most_outputs
        for found in [_Scaled.of(generic) for generic in generics_of(block)]:
            if found is not None and (most is None or found.outputs <= most):
                found.rewrite(scaled)
        erase_dead(block)


@dataclass(frozen=True)
class _Scaled:
    """A contraction of data that another computation scales, and the positions of data and weights.

    source, factors: what is scaled, by what. axes: of the weights that the factors' axes are.
    """

    contraction: GenericOp
    scaling: GenericOp
    data: int
    weights: int
    source: SSAValue
    factors: SSAValue
    axes: tuple[int, ...]

    @staticmethod
    def of(op: GenericOp) -> _Scaled | None:
        """The contraction with data that are products, if its weights can be."""
        view = View(op)
        pair = view.product
        if pair is None or not is_constant(view.reads[pair[1]].value):
            return None
        data, weights = (view.reads[position] for position in pair)
        scaling = data.value.owner
        if not isinstance(scaling, GenericOp) or not data.value.has_one_use():
            return None
        made = _product(View(scaling))
        if made is None or _is_stored_with(made[0].value):
            return None
        image = positions_with(weights.value) * prod(shape_of(made[1].value))
        if image <= TIMES_SMALLER * prod(shape_of(weights.value)):
            return None
        axes = _axes(View(scaling), made[1], view, data, weights)
        if axes is None:
            return None
        return _Scaled(op, scaling, *pair, made[0].value, made[1].value, axes)

    @property
    def outputs(self) -> int:
        """Sums at one point."""
        view = View(self.contraction)
        weights = prod(shape_of(view.reads[self.weights].value))
        return weights // prod(view.extents[d] for d in view.reduced)

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


def _product(view: View) -> tuple[Access, Access] | None:
    """The operands of x * s at every point of x; None where a computation is anything else."""
    times = view.yielded.owner
    if not view.is_pointwise or not isinstance(times, arith.MulfOp):
        return None
    operands = view.positions(times.operands)
    if operands is None:
        return None
    accesses = [view.reads[position] for position in operands]
    whole = [access.index == view.write.index for access in accesses]
    if whole.count(True) != 1 or view.write.axes is None:
        return None
    x, s = accesses if whole[0] else reversed(accesses)
    return x, s


def _is_stored_with(value: SSAValue) -> bool:
    """Whether a pointwise computation on the value costs nothing, as the epilogue of its kernel."""
    return isinstance(value.owner, GenericOp) and value.has_one_use()


def _axes(
    scaling: View, factors: Access, view: View, data: Access, weights: Access
) -> tuple[int, ...] | None:
    """The axis of the weights that each axis of the factors moves with; None if one has none."""
    axis_of = {form.bare: axis for axis, form in enumerate(weights.index)}
    place_of = {form.bare: place for place, form in enumerate(scaling.write.index)}
    axes: list[int] = []
    for form in factors.index:
        place = place_of.get(form.bare)
        loop = None if form.bare is None or place is None else data.index[place].bare
        if loop is None or loop not in view.reduced or loop not in axis_of:
            return None
        axes.append(axis_of[loop])
    return tuple(axes)
