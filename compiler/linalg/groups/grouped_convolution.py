"""Grouped convolutions: each group sums over channels of its own, a collapse joins what they make.

y[g, o] += x[g * size + i] * w[g, o, i]
z = collapse(y)

What becomes of a grouped convolution depends on its groups:

part_groups.py makes blocks of groups where a group makes one channel. repeat_groups.py repeats a
channel that is a group of its own and makes several. join_groups.py joins groups of 2, 4 or 8
channels into a block, with zeros in their weights, where tiles or whole vectors win more than the
zeros cost. separate_groups.py makes a convolution of each group where groups are few and large and
their weights together leave L2, or where they are ragged, because tiles can compute them only in
that way.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess
from ncc.compiler.linalg.analysis.tensors import OF_GROUPS, groups_of, is_constant, weights_of
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.rewrite.decisions import Decision, Decisions, ExplainedPass
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum
from ncc.compiler.linalg.rewrite.insert import doc_of, erase_dead
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.operation import ops_of
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.weight import WeightAttr


@dataclass(frozen=True)
class GroupedConvolution:
    """Such sums with constant weights, what joins their channels, and what they start from."""

    concat_op: tensor.CollapseShapeOp
    sums: GroupedSum
    start: SSAValue | float

    @staticmethod
    def of(concat_op: tensor.CollapseShapeOp) -> GroupedConvolution | None:
        """What the concat stands behind, if it is such a convolution."""
        linalg_op = sums_in_groups(concat_op)
        sums = None if linalg_op is None else GroupedSum.of(linalg_op)
        if linalg_op is None or sums is None or not is_constant(sums.weights):
            return None
        start = start_of(linalg_op.op, 2)
        if start is None or (isinstance(start, SSAValue) and not is_constant(start)):
            return None
        found = GroupedConvolution(concat_op, sums, start)
        by_group = found.weights.begins_with(sums.group) and linalg_op.write.begins_with(sums.group)
        return found if by_group else None

    @property
    def linalg_op(self) -> LinalgOp:
        """The computation of the sums."""
        return self.sums.linalg_op

    @property
    def weights(self) -> TensorAccess:
        """How the sums read their weights."""
        return next(one for one in self.linalg_op.reads if one.value is self.sums.weights)

    def weights_of_groups(self, first: int, end: int) -> Weights:
        """The weights of some of the groups, these as the first axis."""
        return _of_groups(self.sums.weights, first, end)

    def start_of_groups(self, b: Builder, first: int, end: int, shape: tuple[int, ...]) -> Tensor:
        """What the sums of some of the groups start from.

        shape: what these sums have, (channels, ..), or (groups, channels, row, column) where their
        channels are two axes.
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
    """What a constant holds of some groups, its first axis."""
    kept = weights_of(constant)
    whole = (first, end) == (0, kept.shape[0])
    return kept if whole else Taken(kept, tuple(range(first, end))).weights


def ungrouped(b: Builder, x: Tensor) -> Tensor:
    """(groups, channels of one, ..) as (channels of all, ..)."""
    return b.collapse(x, [[0, 1], *([axis] for axis in range(2, x.rank))])


class Rewriting(Protocol):
    """A convolution in groups that is to be written anew."""

    def rewrite(self) -> None:
        """Put other computations in its place."""


@dataclass(frozen=True)
class GroupPass(ExplainedPass):
    """Rewrites convolutions in groups, and erases what nobody reads then.

    All are found before the first is rewritten: what that puts there is not looked at.
    """

    @abstractmethod
    def find(self, concat_op: tensor.CollapseShapeOp) -> Rewriting | str | None:
        """The convolution whose channels a collapse joins, or why it stays; None for another kind
        of computation.
        """

    def run(self, block: Block, decisions: Decisions | None) -> None:
        found: list[Rewriting] = []
        for concat_op in ops_of(block):
            if isinstance(concat_op, tensor.CollapseShapeOp):
                one = self.find(concat_op)
                if one is not None and decisions is not None:
                    decisions.append(self._decision(concat_op, one))
                if one is not None and not isinstance(one, str):
                    found.append(one)
        for one in found:
            one.rewrite()
        if found:
            erase_dead(block)

    def _decision(self, concat_op: tensor.CollapseShapeOp, found: Rewriting | str) -> Decision:
        op = concat_op.src.owner
        layers = doc_of(op) if isinstance(op, GenericOp) else ""
        return Decision(
            self.name, layers, *((False, found) if isinstance(found, str) else (True, ""))
        )


def sums_in_groups(concat_op: tensor.CollapseShapeOp) -> LinalgOp | None:
    """The sum of products in groups whose channels the concat, which alone reads it, makes one
    axis; None where it is none of two operands.
    """
    op = concat_op.src.owner
    if not isinstance(op, GenericOp) or groups_of(concat_op) != OF_GROUPS:
        return None
    linalg_op = LinalgOp(op)
    alone = concat_op.src.has_one_use() and linalg_op.may_be_rebuilt
    whole = alone and len(linalg_op.reads) == 2
    return linalg_op if whole and linalg_op.product is not None else None
