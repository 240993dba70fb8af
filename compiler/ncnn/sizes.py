"""Whether memory has room for what a layer makes: one check for all, before any of it is made.

Values are made by the run: none has more elements than a process has addresses for. Tables of an
expansion (the elements that each place of a resized axis shows, the boxes of a PriorBox) are made
by the compiler, so that they have to fit into a part of the memory that this process may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from ncc.dialects.attributes import extents_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Layer, LayerError, Shape
from ncc.dialects.shapes import shown
from ncc.dialects.size import hint
from ncc.runtime import memory_limit

MOST_ELEMENTS = 1 << 45
"""Elements of a value: as many float32 as the 2^47 bytes have room for that x86-64 addresses."""

FEW = 1 << 20
"""Numbers of tables that any machine has room for."""

BYTES = 32
"""What a number of a table takes while it is made: several wide ones."""

PART = 2
"""Tables may take one of so many parts of memory."""


class TooLarge(LayerError):
    """Memory has no room for what a layer makes."""


def check_sizes(op: Layer, inputs: Sequence[Shape], results: Iterable[Shape]) -> None:
    """Raise `TooLarge` where there is no room for a result of a layer, or for its tables."""
    for shape in results:
        _check(shape, "the result")
    numbers = op.tables(*inputs)
    if hint(numbers) > FEW and hint(numbers) * BYTES * PART > memory_limit.at_hand():
        raise TooLarge(f"no memory holds its tables, which would be of {numbers} numbers")


def check_steps(operations: Iterable[Operation]) -> None:
    """The same of all values on the way from a layer's operands to its results."""
    for shape in _shapes(operations):
        _check(shape, "a step to the result")


def largest_step(op: Layer, operands: Sequence[TensorType]) -> int:
    """The elements of the largest value, or the numbers of the tables, of a layer on such operands.

    Raises NotImplementedError where it has no expansion, and what `check_sizes` does.
    """
    inputs = [extents_of(operand) for operand in operands]
    check_sizes(op, inputs, ())
    block = Block(arg_types=operands)
    tensors = [Tensor(*both) for both in zip(block.args, inputs, strict=True)]
    op.expand_all(Builder(block), tensors)
    return max([op.tables(*inputs), *map(prod, _shapes(block.ops))])


def _shapes(operations: Iterable[Operation]) -> Iterator[Shape]:
    """The shapes of all tensors that are made."""
    for op in operations:
        for result in op.results:
            if isinstance(kind := result.type, TensorType):
                yield extents_of(kind)


def _check(shape: Shape, what: str) -> None:
    numbers = tuple(map(hint, shape))
    if prod(numbers) >= MOST_ELEMENTS:
        raise TooLarge(f"no memory holds {what}, which would be {shown(numbers)}")
