"""Computes contractions of float32 by products of bfloat16 on matrix tiles (bf16x3).

    y[o, p, o'] += x[i, p, i'] * w[o, i, i', o']                             i', o' < 16
        ->  s[j, p, 0, c] = the bfloat16 nearest to x[c], s[j, p, 1, c] to what that leaves
            y[o, p, o'] += s[j, p, 0, c] * v[o, j, 0, c, o']                  c = 2 k + q < 32
                         + s[j, p, 0, c] * v[o, j, 1, c, o']
                         + s[j, p, 1, c] * v[o, j, 0, c, o']

where v is w in the same two parts, packed at compile time, pairs (k, o', q) innermost. Groups have
weights of their own; their k-tiles lie one behind the other. An image of few planes is stored with
channels innermost, so that the elements of a window's row lie side by side and are summed together:

    y[o, p, q, o'] += x[i, a p + k, b q + l] * w[o, i, k, l, o']                i < I
        ->  y[o, p, q, o'] += s[a p + k, 0, b q I + 32 j + c] * v[o, k, j, 0, c, o'] ..

Where the numbers of a row are no multiple of 32, weights of zero multiply the elements behind it. A
product of two bfloat16 is exact in float32. Both parts together miss 2**-17 of a number, and the
product that is left out is as small: the error is about 2**-16 of the sum of |x * w|.

Values in blocks are split where they are made (`bf16_values.py`), so that `FormFusionGroups` lets
the kernel that makes them store the parts.

An infinity in x or w, or a number that rounds to one, makes sums that depend on it infinite or NaN,
because its low half is not finite either. A NaN stays one.

Sums stay in float32 where that is cheaper, as it may be for small sums if threads share a unit for
tiles. The choice of Winograd's forms was made with the same costs, and an attribute says the type
of their products (`LinalgOp.factors`).

Grouped convolutions use tiles where each number takes part in enough products. In the layers of a
shuffle network that make 20 channels of 80, at 28 x 28, splitting the numbers costs as much as
tiles save.

First layers multiply rows of their windows. A tile product sums over ten times as many numbers as
three channels, but a row of a 7 x 7 window of three channels is 21 neighbours in memory, once
channels are innermost. Space to depth (`linalg/convolutions/space_to_depth.py`) fills as much of a
tile only for strides of at least 4.

Needs: blocked channels, before groups; constant weights.  Breaks: rounding of products, as above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.attributes import FACTORS
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.weight_uses import points_of
from ncc.compiler.linalg.data_types.bf16_values import Bf16Values, Channels
from ncc.compiler.linalg.data_types.product_cycles import cycles_in_blocks, cycles_on_tiles
from ncc.compiler.linalg.reductions.split_reduction_for_cache import parts_of
from ncc.compiler.linalg.rewrite.decisions import Decisions, TargetPass
from ncc.compiler.linalg.rewrite.insert import builder_for, erase_dead, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.target import Target
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar, convert
from ncc.dialects.size import hint, is_open
from ncc.dialects.tile import TILE_K
from ncc.dialects.weights.derived import Bf16Pairs, Blocked, OfRows
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.weight import ConstantOp, WeightAttr


class SplitBf16(LinalgChoice["Bf16Sum"], TargetPass):
    """Compute contractions by bf16x3 on matrix tiles where that is cheaper."""

    name = "split-bf16"

    def match(self, op: GenericOp) -> Bf16Sum | str | None:
        linalg_op = LinalgOp(op)
        if linalg_op.product is None or not linalg_op.reduced:
            return None
        return match(linalg_op, self.target)

    def check(self, found: Bf16Sum) -> str | None:
        if found.linalg_op.factors is not None:
            return None
        in_float32, in_bf16x3 = found.cycles
        return (
            None if in_bf16x3 < in_float32 else f"it is cheaper in float32; {_shown(found.cycles)}"
        )

    def describe(self, found: Bf16Sum) -> str:
        if found.linalg_op.factors is not None:
            return "its Winograd form was chosen for bfloat16"
        return _shown(found.cycles)

    def run(self, block: Block, decisions: Decisions | None) -> None:
        rewrite = _Rewrite(self.target)
        for op in generics_of(block):
            found = self.decide(op, decisions)
            if found is not None:
                rewrite.run(found)
            else:
                FACTORS.drop(op)
        erase_dead(block)


def _shown(cycles: tuple[float, float]) -> str:
    in_float32, in_bf16x3 = (f"{n / 1e3:,.0f} k" for n in cycles)
    return f"estimated cycles: float32 {in_float32}, bf16x3 on matrix tiles {in_bf16x3}"


@dataclass(frozen=True)
class Bf16Sum:
    """A contraction that can be rewritten.

    linalg_op        the contraction
    target           the target that computes it
    data, weights    which operands they are
    plain            the weights before they were put in blocks
    outputs, inputs  its axes of the result's channels, and of those that are summed
    lane             the loop over 16 outputs that lie side by side
    sums             the loops over the summed channels: blocks and inside of them, or one loop; for
                     `WINDOW_ROWS` that over the columns of a window, too
    group            the loop over groups of blocks, each of which has weights of its own
    components       how many parts of the result have weights of their own, groups included
    """

    linalg_op: LinalgOp
    target: Target
    data: int
    weights: int
    plain: Weights
    outputs: int
    inputs: int
    lane: int
    channels: Channels
    sums: tuple[int, ...]
    group: int | None
    components: int

    @property
    def k_tiles(self) -> int:
        """How many k-tiles the summed channels of one group are."""
        return -(-self.plain.shape[self.inputs] // TILE_K)

    @cached_property
    def cycles(self) -> tuple[float, float]:
        """Its cycles in float32, and in bf16x3 on matrix tiles."""
        linalg_op, target = self.linalg_op, self.target
        outputs, inputs = (self.plain.shape[axis] for axis in (self.outputs, self.inputs))
        taps = prod(self.plain.shape) // (outputs * inputs * self.components)
        data = linalg_op.reads[self.data]
        points = points_of(data, linalg_op) // self.components
        axis = -1 if self.channels in (Channels.PLANES, Channels.WINDOW_ROWS) else -2
        apart = linalg_op.reads[self.weights]
        along = [
            d for d in data.index[axis].loops() if d in linalg_op.parallel and not apart.uses(d)
        ]
        width = max((hint(linalg_op.extents[d]) for d in along), default=1)
        shape = list(map(hint, shape_of(data.value)))
        row, numbers = (points // width, width, shape[axis] - width), prod(shape)
        in_float32 = cycles_in_blocks(outputs, inputs, taps, points, target, self.components)
        in_bf16x3 = cycles_on_tiles(outputs, inputs, taps, row, target, self.components, numbers)
        return in_float32, in_bf16x3

    def indices(
        self, k_tile: AffineExpr, number: AffineExpr
    ) -> tuple[list[AffineExpr], AffineExpr]:
        """The indices of a number of a k-tile in the data: before its half, and within one."""
        linalg_op = self.linalg_op
        index = linalg_op.reads[self.data].index
        match self.channels:
            case Channels.BLOCKS:
                points = index[1:-1]
                if self.group is not None:
                    k_tile = AffineExpr.dimension(self.group) * self.k_tiles + k_tile
            case Channels.ROWS:
                points = index[:-1]
            case Channels.PLANES:
                points = index[1:]
            case Channels.WINDOW_ROWS:
                channel, window = self.sums
                *rows, column = (form.without(window).expression for form in index[1:])
                return rows, column * linalg_op.extents[channel] + k_tile * TILE_K + number
        return [k_tile, *(form.expression for form in points)], number


def match(linalg_op: LinalgOp, target: Target) -> Bf16Sum | str:
    """How a contraction reads its operands, or why it stays as it is."""
    if linalg_op.factors == f32:
        return "it was chosen for float32"
    pair = linalg_op.product
    if pair is None or not linalg_op.reduced or sorted(pair) != linalg_op.live:
        return "it is no contraction"
    if linalg_op.computes_coordinates:
        return "it computes coordinates"
    data, weights = (linalg_op.reads[k] for k in pair)
    constant = weights.value.owner
    if not isinstance(constant, ConstantOp):
        return "its weights are computed"
    if {element_of(data.value), element_of(weights.value)} != {f32}:
        return "it is not of float32"
    source = constant.value.data.source
    if not isinstance(source, Blocked) or source.block != BLOCK:
        return "its results are not in blocks"
    axes, plain = weights.axes, source.of
    if not axes or data.uses(axes[-1]):
        return "its weights are not read one by one"
    lane = axes[-1]
    if any(d not in axes or not data.uses(d) for d in linalg_op.reduced):
        return "it sums one operand alone"
    if linalg_op.write.axes is None or linalg_op.write.axes[-1:] != (lane,):
        return "its result is strided"
    summed = _channels(linalg_op, axes, source, data.index)
    if summed is None:
        return "its data are neither in blocks nor in rows nor in planes"
    channels, sums, inputs, group = summed
    if channels is Channels.WINDOW_ROWS:
        plain = OfRows(plain).weights
    if is_open(*(linalg_op.extents[d] for d in linalg_op.reduced)):
        return "the run tells how many products it sums"
    valid_extents = {d for outer, within, _ in linalg_op.valid_extents for d in (outer, within)}
    if not valid_extents <= set(sums):
        return "it clips a loop"
    count, by_rows = plain.shape[inputs], channels is Channels.WINDOW_ROWS
    costs = target.costs
    if not (fills_a_k_tile(count, costs) if by_rows else count >= TILE_K):
        return f"it sums fewer than {TILE_K} channels"
    groups = 1 if group is None else linalg_op.extents[group]
    products = prod(plain.shape) // groups // plain.shape[inputs]
    if group is not None and products < costs.data_types.fewest_bf16_products:
        return f"numbers of a group are in {products} products only"
    if points_of(data, linalg_op) < costs.data_types.fewest_bf16_points * groups:
        return f"it has fewer than {costs.data_types.fewest_bf16_points} points"
    components = prod(
        linalg_op.extents[d] for d in linalg_op.parallel if d in axes and data.uses(d)
    )
    outputs = source.axes[-1]
    return Bf16Sum(
        linalg_op, target, *pair, plain, outputs, inputs, lane, channels, sums, group, components
    )


def fills_a_k_tile(numbers: int, costs: CostModel) -> bool:
    """Whether the numbers of a row of a window, channels included, are worth a k-tile."""
    return numbers >= costs.data_types.filled_k_tile * TILE_K


def _channels(
    linalg_op: LinalgOp, axes: tuple[int, ...], source: Blocked, index: tuple[AffineForm, ...]
) -> tuple[Channels, tuple[int, ...], int, int | None] | None:
    """The layout of the summed channels, their loops, their axis in the plain weights, and the loop
    over groups of them.
    """
    rank = len(source.of.shape)
    first, last = index[0].bare, index[-1].bare

    def alone(loop: int) -> bool:
        return loop in linalg_op.reduced and sum(form.coefficient(loop) != 0 for form in index) == 1

    if len(source.axes) == 2:
        blocks = axes[source.axes[0]]
        group = _group(index[0], blocks, linalg_op)
        if last is None or not (alone(blocks) and alone(last)):
            return None
        whole = linalg_op.extents[last] == BLOCK and axes[rank] == last
        if (first != blocks and group is None) or not whole or len(index) < 2:
            return None
        return Channels.BLOCKS, (blocks, last), source.axes[0], group
    column = axes[rank - 1]
    if first == axes[1] != column and alone(first) and linalg_op.extents[first] < TILE_K:
        if last is None and alone(column) and index[-1].coefficient(column) == 1:
            return Channels.WINDOW_ROWS, (first, column), rank - 2, None
    for channels, loop in ((Channels.ROWS, last), (Channels.PLANES, first)):
        if loop is not None and alone(loop) and loop in axes[:rank]:
            return channels, (loop,), axes.index(loop), None
    return None


def _group(form: AffineForm, loop: int, linalg_op: LinalgOp) -> int | None:
    """The loop over groups of which each reads as many blocks as the loop has iterations."""
    others = form.loops() - {loop}
    whole = AffineForm.of({loop: 1, **dict.fromkeys(others, linalg_op.extents[loop])})
    return others.pop() if len(others) == 1 and form == whole else None


class _Rewrite:
    """Rewrites one network; splits values once for all readers."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.values = Bf16Values()
        self.weights: dict[tuple[SSAValue, int], Tensor] = {}

    def run(self, found: Bf16Sum) -> None:
        linalg_op, op = found.linalg_op, found.linalg_op.op
        data, weights = linalg_op.reads[found.data], linalg_op.reads[found.weights]
        b = builder_for(op)
        groups = 1 if found.group is None else linalg_op.extents[found.group]
        count = found.plain.shape[found.inputs]
        x = self.values.of(data.value, found.channels, count, groups)
        w = self._weights(weights.value, found)
        result = tensor_of(outs_of(op))
        for part in self._parts(b, found, x, w, result):
            result = self._sum(b, found, *part, result)
        replace_op(op, b, result)
        op.detach()
        op.erase()

    def _parts(
        self, b: Builder, found: Bf16Sum, x: Tensor, w: Tensor, y: Tensor
    ) -> Sequence[tuple[Tensor, Tensor]]:
        """The operands of sums in parts, one behind the other.

        Where neither the weights nor the data of a component stay in L2, all data come from behind
        it for every two blocks of outputs. A part of them stays there, and sums are written and
        read for that.
        """
        room = self.target.core.l2_bytes // 2
        data, weights, sums = (
            hint(size * prod(v.shape) // found.components) for size, v in ((2, x), (2, w), (4, y))
        )
        whole = found.channels is Channels.WINDOW_ROWS or found.group is not None
        if whole or min(data, weights) <= room:
            return [(x, w)]
        traffic = -(-w.shape[found.outputs] // 2) * data
        k_tiles, worth = x.shape[0], self.target.costs.data_types.bf16_parts_worth
        parts = min(k_tiles, parts_of(data, traffic, sums, room, worth))
        ends = pairwise(round(k_tiles * k / parts) for k in range(parts + 1))
        return [(b.cut(x, 0, *part), b.cut(w, found.inputs, *part)) for part in ends]

    def _sum(self, b: Builder, found: Bf16Sum, x: Tensor, w: Tensor, init: Tensor) -> Tensor:
        """The sums over some k-tiles, added to what there is."""
        linalg_op = found.linalg_op
        extents = [*linalg_op.extents, BLOCK, 2]
        extents[found.sums[0]] = w.shape[found.inputs]
        loops = b.loops_of(extents)
        k_tile, pair, side = loops[found.sums[0]], loops[-2], loops[-1]
        points, number = found.indices(k_tile, pair * 2 + side)
        kept = linalg_op.reads[found.weights].index[:-1]
        ends = [form.expression for form in kept if form.bare not in found.sums]
        ends.insert(found.inputs, k_tile)

        def half(of: int) -> tuple[Scalar, Scalar]:
            first = x[[*points, of, number]]
            second = w[[*ends, of, pair, loops[found.lane], side]]
            return convert(first, f32), convert(second, f32)

        (high, weight), (low, rounded) = half(0), half(1)
        total = high * weight + high * rounded + low * weight
        to = [form.expression for form in linalg_op.write.index]
        over = [*(loops[d] for d in linalg_op.reduced if d not in found.sums[1:]), pair, side]
        return b.sum(to, over=over, of=total, init=init)

    def _weights(self, value: SSAValue, found: Bf16Sum) -> Tensor:
        """The plain weights by blocks of both kinds of channels, pairs innermost, in two parts."""
        key = (value, found.inputs)
        if key not in self.weights:
            rank = len(found.plain.shape)
            k_tiles = Blocked(found.plain, (found.inputs,), TILE_K).weights
            blocks = Blocked(k_tiles, (found.outputs,), BLOCK).weights
            pairs = Blocked(blocks, (rank,), 2).weights
            held = ConstantOp.of(WeightAttr(Bf16Pairs(pairs).weights))
            owner = value.owner
            assert isinstance(owner, ConstantOp)
            Rewriter.insert_op(held, InsertPoint.before(owner))
            self.weights[key] = tensor_of(held.result)
        return self.weights[key]
