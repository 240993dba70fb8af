"""Each group becomes a convolution, if groups are few and large, or no whole blocks.

    y[g, o] += x[g * I + i] * w[g, o, i]      ->      y_g[o] += x_g[i] * w_g[o, i]
    z = relu(collapse(y))                             z = concat(relu(y_0), relu(y_1))

The convolution of one group runs over the whole image before the next one starts. So the weights of
one group stay in L2 where those of all groups do not, and tiles take less memory. Groups that are
no whole blocks of channels have tiles only as separate convolutions.

Needs: the linalg level before views are sunk.  Breaks: nothing; sums keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, weights_of
from ncc.compiler.linalg.convolutions.choose_tiles import cycles_of, plain_cycles
from ncc.compiler.linalg.groups.grouped_convolution import GroupedConvolution, ungrouped
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum
from ncc.compiler.linalg.rewrite.insert import builder_for, rebuilt_without, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import part
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import hint
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.weight import WeightAttr


class SeparateGroups(LinalgPattern[GroupedConvolution], TargetPass):
    """Compute groups one after the other."""

    name = "separate-groups"

    def match(self, op: GenericOp) -> GroupedConvolution | str | None:
        found = GroupedConvolution.of(op)
        if isinstance(found, GroupedConvolution) and len(found.sums.data.index) != 3:
            return "it reads no image"
        return found

    def check(self, found: GroupedConvolution) -> str | None:
        sums, outputs = found.sums, shape_of(found.linalg_op.op.results[0])[1]
        if sums.size % BLOCK or outputs % BLOCK:
            return _why_not_in_tiles(sums, self.target)
        return _why_in_one_kernel(sums, self.target)

    def describe(self, found: GroupedConvolution) -> str:
        return f"{found.sums.groups} convolutions"

    def rewrite(self, found: GroupedConvolution) -> None:
        """Replace the collapse and its followers by a convolution and followers for each group."""
        collapse = found.collapse
        followers = list(_following(collapse))
        last = followers[-1] if followers else collapse
        b = builder_for(found.linalg_op.op)
        results: list[Tensor] = []
        for group in range(found.sums.groups):
            y = _convolution(b, found, group)
            value: SSAValue = collapse.result
            for op in followers:
                y = _of_group(b, op, value, y, group)
                value = op.results[0]
            results.append(y)
        replace_op(last, b, b.concat(results, 0))


def _convolution(b: Builder, convolution: GroupedConvolution, group: int) -> Tensor:
    """The sums of one group."""
    sums, linalg_op = convolution.sums, convolution.linalg_op
    shape = shape_of(linalg_op.op.results[0])[1:]
    start = convolution.start_of_groups(b, group, group + 1, shape)
    x = sums.channels_of(b, group, group + 1)
    w = ungrouped(b, b.weight(WeightAttr(convolution.weights_of_groups(group, group + 1))))
    channel = AffineForm.of({sums.channel: 1})
    reads = [
        (x.value, [channel, *access.index[1:]])
        if access is sums.data
        else (w.value, access.index[1:])
        for access in linalg_op.reads
    ]
    return rebuilt_without(b, linalg_op.op, sums.group, reads, linalg_op.write.index[1:], start)


def _why_in_one_kernel(sums: GroupedSum, target: Target) -> str | None:
    """Why groups of whole blocks stay together."""
    most, l2_bytes = target.costs.groups.most_large_groups, target.core.l2_bytes
    if sums.groups > most:
        return f"it has more than {most} groups"
    if 4 * prod(shape_of(sums.weights)) < target.costs.groups.group_weights_share * l2_bytes:
        return "the weights of all its groups stay in L2 together"
    return None


def _why_not_in_tiles(sums: GroupedSum, target: Target) -> str | None:
    """Why groups that are no whole blocks stay together. Tiles of several groups need whole blocks,
    so a separate convolution must be cheaper in tiles than without.
    """
    shape = shape_of(sums.weights)
    extents = list(map(hint, shape_of(sums.linalg_op.op.results[0])[2:]))
    steps = {by for form in sums.data.index[1:] for _, by in form.terms}
    most = target.costs.groups.most_ragged_groups
    if sums.groups > most:
        return f"it has more than {most} groups, which are no whole blocks"
    if len(shape) != 5 or len(extents) != 2 or steps != {1}:
        return "its groups are no whole blocks, and its window has no tiles"
    sizes = shape[1], sums.size, extents, shape[3:]
    if cycles_of(*sizes, target) < plain_cycles(*sizes, target):
        return None
    return "its groups are no whole blocks, and tiles of one are no cheaper"


def _following(collapse: tensor.CollapseShapeOp) -> Iterator[GenericOp]:
    """The pointwise operations after the collapse, each the only reader of the one before it.

    They read the channel that they write, or the same for all channels.
    """
    before: Operation = collapse
    while isinstance(op := before.results[0].get_user_of_unique_use(), GenericOp):
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise or linalg_op.computes_coordinates:
            return
        if linalg_op.write.axes is None or not linalg_op.may_be_rebuilt:
            return
        for access in linalg_op.reads:
            flight = access.value is before.results[0]
            if flight and access.index != linalg_op.write.index:
                return
            if not flight and _channel_of(access, linalg_op) is None:
                return
        if not isinstance(outs_of(op).owner, tensor.EmptyOp):
            return
        yield op
        before = op


def _channel_of(access: TensorAccess, linalg_op: LinalgOp) -> bool | None:
    """Whether the channel of the result indexes the first axis of an operand, and no other axis;
    None if it indexes the operand in another way.
    """
    channel = linalg_op.write.index[0].bare
    if channel is None or not access.uses(channel):
        return False
    moves = access.index[0].bare == channel
    return True if moves and not any(f.coefficient(channel) for f in access.index[1:]) else None


def _of_group(b: Builder, op: GenericOp, value: SSAValue, y: Tensor, group: int) -> Tensor:
    """A follower, applied to y, the channels of one group."""

    def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
        if access.value is value:
            return y.value
        if not _channel_of(access, linalg_op):
            return access.value
        if is_constant(access.value):
            kept = weights_of(access.value)
            places = range(group * y.shape[0], (group + 1) * y.shape[0])
            return b.weight(WeightAttr(Taken(kept, tuple(places)).weights)).value
        return _cut(b, access.value, group, y.shape[0]).value

    return part(b, op, y.shape, operand)


def _cut(b: Builder, value: SSAValue, group: int, size: int) -> Tensor:
    """The channels of one group."""
    return b.cut(tensor_of(value), 0, group * size, (group + 1) * size)
