"""Hoists gathers of channels through operations that work channel by channel, into their operands.

    s = x[t],  d[c, p, q] += s[c, p + k, q + l] * w[c, k, l],  y = d[u]
        ->  s = x[t[u]],  y[c, p, q] += s[c, p + k, q + l] * w[u][c, k, l]

There they become part of another gather, or of constants. Gathered weights cost nothing in a run,
so that a gather behind a convolution costs nothing.

Needs: `gather-channels` and `align-channels`, before layouts are chosen.  Breaks: nothing; results
are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.block_size import blocks_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, fill_number, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, weights_of
from ncc.compiler.linalg.layout.gather_channels import gather
from ncc.compiler.linalg.rewrite.insert import doc_of, rebuilt, replace_op
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, same_view
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.derived import Taken
from ncc.dialects.weights.weight import WeightAttr


class HoistGathers(LinalgPattern["_Gather"]):
    """Gather channels where the gather is part of another one, or of constants."""

    name = "hoist-gathers"

    def match(self, op: GenericOp) -> _Gather | str | None:
        linalg_op = LinalgOp(op)
        channels = linalg_op.channels
        if channels is None:
            return None
        (source,) = linalg_op.captured
        if not isinstance(source.owner, GenericOp):
            return "it gathers from a value that is not computed"
        if not is_free(source, len(channels)):
            return "its operand mixes channels, or has other readers"
        return _Gather(op, source, tuple(channels))

    def rewrite(self, found: _Gather) -> None:
        b = Builder(Block())
        replace_op(found.op, b, _taken(b, found.source, found.channels))


class _Gather(NamedTuple):
    """A gather of channels of a value that another operation makes."""

    op: GenericOp
    source: SSAValue
    channels: tuple[int, ...]


def is_free(value: SSAValue, count: int) -> bool:
    """Whether its producer can make some channels of a value, so many of them, at no cost.

    A sum over channels would compute more of them than before.
    """
    if is_constant(value):
        return True
    match value.owner:
        case tensor.EmptyOp() | FillOp():
            return True
        case tensor.PadOp() as op:
            inside = leaves_whole(op, 0) and value.has_one_use()
            return inside and is_free(op.source, count)
        case GenericOp() as op:
            linalg_op = LinalgOp(op)
            if linalg_op.channels is not None:
                return True
            return value.has_one_use() and _is_free_of(linalg_op, count)
    return False


def _is_free_of(linalg_op: LinalgOp, count: int) -> bool:
    """The same for a computed value: its channels are a loop, and all operands allow it."""
    loop = linalg_op.write.index[0].bare if linalg_op.write.index else None
    if loop is None or not linalg_op.may_be_rebuilt:
        return False
    if linalg_op.captured or loop in linalg_op.indexed:
        return False
    if any(form.coefficient(loop) for form in linalg_op.write.index[1:]):
        return False
    by_channel = [access for access in linalg_op.reads if access.uses(loop)]
    if not all(_is_channel(access.index, loop) for access in by_channel):
        return False
    data = [access for access in by_channel if not is_constant(access.value)]
    if linalg_op.reduced and not data and blocks_of(count) > blocks_of(linalg_op.extents[loop]):
        return False
    values = [*(access.value for access in by_channel), outs_of(linalg_op.op)]
    return all(is_free(value, count) for value in values)


def _is_channel(index: Sequence[AffineForm], loop: int) -> bool:
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
            return same_view(b, op, [_taken(b, op.source, channels)])
        case GenericOp() as op:
            return _computed(b, op, channels)
    raise CompilerBug(f"channels cannot be taken of what {value.owner} makes")


def _computed(b: Builder, op: GenericOp, channels: Sequence[int]) -> Tensor:
    """The operation of some channels; of a gather, some of those that it takes."""
    linalg_op = LinalgOp(op)
    if linalg_op.channels is not None:
        (source,) = linalg_op.captured
        chosen = [linalg_op.channels[channel] for channel in channels]
        return gather(Builder(b.block, doc_of(op)), source, chosen)
    loop = linalg_op.write.index[0].bare
    operands = [
        access.value
        if loop is None or not access.uses(loop)
        else _taken(b, access.value, channels).value
        for access in linalg_op.reads
    ]
    return rebuilt(b, op, operands, _taken(b, outs_of(op), channels))
