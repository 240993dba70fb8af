"""Grouped convolutions: each group sums over its own channels, and a collapse joins the results.

y[g, o] += x[g * size + i] * w[g, o, i]
z = collapse(y)

Four passes rewrite grouped convolutions:

- part_groups.py: each group makes one channel. Groups become the axis that is in blocks.
- repeat_groups.py: each group has one channel and makes several. The channel is repeated.
- join_groups.py: groups have 2, 4 or 8 channels. Several of them become a block, with zeros in the
  weights, if tiles or whole vectors save more than the zeros cost.
- separate_groups.py: groups are few, large, and their weights together do not fit L2. Each group
  becomes a convolution. So do groups that are no whole blocks, if they are cheaper in tiles.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess
from ncc.compiler.linalg.analysis.tensors import OF_GROUPS, groups_of, is_constant, weights_of
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.weight import WeightAttr


class GroupedConvolution(NamedTuple):
    """Sums in groups with constant weights, and their initial values."""

    sums: GroupedSum
    start: SSAValue | float

    @staticmethod
    def of(op: GenericOp) -> GroupedConvolution | str | None:
        """The convolution, or why its groups stay. None for any other operation."""
        linalg_op = sums_in_groups(op)
        sums = None if linalg_op is None else GroupedSum.of(linalg_op)
        if linalg_op is None or sums is None:
            return None
        if not is_constant(sums.weights):
            return "its weights are computed"
        start = start_of(op, 2)
        if start is None or (isinstance(start, SSAValue) and not is_constant(start)):
            return "its sums start from other values than a constant bias"
        found = GroupedConvolution(sums, start)
        if found.weights.begins_with(sums.group) and linalg_op.write.begins_with(sums.group):
            return found
        return "the first axis of its weights, or of its result, is not its groups"

    @property
    def collapse(self) -> tensor.CollapseShapeOp:
        """The collapse that joins the channels of all groups."""
        return collapse_of(self.linalg_op)

    @property
    def linalg_op(self) -> LinalgOp:
        """The operation of the sums."""
        return self.sums.linalg_op

    @property
    def weights(self) -> TensorAccess:
        """How the sums read their weights."""
        return next(one for one in self.linalg_op.reads if one.value is self.sums.weights)

    def weights_of_groups(self, first: int, end: int) -> Weights:
        """The weights of groups [first, end), with the groups as first axis."""
        return _of_groups(self.sums.weights, first, end)

    def start_of_groups(self, b: Builder, first: int, end: int, shape: tuple[int, ...]) -> Tensor:
        """The initial values of the sums of groups [first, end).

        shape: that of these sums: (channels, ..) or (groups, channels, row, column).
        """
        if isinstance(self.start, float):
            return b.full(shape, self.start)
        numbers = b.weight(WeightAttr(_of_groups(self.start, first, end)))
        channels = b.collapse(numbers, [[0, 1]])
        if len(shape) < 4:
            return b.spread(channels, shape, axis=0)
        at = b.loops_of(shape)
        return b.map(at, b.expand(channels, [[0, 1]], shape[:2])[at[0], at[1]])


def _of_groups(constant: SSAValue, first: int, end: int) -> Weights:
    """Groups [first, end) of a constant, whose first axis are the groups."""
    kept = weights_of(constant)
    whole = (first, end) == (0, kept.shape[0])
    return kept if whole else Taken(kept, tuple(range(first, end))).weights


def ungrouped(b: Builder, x: Tensor) -> Tensor:
    """(groups, channels of a group, ..) as (channels, ..)."""
    return b.collapse(x, [[0, 1], *([axis] for axis in range(2, x.rank))])


def sums_in_groups(op: GenericOp) -> LinalgOp | None:
    """The sum of products in groups, if a collapse alone reads it and makes one axis of its
    channels; None for another operation.
    """
    reader = op.results[0].get_user_of_unique_use()
    if not isinstance(reader, tensor.CollapseShapeOp) or groups_of(reader) != OF_GROUPS:
        return None
    linalg_op = LinalgOp(op)
    if len(linalg_op.reads) != 2 or linalg_op.product is None or not linalg_op.may_be_rebuilt:
        return None
    return linalg_op


def collapse_of(linalg_op: LinalgOp) -> tensor.CollapseShapeOp:
    """The collapse that joins the channels of such a sum."""
    reader = linalg_op.op.results[0].get_user_of_unique_use()
    if not isinstance(reader, tensor.CollapseShapeOp):
        raise CompilerBug(f"no collapse reads {linalg_op.op.results[0]}")
    return reader
