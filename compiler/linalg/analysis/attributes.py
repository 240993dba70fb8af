"""What a `linalg.generic` says besides its loops and its body, and what rewrites must make of it.

Every attribute is read and written here, with its type. One that this file does not know means
nothing to any pass, and keeps none from its work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    f32,
    i64,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.attributes import integers

T = TypeVar("T")

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
"""The rows of a small constant matrix."""

ValidExtents: TypeAlias = tuple[tuple[int, int, int], ...]
"""Split loops (outer, inner, n): only points with outer * extent + inner < n count."""


@dataclass(frozen=True)
class TypedAttribute(Generic[T]):
    """An attribute of a computation, by its name in the IR.

    names_loops: whether it speaks of nothing but the loops, so that operands may be others.
    """

    name: str
    encode: Callable[[T], Attribute]
    decode: Callable[[Attribute], T]
    names_loops: bool = False

    def of(self, op: Operation) -> T | None:
        """What op says; None if it has no such attribute."""
        held = op.attributes.get(self.name)
        return None if held is None else self.decode(held)

    def put(self, op: Operation, value: T) -> None:
        """Let op say so."""
        op.attributes[self.name] = self.encode(value)

    def drop(self, op: Operation) -> None:
        """Let op not say so any more, if it does."""
        op.attributes.pop(self.name, None)


def _list(held: Attribute) -> ArrayAttr[Attribute]:
    if not isinstance(held, ArrayAttr):
        raise CompilerBug(f"{held} is no list")
    return held


def _numbers(held: Attribute) -> tuple[int, ...]:
    if not isinstance(held, DenseArrayBase):
        raise CompilerBug(f"{held} is no list of numbers")
    return tuple(held.get_values())


def _extents(held: Attribute) -> ValidExtents:
    rows = [[n.value.data for n in _list(row) if isinstance(n, IntegerAttr)] for row in _list(held)]
    return tuple((outer, inner, valid) for outer, inner, valid in rows)


def _extents_attribute(rows: ValidExtents) -> Attribute:
    return ArrayAttr([ArrayAttr([IntegerAttr(n, i64) for n in row]) for row in rows])


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
"""The other terms of a sum are zero; the other points of a result are never read."""

CHANNELS = TypedAttribute[tuple[int, ...]]("channels", integers, _numbers)
"""What a gather of channels takes of the tensor that it captures."""

LANES = TypedAttribute[tuple[int, ...]]("lanes", integers, _numbers)
"""The same in blocks: the number of a lane among those of all blocks."""

SEPARABLE = TypedAttribute[tuple[Matrix, Matrix]](
    "separable", lambda both: ArrayAttr(map(_matrix_attribute, both)), _matrices
)
"""The matrices m and n of a transform: the sum of m[a, k] * n[b, l] * data over k and l.

The reads of m and n come first, then the data.
"""

FACTORS = TypedAttribute[Attribute]("factors", lambda kind: kind, lambda kind: kind)
"""The type whose products it is to sum, where a choice depends on that: float32, or bfloat16 for
the products of halves.
"""

HALVES = TypedAttribute[bool]("halves", lambda _: UnitAttr(), lambda _: True)
"""It makes two halves of each value that it reads, as `SplitBf16` writes it."""

_NAMES_LOOPS = {
    one.name: one.names_loops
    for one in (VALID_EXTENTS, CHANNELS, LANES, SEPARABLE, FACTORS, HALVES)
}


def may_be_rebuilt(op: GenericOp) -> bool:
    """Whether op can be written anew without its attributes, by other loops or another body."""
    return not any(name in _NAMES_LOOPS for name in op.attributes)


def may_read_elsewhere(op: GenericOp) -> bool:
    """Whether what its attributes say stays true if op reads another value by the same loops."""
    return all(_NAMES_LOOPS.get(name, True) for name in op.attributes)
