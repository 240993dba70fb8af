"""Sums and products by constants, as code: what combinations by small matrices are made of."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from ncc.compiler.loops.nest import Nest


class ArithmeticNest(Nest):
    """A nest that a `combination` can be written with."""

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.binary(arith.AddfOp, a, b)

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.binary(arith.SubfOp, a, b)

    def scale(self, factor: float, a: SSAValue) -> SSAValue:
        return self.builder.binary(arith.MulfOp, self._constant(factor), a)

    def multiply_add(self, factor: float, a: SSAValue, b: SSAValue) -> SSAValue:
        if not isinstance(a.type, VectorType):
            return self.add(self.scale(factor, a), b)
        return self.builder.add(vector.FMAOp, [self._constant(factor), a, b], a.type)

    def _constant(self, factor: float) -> SSAValue:
        return self._vector(self.builder.constant(factor, f32))
