"""int8 contractions in groups of four products: the shape that dot-product instructions have.

    y[o, p, o'] += x[i, p, i'] * w[o, i, i', o']          i' < 16
        ->  y[o, p, o'] += x[i, p, 4 k + q] * w[o, i, k, o', q]         k < 4, q < 4

The pass leaves x as it is: the four lie side by side there. Weights get another order, in the blob.
The pass drops the `valid_extents` of the split loop where blocking put zeros behind them: 0 times
any int8 is 0.

A loop whose extent is no multiple of four, as the columns of a window over a plain image, gets
weights of zero at its end, and x gets elements behind its rows, which these multiply.

    y[o, p, q] += x[i, p, q + k] * w[o, i, k]          k < 3
        ->  y[o, p, q] += x[i, p, q + 4 k + l] * w[o, i, k, l]          k < 1, l < 4

The same holds for the columns of windows of each channel by itself, where the target has vectors
as long as a block. It transposes their bytes as it reads them:

    y[p, q, o'] += x[p, q + k, o'] * w[k, o']
        ->  y[p, q, o'] += x[p, q + 4 k + l, o'] * w[k, o', l]

Most such instructions take x without a sign. The producer of x stores 128 more, and sums start from
the number that takes that off again:

    y[o, p] += x[i, p] * w[o, i]
        ->  y[o, p] = s[o] + sum of u[i, p] * w[o, i],  u = x + 128,  s[o] = -128 * sum of w[o, i]

Where the target takes both factors with their signs (`Target.dot_signed`), x stays as it is. Where
it multiplies matrices of bytes (`Target.matrix_bytes`), groups have eight products, those of a row
of each matrix, unless this needs more zeros than groups of four.

No other pass knows that these instructions exist, or that one of their factors has no sign.

Needs: the linalg level before groups; constant weights.  Breaks: nothing; sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, TensorType, i8, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.attributes import VALID_EXTENTS
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import (
    LinalgOp,
    TensorAccess,
    filled_with,
    outs_of,
    shape_of,
)
from ncc.compiler.linalg.analysis.tensors import VIEWS, pad_value, weights_of
from ncc.compiler.linalg.rewrite.decisions import Decisions, TargetPass
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    doc_of,
    erase_dead,
    move_after,
    move_before,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.padded import padded
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.target import OCTET, QUAD
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder
from ncc.dialects.operation import copy_of
from ncc.dialects.size import hint
from ncc.dialects.structured import REDUCTION, pad_sides
from ncc.dialects.weights.derived import Blocked, Surplus
from ncc.dialects.weights.weight import ConstantOp, WeightAttr


class PackVnni(LinalgChoice["Split"], TargetPass):
    """Split a reduced loop of int8 contractions in groups of four, for dot-product instructions."""

    name = "pack-vnni"

    def match(self, op: GenericOp) -> Split | str | None:
        found = find(LinalgOp(op), in_lanes=self.target.dot and self.target.lanes == BLOCK)
        if not isinstance(found, Split) or not self.target.matrix_bytes:
            return found
        quads = -(-LinalgOp(op).extents[found.loop] // QUAD)
        return replace(found, count=OCTET) if quads % 2 == 0 and not found.from_last else found

    def run(self, block: Block, decisions: Decisions | None) -> None:
        found = {
            op: split
            for op in generics_of(block)
            if (split := self.decide(op, decisions)) is not None
        }
        quads = _Quads()
        for generic, split in found.items():
            if not self.target.dot_signed and _has_points(LinalgOp(generic), split):
                quads.read_unsigned(generic, split)
        for generic, split in found.items():
            quads.split(generic, split)
        if found:
            erase_dead(block)


@dataclass(frozen=True)
class Split:
    """The loop to split, the operands of the data and the weights, the axes that it walks (of the
    data by its distance from the last one), and the products of a group.
    """

    loop: int
    data: int
    weights: int
    axis: int
    from_last: int
    count: int = QUAD


def find(linalg_op: LinalgOp, in_lanes: bool) -> Split | str | None:
    """The reduced loop whose neighbours lie side by side in the data, or why an int8 contraction
    has none.

    in_lanes: or one behind the other, where channels in blocks are summed each by itself.
    """
    pair = linalg_op.product
    if pair is None or not linalg_op.reduced:
        return None
    data, weights = linalg_op.reads[pair[0]], linalg_op.reads[pair[1]]
    if not _is_int8(data.value) or not _is_int8(weights.value):
        return None
    if element_of(linalg_op.op.results[0]) != i32:
        return "its sums are no int32"
    if not isinstance(weights.value.owner, ConstantOp):
        return "its weights are computed"
    if not _has_lanes(linalg_op, weights):
        return "its weights are not in blocks of results"
    lane = linalg_op.write.index[-1].bare
    from_last = 0
    if lane is not None and data.uses(lane):
        from_last = 1
        if not in_lanes or data.index[-1].bare != lane or linalg_op.extents[lane] != BLOCK:
            return "it sums each channel by itself"
    found = [
        Split(loop, *pair, axes[0], from_last)
        for loop in linalg_op.reduced
        if len(axes := [k for k, form in enumerate(weights.index) if form.bare == loop]) == 1
        and _walks_neighbours(linalg_op, loop, data.index[-1 - from_last])
        and _needs_no_tail(linalg_op, loop, weights.value)
    ]
    whole = [split for split in found if linalg_op.extents[split.loop] % QUAD == 0]
    several = [split for split in found if linalg_op.extents[split.loop] > 1]
    return next(iter([*whole, *several]), "no numbers that it sums lie side by side")


def _has_lanes(linalg_op: LinalgOp, weights: TensorAccess) -> bool:
    """Whether results that lie side by side have weights of their own, whole vectors of them."""
    if linalg_op.write.axes is None or weights.axes is None:
        return False
    lane = linalg_op.write.index[-1].bare
    return lane is not None and weights.uses(lane) and linalg_op.extents[lane] % BLOCK == 0


def _walks_neighbours(linalg_op: LinalgOp, loop: int, form: AffineForm) -> bool:
    """Whether a loop only walks neighbours along one axis of the data, and an axis of weights."""
    moved = [one for access in linalg_op.reads for one in access.index if one.coefficient(loop)]
    return form.coefficient(loop) == 1 and len(moved) == 2 and loop not in linalg_op.indexed


def _needs_no_tail(linalg_op: LinalgOp, loop: int, weights: SSAValue) -> bool:
    """Whether the loop has no tail, or blocking made the weights behind it zeros."""
    limited = {d for outer, inner, _ in linalg_op.valid_extents for d in (outer, inner)}
    constant = weights.owner
    blocked = isinstance(constant, ConstantOp) and isinstance(constant.value.data.source, Blocked)
    return loop not in limited or blocked


def _is_int8(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.element_type == i8


class _Quads:
    """Rewrites contractions; makes an operand once for all that read it."""

    def __init__(self) -> None:
        self.weights: dict[tuple[SSAValue, int, int], SSAValue] = {}
        self.unsigned: dict[SSAValue, SSAValue] = {}

    def split(self, op: GenericOp, found: Split) -> None:
        """Make two loops of one, the inner one over the neighbours of a group."""
        maps = [m.data for m in op.indexing_maps.data]
        count = maps[0].num_dims
        quads, inner = AffineDimExpr(found.loop), AffineDimExpr(count)
        loops = [AffineDimExpr(d) for d in range(count)]
        loops[found.loop] = quads * found.count + inner  # type: ignore[call-overload]
        changed: list[AffineMapAttr] = []
        for position, affine in enumerate(maps):
            if position == found.weights:
                results = (*affine.results, inner)
            else:
                results = tuple(e.replace_dims_and_symbols(loops, []) for e in affine.results)
            changed.append(indexing_map(count + 1, results))
        op.operands[found.weights] = self._grouped(op.operands[found.weights], found)
        op.properties["indexing_maps"] = ArrayAttr(changed)
        op.properties["iterator_types"] = ArrayAttr([*op.iterator_types.data, REDUCTION])
        linalg_op = LinalgOp(op)
        data, behind = linalg_op.reads[found.data], -1 - found.from_last
        reach = sum(by * (linalg_op.extents[d] - 1) for d, by in data.index[behind].terms)
        rest = shape_of(data.value)[behind + 1 :] if found.from_last else ()
        op.operands[found.data] = padded(data.value, reach + 1, *rest)
        kept = [tail for tail in linalg_op.valid_extents if found.loop not in tail[:2]]
        VALID_EXTENTS.drop(op)
        if kept:
            VALID_EXTENTS.put(op, tuple(kept))

    def _grouped(self, weights: SSAValue, found: Split) -> SSAValue:
        """Weights whose groups along an axis come last."""
        key = weights, found.axis, found.count
        if key not in self.weights:
            constant = weights.owner
            assert isinstance(constant, ConstantOp)
            groups = Blocked(constant.value.data, (found.axis,), found.count)
            grouped = ConstantOp.of(WeightAttr(groups.weights))
            Rewriter.insert_op(grouped, InsertPoint.before(constant))
            self.weights[key] = grouped.result
        return self.weights[key]

    def read_unsigned(self, op: GenericOp, found: Split) -> None:
        """Read the data as unsigned numbers, 128 more, and start from minus what that adds."""
        data, linalg_op, b = op.operands[found.data], LinalgOp(op), builder_for(op)
        weights = linalg_op.reads[found.weights]
        loops = [form.bare for form in weights.index]
        kept = tuple(axis for axis, loop in enumerate(loops) if loop in linalg_op.parallel)
        surplus = b.weight(WeightAttr(Surplus(weights_of(weights.value), kept).weights))
        at = b.loops_of(shape_of(op.results[0]))
        index_of = {form.bare: axis for form, axis in zip(linalg_op.write.index, at, strict=True)}
        begin = surplus[tuple(index_of[loops[axis]] for axis in kept)]
        if filled_with(outs_of(op)) != 0:
            begin = tensor_of(outs_of(op))[at] + begin
        start = b.map(at, begin)
        move_before(b, op)
        op.operands[len(linalg_op.reads)] = start.value
        op.operands[found.data] = self._unsigned(data, doc_of(op))
        for use in list(op.body.block.args[found.data].uses):
            if isinstance(use.operation, arith.ExtSIOp):
                wide = arith.ExtUIOp(use.operation.input, use.operation.result.type)
                Rewriter.replace_op(use.operation, wide)

    def _unsigned(self, value: SSAValue, doc: str) -> SSAValue:
        """A value with 128 more, made where the value is, under its views."""
        if value not in self.unsigned:
            b = Builder(Block(), doc)
            owner = value.owner
            if isinstance(owner, tensor.PadOp):
                low, high = pad_sides(owner)
                source = tensor_of(self._unsigned(owner.source, doc))
                made = b.pad(source, low, high, (int(pad_value(owner)) & 0xFF) - 128)
            elif isinstance(owner, VIEWS):
                sources = {source: self._unsigned(source, doc) for source in owner.operands}
                b.block.add_op(linalg_op := copy_of(owner, sources))
                made = tensor_of(linalg_op.results[0])
            else:
                at, x = b.loops_of(shape_of(value)), tensor_of(value)
                made = b.map(at, x[at] + -128)
            move_after(b, value)
            self.unsigned[value] = made.value
        return self.unsigned[value]


def _has_points(linalg_op: LinalgOp, found: Split) -> bool:
    """Whether several points read the same weights: a single one waits for them, so that one more
    sum, for the signs, costs nothing.
    """
    data, weights = linalg_op.reads[found.data], linalg_op.reads[found.weights]
    several = [d for d in linalg_op.parallel if hint(linalg_op.extents[d]) > 1]
    return any(data.uses(d) and not weights.uses(d) for d in several)
