"""Moves the taps of constant weights outside of the inputs, where the run leaves taps out.

    y += x[i, p + k, q + m] * w[o, i, first + k, ..]    ->    .. * t[o, first + k, .., i]

t has the numbers of w. Those of one tap lie side by side for all inputs. A small image waits for
its weights: hardware prefetchers follow the long run of a tap; between the short ones of each block
of inputs, they would have to find the next one again.

Sums of larger images that transform these weights read the same t, which the file has once. They
read all taps of a few inputs at a time. Taps that are a multiple of 4 KB apart compete for the same
sets of L1; t has one block of inputs more then, which nothing reads.

The three products of bf16x3 (`data_types/split_bf16.py`) read the same parts of their weights. On
matrix tiles, taps stay the innermost loops, and pieces of weights lie apart: so these weights move
only if they come from beyond L2, which takes longer.

Needs: `skip-border-taps` in front of it, whose parts of weights the run tells. Passes that take
weights for constants run before.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.builtin import bf16
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims
from ncc.compiler.linalg.analysis.generics import generics_of, with_bodies
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, weights_of
from ncc.compiler.linalg.rewrite.decisions import Decisions, TargetPass
from ncc.compiler.linalg.rewrite.insert import erase_dead, move_before, read_instead, replace_op
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.target import L1_WAY
from ncc.dialects.element import bits_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import is_open
from ncc.dialects.structured import offsets_of
from ncc.dialects.weights.derived import Taken, Transposed
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.weight import ConstantOp, WeightAttr


class _Weights(NamedTuple):
    """The weights of a sum, their axes of taps, and the first one of inputs."""

    op: GenericOp
    weights: TensorAccess
    taps: Set[int]
    inputs: int

    @staticmethod
    def of(op: GenericOp, weights: TensorAccess, taps: Set[int], inputs: Set[int]) -> _Weights:
        """inputs: the loops over them."""
        axes = (axis for axis, form in enumerate(weights.index) if form.loops() & inputs)
        return _Weights(op, weights, taps, min(axes))

    @property
    def order(self) -> list[int]:
        """The order in which the axes are to be."""

        def place(axis: int) -> tuple[int, bool]:
            return (self.inputs, False) if axis in self.taps else (axis, True)

        return sorted(range(len(self.weights.index)), key=place)


class MoveTapsOutside(LinalgPattern[_Weights], TargetPass):
    """Let the weights of a tap lie side by side."""

    name = "move-taps-outside"

    def match(self, op: GenericOp) -> _Weights | str | None:
        if not is_open(*shape_of(op.results[0])):
            return None
        linalg_op = LinalgOp(op)
        found = _with_fewer_taps(linalg_op) or _transformed(linalg_op)
        if found is not None and not is_constant(_whole(found.weights.value)):
            return "its weights are computed"
        if found is not None and len(linalg_op.products) > 1 and self._stay_in_l2(found.weights):
            return "its weights stay in L2"
        return found

    def _stay_in_l2(self, weights: TensorAccess) -> bool:
        """Whether the second-level cache holds weights of bfloat16, beside what else is in it."""
        elements = prod(shape_of(_whole(weights.value)))
        return bits_of(bf16) // 8 * elements <= self.target.l2_room

    def rewrite(self, found: _Weights) -> None:
        op, weights, order = found.op, found.weights, found.order
        b = Builder(Block())
        moved = _in_order(b, weights.value, order)
        move_before(b, op)
        for position, access in enumerate(LinalgOp(op).reads):
            if access.value is weights.value:
                read_instead(op, position, moved.value, [access.index[k] for k in order])

    def run(self, block: Block, decisions: Decisions | None) -> None:
        super().run(block, decisions)
        _keep_apart(block)
        erase_dead(block)


def _with_fewer_taps(linalg_op: LinalgOp) -> _Weights | None:
    """The weights of a convolution whose taps the run tells."""
    dims = ConvolutionDims.of(linalg_op, next(iter(linalg_op.products), None))
    if dims is None or not dims.input_channel:
        return None
    taps = {window.axis for window in dims.windows if window and window.axis is not None}
    if not is_open(*(shape_of(dims.filter.value)[axis] for axis in taps)):
        return None
    return _Weights.of(linalg_op.op, dims.filter, taps, set(dims.input_channel))


def _transformed(linalg_op: LinalgOp) -> _Weights | None:
    """The weights that a sum transforms for as many tiles as the run tells (`winograd.py`)."""
    if linalg_op.separable is None or len(linalg_op.reads) != 4:
        return None
    rows, columns, weights, data = linalg_op.reads
    of_taps = rows.loops() | columns.loops()
    taps = {axis for axis, form in enumerate(weights.index) if form.loops() & of_taps}
    return _Weights.of(linalg_op.op, weights, taps, data.loops() & set(linalg_op.reduced))


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


def _keep_apart(block: Block) -> None:
    """Put one more block of inputs between taps that compete for sets of L1, if a sum transforms
    them, for all that read the same weights.
    """
    apart: dict[WeightAttr, Weights] = {}
    for op in generics_of(block):
        found = _transformed(LinalgOp(op))
        constant = found.weights.value.owner if found else None
        if found is None or not isinstance(constant, ConstantOp):
            continue
        moved, axis = constant.value.data, found.inputs
        is_outside = max(found.taps) < axis
        if is_outside and moved.dtype.itemsize * prod(moved.shape[axis:]) % L1_WAY == 0:
            blocks = moved.shape[axis]
            apart[constant.value] = Taken(moved, (*range(blocks), blocks - 1), axis).weights
    for constant in with_bodies(block):
        if isinstance(constant, ConstantOp) and constant.value in apart:
            b, shape = Builder(Block()), constant.value.data.shape
            whole = b.weight(WeightAttr(apart[constant.value]))
            replace_op(constant, b, b.slice(whole, [0] * len(shape), shape))
