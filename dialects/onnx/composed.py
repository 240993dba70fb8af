"""Operators that are nothing but others: where shapes are inferred, these take their place.

@operator("QuickGelu", domain=MICROSOFT)
class QuickGeluOp(Composed):  # x * sigmoid(alpha x)
    alpha = real(1.702)

    def compose(self, w: Writer, x: SSAValue) -> SSAValue:
        return w(MulOp, x, w(SigmoidOp, w(MulOp, x, w.like(self.alpha, x))))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import Expansion, Layer
from ncc.dialects.ncnn.param import ParamValue
from ncc.dialects.onnx.casts import CastLikeOp
from ncc.dialects.onnx.operator import Array, ConstantOp, Operator, known, objects

MICROSOFT = "com.microsoft"
"""The domain of the operators that onnxruntime adds."""


class Writer:
    """Writes operators one behind the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ops: list[Layer] = []

    def __call__(
        self, kind: type[Operator], *operands: SSAValue | None, **attributes: ParamValue
    ) -> SSAValue:
        """The result of an operator; operands that are None are left out."""
        places = [place for place, operand in enumerate(operands) if operand is not None]
        given = [operand for operand in operands if operand is not None]
        op = kind.make(given, attributes, name=self.name)
        op.leave_out(places)
        self.ops.append(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        """A constant."""
        op = ConstantOp.of(array, self.name, "")
        self.ops.append(op)
        return op.results[0]

    def number(self, number: int) -> SSAValue:
        """An integer of 64 bits, which may be a size."""
        return self._known(number)

    def numbers(self, numbers: Sequence[int]) -> SSAValue:
        """A vector of such."""
        return self._known(objects(numbers, (len(numbers),)))

    def _known(self, found: Array | int) -> SSAValue:
        op = known(found, i64, self.name, "")
        self.ops.append(op)
        return op.results[0]

    def like(self, number: float, x: SSAValue) -> SSAValue:
        """A number in the element type of an operand."""
        constant = self.constant(np.array(number, np.float32))
        return constant if element_of(x) == f32 else self(CastLikeOp, constant, x)


class Composed(Operator):
    """An operator that others make up."""

    def folded(self) -> None:
        """Nothing: its parts fold."""
        return None

    def expanded(self) -> Expansion:
        w = Writer(self.layer_name)
        found = self.compose(w, *self._placed(list(self.operands)))
        return w.ops, [found] if isinstance(found, SSAValue) else list(found)

    def shared(self, kind: type[Operator]) -> dict[str, ParamValue]:
        """The attributes that another operator has by the same names."""
        both = self.LAYER.params.keys() & kind.LAYER.params.keys()
        found = {name: getattr(self, name) for name in sorted(both)}
        return {name: value for name, value in found.items() if value is not None}

    def compose(self, w: Writer, *operands: Any) -> SSAValue | Sequence[SSAValue]:
        """The results, by other operators."""
        raise NotImplementedError
