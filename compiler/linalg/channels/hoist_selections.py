"""Selections of channels hoisted through what works channel by channel, into what it reads.

    s = x[t],  d[c, p, q] += s[c, p + k, q + l] * w[c, k, l],  y = d[u]
        ->  s = x[t[u]],  y[c, p, q] += s[c, p + k, q + l] * w[u][c, k, l]

There they become part of another selection, or of constants: other numbers in the blob, so that
behind the outputs of a convolution they cost nothing.

Needs: `select_channels` and `align_channels`, before layouts are chosen.  Breaks: nothing; results
are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.channels.block_size import blocks_of
from ncc.compiler.linalg.channels.select_channels import select
from ncc.compiler.linalg.computation_pass import ComputationPass
from ncc.compiler.linalg.insert import doc_of, put_for, recomputed
from ncc.compiler.linalg.linear import Linear
from ncc.compiler.linalg.tensors import is_constant, pad_sides, pad_value, weights_of
from ncc.compiler.linalg.view import View, fill_number, outs_of, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.weight import WeightAttr


@dataclass(frozen=True)
class HoistSelections(ComputationPass):
    """Select where that is part of another selection, or of constants."""

    name = "hoist-selections"

    def rewrite(self, op: GenericOp) -> None:
        view = View(op)
        channels = view.channels
        if channels is None:
            return
        (source,) = view.captured
        if isinstance(source.owner, GenericOp) and is_free(source, len(channels)):
            b = Builder(Block())
            put_for(op, b, _taken(b, source, channels))


def is_free(value: SSAValue, count: int) -> bool:
    """Whether so many channels of a value can be taken where it is made, at no cost.

    A sum over channels would compute more of them than before.
    """
    if is_constant(value):
        return True
    match value.owner:
        case tensor.EmptyOp() | FillOp():
            return True
        case tensor.PadOp() as op:
            low, high = pad_sides(op)
            inside = not low[0] and not high[0]
            return inside and value.has_one_use() and is_free(op.source, count)
        case GenericOp() as op:
            view = View(op)
            if view.channels is not None:
                return True
            return value.has_one_use() and _is_free_of(view, count)
    return False


def _is_free_of(view: View, count: int) -> bool:
    """The same for what a computation makes: its channels are a loop, all operands allow it."""
    loop = view.write.index[0].bare if view.write.index else None
    if loop is None or view.captured or loop in view.indexed or view.op.attributes:
        return False
    if any(form.coefficient(loop) for form in view.write.index[1:]):
        return False
    by_channel = [access for access in view.reads if access.uses(loop)]
    if not all(_is_channel(access.index, loop) for access in by_channel):
        return False
    data = [access for access in by_channel if not is_constant(access.value)]
    if view.reduced and not data and blocks_of(count) > blocks_of(view.extents[loop]):
        return False
    values = [*(access.value for access in by_channel), outs_of(view.op)]
    return all(is_free(value, count) for value in values)


def _is_channel(index: Sequence[Linear], loop: int) -> bool:
    """Whether the loop is the first axis, and no part of others."""
    first, *rest = index
    return first.bare == loop and not any(form.coefficient(loop) for form in rest)


def _taken(b: Builder, value: SSAValue, channels: Sequence[int]) -> Tensor:
    """Some channels of a value, at no cost: `is_free` holds."""
    shape = (len(channels), *shape_of(value)[1:])
    if is_constant(value):
        return b.weight(WeightAttr(Taken(weights_of(value), tuple(channels)).weights))
    match value.owner:
        case tensor.EmptyOp():
            return b.empty(shape, element_of(value))
        case FillOp() as op:
            return b.full(shape, fill_number(op), element_of(value))
        case tensor.PadOp() as op:
            return b.pad(_taken(b, op.source, channels), *pad_sides(op), pad_value(op))
        case GenericOp() as op:
            return _computed(b, op, channels)
    raise CompilerBug(f"channels cannot be taken of what {value.owner} makes")


def _computed(b: Builder, op: GenericOp, channels: Sequence[int]) -> Tensor:
    """The computation of some channels; of a selection, some of what it selects."""
    view = View(op)
    if view.channels is not None:
        (source,) = view.captured
        chosen = [view.channels[channel] for channel in channels]
        return select(Builder(b.block, doc_of(op)), source, chosen)
    loop = view.write.index[0].bare
    operands = [
        access.value
        if loop is None or not access.uses(loop)
        else _taken(b, access.value, channels).value
        for access in view.reads
    ]
    return recomputed(b, op, operands, _taken(b, outs_of(op), channels))
