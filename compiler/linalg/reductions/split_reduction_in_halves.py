"""Splits sums over channels in two halves, where each channel of the data was made by itself.

    y[o, p] += x[i, p] * w[o, i]    ->    s[h, o, p] = sum over i of x[h, i, p] * w[o, h, i]
                                          y[o, p] += s[0, o, p] + s[1, o, p]

A thread that made half of the channels sums them, and they stay in its cache. Otherwise half of the
data would come from the other core's cache, and that core would have to take the lines back to
write them in the next run. With halves, only sums go from core to core. It pays where sums are few:
960 channels that become 160. The halves are the same for any number of threads, and so are the
bits.

Projections behind a depthwise convolution are the common case.

Needs: the linalg level before groups, blocks of channels outermost.  Breaks: the order of
floating-point sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.affine_form import indexing_map
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.weight_uses import positions_with
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decisions
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    erase_dead,
    rebuilt,
    replace_op,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import by_hint
from ncc.dialects.structured import PARALLEL

HALVES = 2
"""Parts that channels are summed in."""


class SplitReductionInHalves(LinalgChoice["_Split"], CostedPass):
    """Sum both halves of the channels, then the two sums."""

    name = "split-reduction-in-halves"

    def match(self, op: GenericOp) -> _Split | str | None:
        return _Split.of(op, {}, self.costs)

    def run(self, block: Block, decisions: Decisions | None) -> None:
        made: dict[SSAValue, bool] = {}
        ops = generics_of(block)
        for found in [self.decide_on(op, _Split.of(op, made, self.costs), decisions) for op in ops]:
            if found is not None:
                found.rewrite()
        erase_dead(block)


@dataclass(frozen=True)
class _Split:
    """A contraction, and where its channels are: an axis of either operand."""

    op: GenericOp
    axes: tuple[int, int]

    @staticmethod
    def of(op: GenericOp, made: dict[SSAValue, bool], costs: CostModel) -> _Split | str | None:
        """The contraction that is worth splitting, or why it is not. None for what sums no channels
        in blocks.

        made: see `_made_by_channels`.
        """
        linalg_op = LinalgOp(op)
        if linalg_op.product != (0, 1) or len(linalg_op.reads) != 2 or not linalg_op.may_be_rebuilt:
            return None
        data, weights = linalg_op.reads
        channels = data.index[0].bare
        if channels not in linalg_op.reduced:
            return None
        if linalg_op.extents[channels] % HALVES:
            return "its channels have no halves"
        axes = [k for k, form in enumerate(weights.index) if form.bare == channels]
        uses = sum(f.coefficient(channels) != 0 for a in linalg_op.reads for f in a.index)
        if len(axes) != 1 or uses != 2 or linalg_op.write.axes is None:
            return "channels are no axis of the weights, or its result is strided"
        if element_of(data.value) != f32:
            return "it is not of float32"
        if not _made_by_channels(data.value, made):
            return "its data were not made channel by channel"
        if not _is_worth_it(linalg_op, weights.value, costs):
            return "its sums are not few beside its data, or its data are too few to matter"
        return _Split(op, (0, axes[0]))

    def rewrite(self) -> None:
        b = builder_for(self.op)
        operands = [
            _halved(b, tensor_of(value), axis)
            for value, axis in zip(self.op.inputs, self.axes, strict=True)
        ]
        sums = self._sums(b, operands)
        *at, half = b.loops_of([*sums.shape[1:], HALVES])
        total = b.sum(at, [half], sums[[half, *at]], init=tensor_of(outs_of(self.op)))
        replace_op(self.op, b, total)

    def _sums(self, b: Builder, operands: list[Tensor]) -> Tensor:
        """The sums of each half, from zero."""
        maps = [m.data for m in self.op.indexing_maps.data]
        half = AffineDimExpr(maps[0].num_dims)
        halved = [
            indexing_map(half.position + 1, (*m.results[:axis], half, *m.results[axis:]))
            for m, axis in zip(maps, (*self.axes, 0), strict=True)
        ]
        outs = b.full([HALVES, *shape_of(self.op.results[0])], 0.0)
        kinds = [*self.op.iterator_types, PARALLEL]
        return rebuilt(b, self.op, [x.value for x in operands], outs, halved, kinds)


@by_hint()
def _is_worth_it(linalg_op: LinalgOp, weights: SSAValue, costs: CostModel) -> bool:
    """Whether sums are few beside the data: of the whole image, whatever its parts are."""
    positions, together = (
        positions_with(weights),
        prod(linalg_op.extents[loop] for loop in linalg_op.reduced),
    )
    summed, sums = 4 * positions * together, 4 * positions * prod(shape_of(weights)) // together
    few = (
        costs.reductions.halved_times_larger * sums <= summed
        and HALVES * sums <= costs.reductions.most_halved_sums
    )
    return few and summed >= costs.reductions.fewest_halved_bytes


def _halved(b: Builder, x: Tensor, axis: int) -> Tensor:
    """x with an axis of halves in front of one of its axes."""
    groups = [[k + (k > axis)] for k in range(x.rank)]
    groups[axis] = [axis, axis + 1]
    shape = [*x.shape[:axis], HALVES, x.shape[axis] // HALVES, *x.shape[axis + 1 :]]
    return b.expand(x, groups, shape)


def _made_by_channels(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Whether a value was made channel by channel: by sums over windows of one channel each, with
    pointwise operations behind them.

    known: the answers for values in front of it, and for this one. With them, each operation is
    looked at once, also along residuals, where each sum adds all before it.
    """
    left, looked_at, found = [value], {value}, False
    while left and not found:
        one = left.pop()
        if one in known:
            found = known[one]
        elif isinstance(one.owner, GenericOp):
            linalg_op = LinalgOp(one.owner)
            if linalg_op.is_pointwise:
                same = {
                    access.value
                    for access in linalg_op.reads
                    if access.index == linalg_op.write.index
                }
                left += same - looked_at
                looked_at |= same
            else:
                found = _sums_by_channels(linalg_op)
    known |= {value: True} if found else dict.fromkeys(looked_at, False)
    return found


def _sums_by_channels(linalg_op: LinalgOp) -> bool:
    """Whether an operation sums products for each channel by itself."""
    dims = ContractionDims.of(linalg_op)
    return dims is not None and linalg_op.write.index[0].bare in dims.batch
