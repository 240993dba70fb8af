"""Stores weights that one vector is multiplied with as fixed-point numbers of two and a half bytes.

    y[o] += x[k] * w[o, k]    ->    z[o] = sum over k of x[k] * fraction v[o, k]
                                    y[o] += z[o] * s[o]

s[o] is the least power of two that is larger than every w[o, k]. The fraction is w[o, k] / s[o],
rounded to 20 bits (`ncc.dialects.fixed_point`), or to 24 where rows are uneven or their lanes no
blocks. A run reads such a matrix once, from memory or from a cache that is far away. Fewer bytes
come in less time, and registers make float32 of them while the next ones are on their way.

Such a sum takes as long as memory takes to deliver the weights. Floats of three bytes would lose as
much as bf16x3 does, in addition to that; fractions of the largest weight of a row lose less.
Sixteen 20-bit fractions are forty bytes. A permutation, a shift and a mask make of them the upper
bits of numbers from 2.0 to 4.0. A conversion from integers would take one more product, and then
two threads of a core would wait for arithmetic instead of memory.

Needs: the linalg level before groups, constants in blocks.  Breaks: each product loses 2**-20 of
x[k] s[o], or 2**-24, at most 2**-16 of x[k] times the mean of a row. bf16x3 loses as much, if all
numbers of x are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, filled_with, outs_of, shape_of
from ncc.compiler.linalg.analysis.weight_uses import is_large, points_with
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    generic_of,
    hold_as,
    rebuilt,
    replace_op,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import WeightPattern
from ncc.dialects import fixed_point as fraction
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.narrow import TOGETHER, FixedPoint, Scales, ShortFixedPoint
from ncc.dialects.weights.sources import LOOKED_AT, Weights
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

MOST_UNEVEN, MOST_UNEVEN_SHORT = 1 << 8, 1 << 4
"""How many times the mean of a row its power of two may be, with 24 bits and with 20."""


class QuantizeWeights(WeightPattern["_Quantized"], TargetPass):
    """Let products of a matrix and one vector read fixed-point weights."""

    name = "quantize-weights"

    def match(self, op: ConstantOp) -> _Quantized | str | None:
        if element_of(op.result) != f32 or not is_large(op.result, self.target.core):
            return None
        sums: list[_Sum] = []
        for use in op.result.uses:
            found = _Sum.of(use.operation, use.index)
            if isinstance(found, str):
                return found
            sums.append(found)
        if not sums:
            return None
        if len({one.axes for one in sums}) > 1:
            return "its rows are others in each sum"
        return _quantized(op.value.data, sums)

    def describe(self, found: _Quantized) -> str:
        return f"in {20 if found.short else 24} bits"

    def rewrite(self, found: _Quantized) -> None:
        for one in found.sums:
            one.rewrite(found.source, found.short)


class _Quantized(NamedTuple):
    """Weights, all sums that read them, and whether 20 bits are enough."""

    source: Weights
    sums: Sequence[_Sum]
    short: bool


@dataclass(frozen=True)
class _Sum:
    """A sum of products of weights with one vector.

    rows: each axis of the weights that is one of the result, and that axis of the result
    """

    op: GenericOp
    weights: int
    rows: tuple[tuple[int, int], ...]

    @staticmethod
    def of(op: Operation, position: int) -> _Sum | str:
        """The sum that op is, if it multiplies each element of an operand once; or why not."""
        if not isinstance(op, GenericOp):
            return "its weights are more than factors of sums"
        linalg_op = LinalgOp(op)
        if position not in (linalg_op.product or ()):
            return "its weights are more than factors of sums"
        access, write = linalg_op.reads[position], linalg_op.write.axes
        if points_with(access, linalg_op) != 1:
            return "several points share each of its weights"
        axes = access.axes
        if axes is None or write is None or len(linalg_op.reads) != 2 or not linalg_op.reduced:
            return "it is no plain product of a matrix and a vector"
        if not linalg_op.may_be_rebuilt:
            return "its sum has attributes"
        rows = [(axis, write.index(d)) for axis, d in enumerate(axes) if d in linalg_op.parallel]
        return _Sum(op, position, tuple(rows))

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the weights that number its rows."""
        return tuple(axis for axis, _ in self.rows)

    def rewrite(self, source: Weights, short: bool) -> None:
        b, axes = builder_for(self.op), self.axes
        operands = [tensor_of(value) for value in self.op.inputs]
        made = ShortFixedPoint(source, axes) if short else FixedPoint(source, axes)
        held = b.weight(WeightAttr(made.weights))
        operands[self.weights] = b.slice(held, [0] * held.rank, source.shape)
        scales = b.weight(WeightAttr(Scales(source, axes).weights))
        init = outs_of(self.op)
        z = self._sums(b, operands)
        at = b.loops_of(z.shape)
        y = z[at] * scales[[at[axis] for _, axis in self.rows]]
        replace_op(
            self.op, b, b.map(at, y if filled_with(init) == 0.0 else y + tensor_of(init)[at])
        )

    def _sums(self, b: Builder, operands: list[Tensor]) -> Tensor:
        """z, from zero, of operands one of which holds fractions."""
        zeros = b.full(shape_of(self.op.results[0]), 0.0)
        sums = rebuilt(b, self.op, [operand.value for operand in operands], zeros)
        weight = generic_of(sums).body.block.args[self.weights]
        hold_as(weight, element_of(operands[self.weights].value), fraction.operations_of)
        return sums


def _quantized(source: Weights, sums: Sequence[_Sum]) -> _Quantized | str:
    """How weights are quantized, if their rows are even enough."""
    axes = sums[0].axes
    short = source.shape[-1] == TOGETHER and len(source.shape) - 1 in axes
    for part in source.parts(LOOKED_AT):
        uneven = _unevenness(part, axes)
        if uneven > MOST_UNEVEN:
            return "a row of its weights is too uneven, or not finite"
        short = short and uneven <= MOST_UNEVEN_SHORT
    return _Quantized(source, sums, short)


def _unevenness(weights: Weights, axes: tuple[int, ...]) -> float:
    """How many times the mean of a row its power of two is, at most; infinite where a value is not
    finite.
    """
    values = weights.array()
    others = tuple(axis for axis in range(values.ndim) if axis not in axes)
    mean = np.abs(values).mean(others, keepdims=True)
    if not np.isfinite(mean).all():
        return inf
    powers = np.ldexp(np.float32(1), Scales(weights, axes).exponents(values))
    return float(np.divide(powers, mean, out=np.zeros_like(mean), where=mean > 0).max())
