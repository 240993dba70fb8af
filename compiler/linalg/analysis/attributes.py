"""The attributes of a `linalg.generic` that passes read and write, with their types.

Passes ignore attributes that this file does not list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, UnitAttr, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.attributes import integer, integers, values_of

T = TypeVar("T")

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
"""The rows of a small constant matrix."""

ValidExtents: TypeAlias = tuple[tuple[int, int, int], ...]
"""Split loops (outer, inner, n): only iterations with outer * extent + inner < n count."""


@dataclass(frozen=True)
class TypedAttribute(Generic[T]):
    """An attribute of a generic, by its name in the IR.

    names_loops: whether it describes the loops alone, and stays true for other operands.
    """

    name: str
    encode: Callable[[T], Attribute]
    decode: Callable[[Attribute], T]
    names_loops: bool = False

    def of(self, op: Operation) -> T | None:
        """The value that op has; None if op lacks the attribute."""
        held = op.attributes.get(self.name)
        return None if held is None else self.decode(held)

    def put(self, op: Operation, value: T) -> None:
        """Set the attribute of op."""
        op.attributes[self.name] = self.encode(value)

    def drop(self, op: Operation) -> None:
        """Remove the attribute of op, if it has one."""
        op.attributes.pop(self.name, None)


def _list(held: Attribute) -> ArrayAttr[Attribute]:
    if not isinstance(held, ArrayAttr):
        raise CompilerBug(f"{held} is no list")
    return held


def _numbers(held: Attribute) -> tuple[int, ...]:
    if not isinstance(held, DenseArrayBase):
        raise CompilerBug(f"{held} is no list of numbers")
    return tuple(values_of(held))


def _sizes(held: Attribute) -> tuple[int, ...]:
    return tuple(values_of(held)) if isinstance(held, ArrayAttr) else _numbers(held)


def _extents(held: Attribute) -> ValidExtents:
    rows = [values_of(row) for row in _list(held)]
    return tuple((outer, inner, valid) for outer, inner, valid in rows)


def _extents_attribute(rows: ValidExtents) -> Attribute:
    return ArrayAttr([ArrayAttr([integer(n) for n in row]) for row in rows])


def _matrix(held: Attribute) -> Matrix:
    rows = map(_list, _list(held))
    return tuple(tuple(n.value.data for n in row if isinstance(n, FloatAttr)) for row in rows)


@cache
def _matrix_attribute(matrix: Matrix) -> Attribute:
    """A matrix of a form as an attribute. There are few, and every convolution has two."""
    return ArrayAttr([ArrayAttr([FloatAttr(number, f32) for number in row]) for row in matrix])


def _matrices(held: Attribute) -> tuple[Matrix, Matrix]:
    rows, columns = map(_matrix, _list(held))
    return rows, columns


VALID_EXTENTS = TypedAttribute[ValidExtents](
    "valid_extents", _extents_attribute, _extents, names_loops=True
)
"""The other terms of a sum are zero, or nobody reads the other elements of a result."""

CHANNELS = TypedAttribute[tuple[int, ...]]("channels", integers, _numbers)
"""The channels that a gather takes from the tensor that it captures."""

LANES = TypedAttribute[tuple[int, ...]]("lanes", integers, _numbers)
"""The same in blocks: a lane's number among the lanes of all blocks."""

SEPARABLE = TypedAttribute[tuple[Matrix, Matrix]](
    "separable", lambda both: ArrayAttr(map(_matrix_attribute, both)), _matrices
)
"""The matrices m and n of a transform: the sum of m[a, k] * n[b, l] * data over k and l.

The reads of m and n come first, then the data.
"""

FACTORS = TypedAttribute[Attribute]("factors", lambda kind: kind, lambda kind: kind)
"""The type of the products of a sum, if an earlier pass has chosen it: float32, or bfloat16 for
products of bf16 pairs.
"""

BF16_SPLIT = TypedAttribute[bool]("bf16_split", lambda _: UnitAttr(), lambda _: True)
"""It splits each value into two bf16 numbers, as `SplitBf16` writes it."""

TILE = TypedAttribute[tuple[int, ...]]("tile", integers, _sizes, names_loops=True)
"""A loop, and how many of its iterations run at a time, together with the operations behind it."""

_NAMES_LOOPS = {
    one.name: one.names_loops
    for one in (VALID_EXTENTS, CHANNELS, LANES, SEPARABLE, FACTORS, BF16_SPLIT, TILE)
}


def may_be_rebuilt(op: GenericOp) -> bool:
    """Whether op keeps its meaning without attributes, with other loops or another body."""
    return not any(name in _NAMES_LOOPS for name in op.attributes)


def may_read_elsewhere(op: GenericOp) -> bool:
    """Whether the attributes stay true if op reads another value in the same loops."""
    return all(_NAMES_LOOPS.get(name, True) for name in op.attributes)
