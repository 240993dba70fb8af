"""Moves the taps of constant weights outside of the inputs, where the run leaves taps out.

    y += x[i, p + k, q + m] * w[o, i, first + k, ..]    ->    .. * t[o, first + k, .., i]

t has the numbers of w. Those of one tap lie side by side for all inputs. A small image waits for
its weights: hardware prefetchers follow the long run of a tap; between the short ones of each block
of inputs, they would have to find the next one again.

The three products of bf16x3 (`data_types/split_bf16.py`) read the same parts of their weights. On
matrix tiles, taps stay the innermost loops: so weights move only if they come from beyond L2,
where their new strides take no time.

Needs: `skip-border-taps` in front of it, whose parts of weights the run tells. Passes that take
weights for constants run before.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, weights_of
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.insert import move_before, read_instead
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import is_open
from ncc.dialects.structured import offsets_of
from ncc.dialects.weights.derived import Transposed
from ncc.dialects.weights.weight import WeightAttr

BF16_BYTES = 2
"""Bytes of a bfloat16."""


class _Weights(NamedTuple):
    """The weights of a convolution, and the order in which their axes are to be."""

    op: GenericOp
    weights: TensorAccess
    order: list[int]


class MoveTapsOutside(LinalgPattern[_Weights], TargetPass):
    """Let the weights of a tap lie side by side."""

    name = "move-taps-outside"

    def match(self, op: GenericOp) -> _Weights | str | None:
        linalg_op = LinalgOp(op)
        dims = ConvolutionDims.of(linalg_op, next(iter(linalg_op.products), None))
        if dims is None or not dims.input_channel:
            return None
        weights, inputs = dims.filter, set(dims.input_channel)
        taps = {window.axis for window in dims.windows if window and window.axis is not None}
        if not is_open(*(shape_of(weights.value)[axis] for axis in taps)):
            return None
        if not is_constant(_whole(weights.value)):
            return "its weights are computed"
        if len(linalg_op.products) > 1 and self._stay_in_l2(_whole(weights.value)):
            return "its weights stay in L2"
        axes = range(len(weights.index))
        first = min(k for k in axes if weights.index[k].loops() & inputs)
        order = sorted(axes, key=lambda k: (first, False) if k in taps else (k, True))
        return _Weights(op, weights, order)

    def _stay_in_l2(self, weights: SSAValue) -> bool:
        """Whether weights of bfloat16 leave room for what else is in the second-level cache."""
        room = self.target.costs.tiles.l2_share * self.target.core.l2_bytes
        return BF16_BYTES * prod(shape_of(weights)) <= room

    def rewrite(self, found: _Weights) -> None:
        op, weights, order = found
        b = Builder(Block())
        moved = _in_order(b, weights.value, order)
        move_before(b, op)
        for position, access in enumerate(LinalgOp(op).reads):
            if access.value is weights.value:
                read_instead(op, position, moved.value, [access.index[k] for k in order])


def _whole(value: SSAValue) -> SSAValue:
    """The value of which a value is a part, as that of a sum in parts."""
    owner = value.owner
    return _whole(owner.source) if isinstance(owner, tensor.ExtractSliceOp) else value


def _in_order(b: Builder, value: SSAValue, order: Sequence[int]) -> Tensor:
    """A constant, or a part of one, with its axes in an order."""
    owner = value.owner
    if isinstance(owner, tensor.ExtractSliceOp):
        begin, size = offsets_of(owner), shape_of(value)
        whole = _in_order(b, owner.source, order)
        return b.slice(whole, [begin[k] for k in order], [size[k] for k in order])
    return b.weight(WeightAttr(Transposed(weights_of(value), tuple(order)).weights))
