"""The operands of a `linalg.generic` as numpy arrays over its loops.

Maps are linear, so the element an operand gives at each point of the loop space is a strided view
of the operand: one axis a loop, of extent 1 where the operand does not depend on that loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from operator import mul
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.weights.sources import Array

Window: TypeAlias = tuple[tuple[int, int], ...]
"""A box of the loop space: first and last (exclusive) value of each loop."""


@dataclass(frozen=True)
class LoopViews:
    """The loop space of a generic: extents, and a matrix of coefficients for each operand.

    Row k of a matrix holds index k of the operand: one coefficient a loop, then the constant.
    """

    extents: tuple[int, ...]
    parallel: tuple[int, ...]
    reduced: tuple[int, ...]
    matrices: tuple[NDArray[np.int64], ...]

    @staticmethod
    def of(op: GenericOp, shapes: Sequence[tuple[int, ...]]) -> LoopViews:
        """The loop space of `op` on operands of these shapes.

        Raises `CompilerBug` where a map is not linear, extents disagree or a map leaves a tensor.
        """
        matrices = tuple(_matrix(attribute.data) for attribute in op.indexing_maps)
        kinds = [kind.data for kind in op.iterator_types]
        extents = _extents(op, matrices, shapes, len(kinds))
        for matrix, shape in zip(matrices, shapes, strict=True):
            _check_inside(op, matrix, shape, extents)
        return LoopViews(
            extents,
            tuple(d for d, kind in enumerate(kinds) if kind is IteratorType.PARALLEL),
            tuple(d for d, kind in enumerate(kinds) if kind is IteratorType.REDUCTION),
            matrices,
        )

    def points(self, loops: Sequence[int]) -> int:
        """The number of points of some of the loops."""
        return prod(self.extents[d] for d in loops)

    def used(self, operand: int) -> list[int]:
        """The loops that an operand depends on."""
        return [d for d in range(len(self.extents)) if any(row[d] for row in self._rows[operand])]

    @cached_property
    def _rows(self) -> list[list[list[int]]]:
        """The rows of the matrices, as numbers of Python."""
        return [matrix.tolist() for matrix in self.matrices]

    def whole(self) -> Window:
        return tuple((0, extent) for extent in self.extents)

    def over_loops(self, arrays: Sequence[Array]) -> list[Array]:
        """What each operand gives over all loops, without a copy; the last one can be written."""
        last = len(arrays) - 1
        return [self._view(k, array, writeable=k == last) for k, array in enumerate(arrays)]

    def _view(self, operand: int, array: Array, writeable: bool) -> Array:
        rows = self._rows[operand]
        moves = list(zip(*rows, strict=True))[:-1] if rows else [()] * len(self.extents)
        corner = array[tuple(slice(row[-1], None) for row in rows)]
        shape = [extent if any(m) else 1 for m, extent in zip(moves, self.extents, strict=True)]
        strides = [sum(map(mul, move, array.strides)) for move in moves]
        return as_strided(corner, shape, strides, writeable=writeable)

    def target(self, result: Array, window: Window) -> Array:
        """Where the results of a window go: a part of the last operand over the loops."""
        for loop in self.parallel:
            if result.shape[loop] != self.extents[loop]:
                raise CompilerBug(f"the result of a linalg.generic does not use its loop d{loop}")
        return part(result, window)

    def split(self, loops: Sequence[int], parts: int) -> Iterator[Window]:
        """The loop space in about `parts` windows, cut along the longest of `loops`."""
        if parts <= 1 or not loops:
            yield self.whole()
            return
        longest = max(loops, key=lambda d: self.extents[d])
        extent = self.extents[longest]
        step = max(1, extent // parts)
        for start in range(0, extent, step):
            window = list(self.whole())
            window[longest] = (start, min(start + step, extent))
            yield tuple(window)

    def steps(self, loops: Sequence[int], window: Window) -> Iterator[Window]:
        """One window for each point of some of the loops."""
        for point in product(*(range(*window[d]) for d in loops)):
            step = list(window)
            for d, at in zip(loops, point, strict=True):
                step[d] = (at, at + 1)
            yield tuple(step)


def part(operand: Array, window: Window) -> Array:
    """What an operand over the loops gives over a window of them, without a copy."""
    ends = zip(operand.shape, window, strict=True)
    return operand[(..., *(slice(*of) if extent > 1 else slice(None) for extent, of in ends))]


def _matrix(map: AffineMap) -> NDArray[np.int64]:
    rows = [linear(expr, map.num_dims) for expr in map.results]
    return np.array(rows, np.int64).reshape(len(rows), map.num_dims + 1)


@lru_cache(maxsize=4096)
def linear(expr: AffineExpr, loops: int) -> tuple[int, ...]:
    """The coefficients of an index, one a loop, and its constant behind them."""
    match expr:
        case AffineDimExpr():
            return tuple(int(d == expr.position) for d in range(loops + 1))
        case AffineConstantExpr():
            return (0,) * loops + (expr.value,)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            pairs = zip(linear(lhs, loops), linear(rhs, loops), strict=True)
            return tuple(a + b for a, b in pairs)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, AffineConstantExpr() as factor):
            return tuple(a * factor.value for a in linear(lhs, loops))
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, AffineConstantExpr() as factor, rhs):
            return tuple(a * factor.value for a in linear(rhs, loops))
        case _:
            raise CompilerBug(f"the index {expr} is not linear")


def _extents(
    op: GenericOp,
    matrices: Sequence[NDArray[Any]],
    shapes: Sequence[tuple[int, ...]],
    loops: int,
) -> tuple[int, ...]:
    extents: list[int | None] = [None] * loops
    for matrix, shape in zip(matrices, shapes, strict=True):
        for row, extent in zip(matrix.tolist(), shape, strict=True):
            if sum(map(abs, row)) == 1 and row.count(1) == 1 and row[-1] == 0:
                loop = row.index(1)
                if extents[loop] not in (None, extent):
                    raise CompilerBug(
                        f"{_name(op)}: loop d{loop} runs over {extents[loop]} and over {extent}"
                    )
                extents[loop] = extent
    known = tuple(extent for extent in extents if extent is not None)
    if len(known) != loops:
        raise CompilerBug(f"{_name(op)}: no operand shows the extent of loop {extents.index(None)}")
    return known


def _check_inside(
    op: GenericOp, matrix: NDArray[Any], shape: tuple[int, ...], extents: tuple[int, ...]
) -> None:
    if not all(extents):
        return
    reach = matrix[:, :-1] * (np.array(extents, np.int64) - 1)
    least = np.minimum(reach, 0).sum(axis=1) + matrix[:, -1]
    most = np.maximum(reach, 0).sum(axis=1) + matrix[:, -1]
    for axis, (low, high, extent) in enumerate(zip(least, most, shape, strict=True)):
        if low < 0 or high >= extent:
            raise CompilerBug(
                f"{_name(op)}: axis {axis} of extent {extent} is read from {low} to {high}"
            )


def _name(op: GenericOp) -> str:
    return f"linalg.generic of {op.doc.data!r}" if op.doc is not None else "linalg.generic"
