"""Computes how much memory is free at each operation, before buffers have offsets.

The peak of a network is the most memory that is alive at once, with the arrays of the caller, and
with concats as layers make them: first the parts, then the whole. At every other operation, the
difference to the peak is free.

    %a = conv(%x)                       alive: %x, the whole of %c, of which %a is a part
    %b = relu(%a)                       in the memory of %a
    %c = concat %b %d

Memory that is alive counts with its halos, the peak without. Padding lanes do not count. This is an
estimate: `plan_memory.py` plans.

Strips of tiles are as large as this room allows. Smaller ones are taken where runs hardly notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ncc.compiler.cost_model import Memory
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import RESHAPES, is_constant
from ncc.compiler.linalg.memory.alive import alive_at
from ncc.compiler.linalg.memory.assign_buffers import element_bytes
from ncc.compiler.plan import elements_of
from ncc.dialects.element import element_of
from ncc.dialects.operation import ops_of
from ncc.dialects.size import hint

_WINDOWS = (tensor.PadOp, tensor.ExtractSliceOp, *RESHAPES)


class Room(NamedTuple):
    """Bytes at an operation.

    free: what the network needs anyway, elsewhere, beyond what is alive here.
    read, made: what of that nobody reads afterwards, and what nobody has written before.
    """

    free: int
    read: int
    made: int


def rooms(block: Block, costs: Memory) -> dict[Operation, Room]:
    """The room at each operation of a block."""
    found = _Lives(block, costs)
    return {op: found.room(op) for op in generics_of(block)}


class _Lives:
    """From which operation to which the memory of each value of a block is alive."""

    def __init__(self, block: Block, costs: Memory) -> None:
        self._homes = _homes(block)
        self._given: set[SSAValue] = set(block.args)
        self._padded: dict[SSAValue, int] = {}
        self._life: dict[SSAValue, tuple[int, int]] = {}
        self._time: dict[Operation, int] = {}
        joined = [0] * len(block.ops)
        for time, op in enumerate(block.ops):
            self._time[op] = time
            if isinstance(op, func.ReturnOp):
                self._given |= set(map(self._root, op.operands))
            for buffer in self._touched(op):
                first, _ = self._life.get(buffer, (time, time))
                self._life[buffer] = first, time
            if isinstance(op, tensor.ConcatOp):
                joined[time] = _bytes(op.results[0])
            elif isinstance(op, tensor.PadOp):
                buffer, size = self._root(op.source), _bytes(op.result)
                self._padded[buffer] = max(size, self._padded.get(buffer, 0))
        everything = self._alive({buffer: _bytes(buffer) for buffer in self._life})
        self._kept = self._alive({r: self._size(r) for r in self._life if r not in self._given})
        peak = max(map(sum, zip(everything, joined, strict=True)), default=0)
        self._allowed = int(costs.little_more * peak)

    def room(self, op: Operation) -> Room:
        """The room beside an operation."""
        time = self._time[op]
        own = [buffer for buffer in self._touched(op) if buffer not in self._given]
        results = set(map(self._root, op.results))
        return Room(
            self._allowed - self._kept[time],
            sum(self._size(r) for r in own if r not in results and self._life[r][1] == time),
            sum(self._size(r) for r in own if r in results and self._life[r][0] == time),
        )

    def _root(self, value: SSAValue) -> SSAValue:
        """The value whose memory another one lives in."""
        value = _base(value)
        return self._homes.get(value, value)

    def _touched(self, op: Operation) -> set[SSAValue]:
        """The memory that an operation reads and writes."""
        if isinstance(op, _WINDOWS):
            return set()
        values = (*op.operands, *op.results)
        return {self._root(value) for value in values if not _takes_none(value)}

    def _size(self, buffer: SSAValue) -> int:
        """Bytes of memory, with the widest halo."""
        return max(_bytes(buffer), self._padded.get(buffer, 0))

    def _alive(self, sizes: Mapping[SSAValue, int]) -> list[int]:
        """Bytes that are alive at each operation, of memory of these sizes."""
        lives = ((*self._life[buffer], size) for buffer, size in sizes.items())
        return alive_at(lives, len(self._time))


def _homes(block: Block) -> dict[SSAValue, SSAValue]:
    """In whose memory values live that concats put together, or that are overwritten in place."""
    homes: dict[SSAValue, SSAValue] = {}
    for op in reversed(ops_of(block)):
        for value in map(_base, _overwritten(op)):
            if not isinstance(value, BlockArgument) and value not in homes:
                homes[value] = homes.get(op.results[0], op.results[0])
    return homes


def _overwritten(op: Operation) -> Iterator[SSAValue]:
    """The operands that live in the memory of what op makes."""
    if isinstance(op, tensor.ConcatOp):
        yield from op.inputs
    elif isinstance(op, GenericOp):
        yield outs_of(op)
        linalg_op = LinalgOp(op)
        for access in linalg_op.reads if linalg_op.is_pointwise else ():
            here = access.index == linalg_op.write.index and access.value.has_one_use()
            if here and _bytes(access.value) == _bytes(op.results[0]):
                yield access.value
                return


def _base(value: SSAValue) -> SSAValue:
    """What a window shows a part of, or all."""
    while isinstance(value.owner, _WINDOWS):
        value = value.owner.operands[0]
    return value


def _takes_none(value: SSAValue) -> bool:
    """Whether a value needs no memory of the arena, or only says what sums start from."""
    is_tensor = isinstance(value.type, TensorType)
    return not is_tensor or is_constant(value) or isinstance(value.owner, FillOp | tensor.EmptyOp)


def _bytes(value: SSAValue) -> int:
    """For the hint, if it depends on the inputs: rooms are about costs."""
    return hint(element_bytes(element_of(value)) * elements_of(shape_of(value)))
