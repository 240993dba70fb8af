"""Joins the sources of gathers instead of the gathers, and lets the readers gather from that.

    s = x[t];  z = concat(s, b);  y = z[u]      ->      z' = concat(x, b);  y = z'[u']

Where every unit of a network splits and shuffles channels, no unit then copies the channels that it
only hands on: each part stays where it was made until a layer computes with it.

Concats then hold values in the order in which the network made them. A sum reads lanes where they
lie, by a table (`linalg/fusion/read_in_place.py`); only a reader of whole vectors of channels needs
a gather.

Needs: `gather-channels`, before `hoist-gathers`.  Breaks: nothing; results are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.layout.gather_channels import gather
from ncc.compiler.linalg.layout.hoist_gathers import is_free
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.compiler.linalg.layout.packed_views import is_gathered, joins_channels
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decisions
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    erase_dead,
    move_after,
    move_before,
    replace_op,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import Choice
from ncc.dialects.index_notation import Builder
from ncc.dialects.operation import ops_of


class JoinGathers(Choice[tensor.ConcatOp, tensor.ConcatOp], CostedPass):
    """Join the sources of gathers in place of the gathers."""

    name = "join-gathers"

    def match(self, op: tensor.ConcatOp) -> tensor.ConcatOp | str | None:
        axes = PackedAxes()
        if not joins_channels(op, axes):
            return None
        gathers = [value for value in op.inputs if _gather_of(value) is not None]
        if not gathers:
            return None
        if not any(value.has_one_use() for value in gathers):
            return "others read the gathers that it joins, too"
        by_gathers = all(_reader(use.operation) for use in op.result.uses)
        if not by_gathers or not is_gathered(op.result, axes):
            return "others than gathers of channels read it"
        most = self.costs.layout.most_joined_parts
        return op if _has_few_parts(op, most) else f"its parts would be more than {most}"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        joined = False
        for one in ops_of(block):
            if isinstance(one, tensor.ConcatOp) and self.decide(one, decisions) is not None:
                _join(one)
                joined = True
        if joined:
            erase_dead(block)
            _sort_parts(block)
            erase_dead(block)


def _gather_of(value: SSAValue) -> LinalgOp | None:
    """The gather that makes a value."""
    owner = value.owner
    linalg_op = LinalgOp(owner) if isinstance(owner, GenericOp) else None
    return linalg_op if linalg_op is not None and linalg_op.channels is not None else None


def _reader(extract: object) -> GenericOp | None:
    """The operation that an element is read in."""
    op = extract.parent_op() if isinstance(extract, tensor.ExtractOp) else None
    return op if isinstance(op, GenericOp) else None


def _has_few_parts(op: tensor.ConcatOp, most: int) -> bool:
    """Whether a concat would join few values.

    A concat among them has at least one part, and may hold all concats before it: the search ends
    as soon as there are too many.
    """
    count, waiting = 0, _joined(op)
    while waiting and count + len(waiting) <= most:
        owner = waiting.pop().owner
        if isinstance(owner, tensor.ConcatOp):
            waiting += _joined(owner)
        else:
            count += 1
    return not waiting


def _joined(op: tensor.ConcatOp) -> list[SSAValue]:
    """The values that a concat joins, or the sources of those that are gathers."""
    sources = [_gather_of(value) for value in op.inputs]
    return [
        value if source is None else source.captured[0]
        for value, source in zip(op.inputs, sources, strict=True)
    ]


def _join(op: tensor.ConcatOp) -> None:
    """Join the sources of gathers, and let the readers gather from that."""
    values: list[SSAValue] = []
    new: list[int] = []
    first = 0
    for value in op.inputs:
        source = _gather_of(value) if value.has_one_use() else None
        if source is None or source.channels is None:
            channels, made = tuple(range(shape_of(value)[0])), value
        else:
            channels, (made,) = source.channels, source.captured
        values.append(made)
        new += [first + channel for channel in channels]
        first += shape_of(made)[0]
    b = Builder(Block())
    concat_op = b.concat([tensor_of(value) for value in values], 0).value
    concat_op.name_hint = op.result.name_hint
    move_after(b, op.result)
    for reader in _gathers_of(op.result):
        _gather_anew(reader, concat_op, [new[channel] for channel in _channels(reader)])


def _gathers_of(value: SSAValue) -> list[GenericOp]:
    """The operations that read a value at computed indices."""
    found = dict.fromkeys(_reader(use.operation) for use in value.uses)
    return [reader for reader in found if reader is not None]


def _channels(op: GenericOp) -> tuple[int, ...]:
    """The channels that a gather takes."""
    channels = LinalgOp(op).channels
    if channels is None:
        raise CompilerBug("no gather of channels")
    return channels


def _gather_anew(op: GenericOp, value: SSAValue, channels: Sequence[int]) -> None:
    """Put a gather of other channels in place of one."""
    b = builder_for(op)
    replace_op(op, b, gather(b, value, channels))


# --- the order of channels --------------------------------------------------------------------


def _sort_parts(block: Block) -> None:
    """Make the channels of parts in the order in which readers take them.

    The channels of one gather then lie side by side. It costs nothing where weights of a sum change
    their order.
    """
    taken: dict[GenericOp, list[int]] = {}
    for op in ops_of(block):
        axes = PackedAxes()
        if (
            isinstance(op, tensor.ConcatOp)
            and joins_channels(op, axes)
            and is_gathered(op.result, axes)
        ):
            first = 0
            for position, value in enumerate(op.inputs):
                count = shape_of(value)[0]
                _sort_part(op, position, list(_reads(op.result, first)), taken)
                first += count
    for reader, channels in taken.items():
        (source,) = LinalgOp(reader).captured
        _gather_anew(reader, source, channels)


def _reads(concat_op: SSAValue, first: int) -> Iterator[tuple[GenericOp, int]]:
    """The gathers from a concat, and from concats that it is part of, each with the index of this
    one's channel `first` there.
    """
    for reader in _gathers_of(concat_op):
        yield reader, first
    for use in concat_op.uses:
        if isinstance(use.operation, tensor.ConcatOp):
            before = use.operation.inputs[: use.index]
            yield from _reads(use.operation.result, first + sum(shape_of(v)[0] for v in before))


def _sort_part(
    op: tensor.ConcatOp,
    position: int,
    reads: Sequence[tuple[GenericOp, int]],
    taken: dict[GenericOp, list[int]],
) -> None:
    """Sort the channels of one part by their first reader, and note what readers take instead."""
    value = op.inputs[position]
    count = shape_of(value)[0]
    if not is_free(value, count) or is_constant(value):
        return
    first_taken: dict[int, int] = {}
    for reader, first in reads:
        for channel in taken.get(reader, _channels(reader)):
            if first <= channel < first + count:
                first_taken.setdefault(channel - first, len(first_taken))
    order = sorted(range(count), key=lambda channel: first_taken.get(channel, count))
    if order == list(range(count)):
        return
    moved_to = {channel: new for new, channel in enumerate(order)}
    for reader, first in reads:
        channels = taken.get(reader, _channels(reader))
        inside = range(first, first + count)
        taken[reader] = [first + moved_to[c - first] if c in inside else c for c in channels]
    b = Builder(Block())
    op.operands[position] = gather(b, value, order).value
    move_before(b, op)
