"""What conversions of ONNX operators to ncnn layers share.

    @converts(ReluOp)
    def relu(op: ReluOp, to: Conversion) -> SSAValue | None:
        return to.layer(NcnnRelu, [to.blob(op.operands[0])])

A blob of ncnn has no batch axis: `blob` drops a batch of 1. The pass gives the result its own shape
again. Both are views, and a view of a view is one view, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.onnx.expressions import Expressions
from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.attributes import tensor_type
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import Array, Layer, ParamValue, Shape, WeightAttr
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from ncc.dialects.onnx.operator import ConstantOp, Operator, constant_of
from ncc.dialects.onnx.plumbing import ViewOp
from ncc.dialects.weights.weight import WeightAttr as Weights

Convert: TypeAlias = Callable[[Any, "Conversion"], SSAValue | Sequence[SSAValue] | None]
"""Makes layers of an operator; None where no layer is exactly this operator. Several results come
in their order.
"""

CONVERSIONS: dict[type[Operator], Convert] = {}
"""The conversion of each operator that has one."""

COMPOSITIONS: dict[type[Operator], Convert] = {}
"""Several layers that together compute an operator, by the operator. Only files need them: code has
kernels for these operators.
"""

INEXACT: set[type[Operator]] = set()
"""Those of them that have a conversion as well, which is for code alone."""

ConvertT = TypeVar("ConvertT", bound=Convert)


def converts(*kinds: type[Operator]) -> Callable[[ConvertT], ConvertT]:
    """Register a conversion of operators. It is asked only where all values are float32, but for
    constants.
    """
    return _registering(CONVERSIONS, kinds)


def composes(*kinds: type[Operator]) -> Callable[[ConvertT], ConvertT]:
    """Register a composition of layers. It is asked only where no layer alone is the operator, and
    all values are float32 or bool, but for constants. A bool is 0 or 1 in ncnn.
    """
    return _registering(COMPOSITIONS, kinds)


def composes_instead(*kinds: type[Operator]) -> Callable[[ConvertT], ConvertT]:
    """The same of operators whose layer ncnn computes in another way than it says."""
    INEXACT.update(kinds)
    return composes(*kinds)


def _registering(
    table: dict[type[Operator], Convert], kinds: Sequence[type[Operator]]
) -> Callable[[ConvertT], ConvertT]:
    def register(function: ConvertT) -> ConvertT:
        table.update(dict.fromkeys(kinds, function))
        return function

    return register


def is_float(value: SSAValue) -> bool:
    return element_of(value) == f32


def source_of_views(value: SSAValue) -> SSAValue:
    """The value that views show under other shapes."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.operands[0]
    return value


def runs_of(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in their order, with those that follow one another in one list."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


@dataclass
class Conversion:
    """The layers that take the place of one operator.

    for_files: whether ncnn is to run them, so that code for them need not be the best there is.
    """

    op: Operator
    for_files: bool = False
    made: list[Operation] = field(default_factory=list)

    def blob(self, value: SSAValue) -> SSAValue:
        """A value without a batch of 1."""
        return self.view(value, without_batch(shape(value)))

    def view(self, value: SSAValue, extents: Shape) -> SSAValue:
        """A value under another shape. A constant becomes a MemoryData where a blob can be it."""
        value = source_of_views(value)
        if isinstance(value.owner, ConstantOp) and 1 <= len(extents) <= MAX_RANK:
            return self._constant(value.owner, extents)
        if shape(value) == extents:
            return value
        return self._insert(ViewOp.of(value, extents, self.op.layer_name))

    def layer(
        self,
        cls: type[Layer],
        operands: Sequence[SSAValue],
        weights: Mapping[str, WeightAttr] | None = None,
        /,
        **params: ParamValue,
    ) -> SSAValue:
        """The result of a new layer, whose shape its rule infers."""
        return self.layers(1, cls, operands, weights, **params)[0]

    def layers(
        self,
        outputs: int,
        cls: type[Layer],
        operands: Sequence[SSAValue],
        weights: Mapping[str, WeightAttr] | None = None,
        /,
        **params: ParamValue,
    ) -> list[SSAValue]:
        """The same with several results."""
        name, blobs = self.op.layer_name, [""] * outputs
        made = cls.make(operands, params, weights, name=name, blobs=blobs)
        self._insert(made)
        made.check()
        inferred = made.infer_all([shape(operand) for operand in operands])
        for result, extents in zip(list(made.results), inferred, strict=True):
            Rewriter.replace_value_with_new_type(result, tensor_type(f32, extents))
        return list(made.results)

    def _constant(self, op: ConstantOp, extents: Shape) -> SSAValue:
        names = {1: "w", 2: "hw", 3: "chw", 4: "cdhw"}[len(extents)]
        params = dict(zip(names, extents, strict=True))
        data = reshaped(op.weight, extents)
        made = MemoryDataOp.make([], params, {"data": data}, name=op.layer_name, shapes=[extents])
        return self._insert(made)

    def _insert(self, op: Layer) -> SSAValue:
        Rewriter.insert_op(op, InsertPoint.before(self.op))
        self.made.append(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        """A MemoryData, of float32, and of one axis at least."""
        held = np.atleast_1d(np.asarray(array, np.float32))
        made = self._insert(ConstantOp.of(held, self.op.layer_name, ""))
        return self.view(made, held.shape)

    def flat(self, kind: type[Layer], x: SSAValue, **params: ParamValue) -> SSAValue:
        """A layer that computes each element by itself, on a value of any number of axes."""
        made = self.layer(kind, [self.view(x, (prod(shape(x)),))], **params)
        return self.view(made, shape(x))

    def along(self, value: SSAValue, axis: int) -> SSAValue:
        """A value with three axes: those before an axis, it, and those behind it."""
        extents = shape(value)
        sides = prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])
        return self.view(value, sides)

    def expressions(self, operands: Sequence[SSAValue]) -> Expressions:
        """Sizes that ncnn computes in a layer of these blobs."""
        function = self.op.parent_op()
        assert isinstance(function, FuncOp)
        inputs = list(Network(function).inputs.values())
        return Expressions(list(operands), inputs, self.blob)

    def undo(self) -> None:
        """Take back what was made."""
        for op in reversed(self.made):
            Rewriter.erase_op(op)
        self.made.clear()


def weight_of(value: SSAValue) -> WeightAttr | None:
    """The weight of a constant; None for other values."""
    return value.owner.weight if isinstance(value.owner, ConstantOp) else None


def reshaped(weight: WeightAttr, extents: Shape) -> WeightAttr:
    """The same values under another shape."""
    data = weight.data
    if prod(extents) != prod(data.shape):
        raise CompilerBug(f"a weight {data.shape} cannot become {extents}")
    return Weights(type(data)(extents, data.source))


def number_of(value: SSAValue) -> float | None:
    """The number of a constant of one element; None for other values."""
    array: Array | None = constant_of(value)
    return float(array.reshape(())) if array is not None and array.size == 1 else None
