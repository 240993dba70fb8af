"""Small groups are joined: as many as fill a block become one group.

    y[g, o] += x[g * 8 + i] * w[g, o, i]      ->      y[h, o] += x[h * 16 + i] * v[h, o, i]
    z = collapse(y)                                   z = collapse(y)

v is zero where a channel meets channels of another group. So blocks have no empty lanes, and tiles
can compute the sums. In a plain image, rows that are no whole vectors cost as much as the zeros.
The remaining groups become a second convolution.

Needs: the linalg level before views are sunk.
Breaks: an infinity or NaN in one channel spreads to all groups of its block.
"""

from __future__ import annotations

from math import inf, prod

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import TensorAccess, shape_of
from ncc.compiler.linalg.convolutions.choose_tiles import cycles_of, plain_cycles, shown
from ncc.compiler.linalg.groups.grouped_convolution import GroupedConvolution, ungrouped
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum
from ncc.compiler.linalg.rewrite.insert import builder_for, rebuilt, rebuilt_without, replace_op
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import hint
from ncc.dialects.weights.derived import Joined
from ncc.dialects.weights.weight import WeightAttr


class JoinGroups(LinalgPattern[GroupedConvolution], TargetPass):
    """Join groups if that is cheaper."""

    name = "join-groups"

    def match(self, op: GenericOp) -> GroupedConvolution | str | None:
        found = GroupedConvolution.of(op)
        return found if not isinstance(found, GroupedConvolution) else _why_apart(found) or found

    def check(self, found: GroupedConvolution) -> str | None:
        joined, apart = _cycles(found.sums, self.target)
        if joined < apart:
            return None
        costs = f"as they are {shown(apart)}, joined {shown(joined)}"
        return f"products with zeros cost more than they save; estimated cycles: {costs}"

    def describe(self, found: GroupedConvolution) -> str:
        return f"{BLOCK // found.sums.size} groups become one"

    def rewrite(self, found: GroupedConvolution) -> None:
        """Replace the collapse by the sums of joined groups and of the remaining groups."""
        sums = found.sums
        b = builder_for(sums.linalg_op.op)
        at_once, groups = BLOCK // sums.size, sums.groups
        whole = groups // at_once * at_once
        parts = [(0, whole, at_once), (whole, groups, groups - whole)]
        made = [_part(b, found, *part) for part in parts if part[0] < part[1]]
        replace_op(found.collapse, b, b.concat(made, 0))


def _part(b: Builder, convolution: GroupedConvolution, first: int, end: int, joined: int) -> Tensor:
    """The channels of groups [first, end); `joined` groups become one."""
    sums, linalg_op = convolution.sums, convolution.linalg_op
    weights = convolution.weights_of_groups(first, end)
    x = sums.channels_of(b, first, end).value
    w = b.weight(WeightAttr(Joined(weights, joined).weights))
    shape = w.shape[0], w.shape[1], *shape_of(linalg_op.op.results[0])[2:]
    lead = AffineForm.of({sums.group: w.shape[2], sums.channel: 1})
    alone = w.shape[0] == 1
    if alone:
        lead, shape = AffineForm.of({sums.channel: 1}), shape[1:]
        w = ungrouped(b, w)

    def read(access: TensorAccess) -> tuple[SSAValue, list[AffineForm]]:
        if access is sums.data:
            return x, [lead, *access.index[1:]]
        return w.value, list(access.index[alone:])

    reads = [read(access) for access in linalg_op.reads]
    outs = convolution.start_of_groups(b, first, end, shape)
    if alone:
        return rebuilt_without(b, linalg_op.op, sums.group, reads, linalg_op.write.index[1:], outs)
    maps = [indexing_map(len(linalg_op.extents), index) for _, index in reads]
    last = linalg_op.op.indexing_maps.data[-1]
    y = rebuilt(b, linalg_op.op, [value for value, _ in reads], outs, [*maps, last])
    return ungrouped(b, y)


def _why_apart(convolution: GroupedConvolution) -> str | None:
    """Why groups cannot be joined.

    Groups must be images, make as many channels as they read, and these must divide a block.
    """
    sums = convolution.sums
    axes, weights = convolution.linalg_op.write.axes, convolution.weights.axes
    if axes is None or weights is None or len(axes) != 4 or len(weights) != 5:
        return "it has no windows over rows and columns"
    if weights[:3] != (*axes[:2], sums.channel):
        return "its weights have their axes in another order"
    if shape_of(sums.weights)[1] != sums.size:
        return "its groups make more or fewer channels than they read"
    if sums.groups == 1 or sums.size >= BLOCK or BLOCK % sums.size:
        return f"its groups are no equal parts of a block of {BLOCK} channels"
    return None


def _cycles(sums: GroupedSum, target: Target) -> tuple[float, float]:
    """The cost of joined groups, and of groups as they are, which run along rows of a plain image.

    With a stride, rows are no vectors at all, and half a block takes as long as a whole one.
    """
    linalg_op = sums.linalg_op
    (column,) = linalg_op.write.index[-1].loops()
    shape, extents = shape_of(sums.weights), list(map(hint, shape_of(linalg_op.op.results[0])[2:]))
    groups = -(-sums.groups * sums.size // BLOCK)
    sizes = groups * BLOCK, BLOCK, extents, shape[3:]
    dense = {by for form in sums.data.index[1:] for _, by in form.terms} == {1}
    joined = cycles_of(*sizes, target, groups) if dense else plain_cycles(*sizes, target)
    if sums.data.index[-1].coefficient(column) != 1:
        return joined, inf
    return joined, _along_rows(prod(shape) * prod(extents), extents[-1], target)


def _along_rows(multiply_adds: int, row: int, target: Target) -> float:
    """Cycles of multiply-adds along rows of a plain image.

    The remainder of a row takes a vector of half the length, then of a quarter, and so on.
    """
    vectors = row // target.lanes + (row % target.lanes).bit_count()
    reached = target.costs.groups.full_along_rows * target.core.multiply_adds
    return multiply_adds * vectors / row / reached
