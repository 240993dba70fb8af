"""The `tiled` dialect: the same operations for each tile of its operands, in any order.

    %y = "tiled.loop"(%x) <{count = 12, axes = [1], steps = [24], result_axes = [1]}> ({
    ^bb0(%part: tensor<4x26x258xf32>):
      %v = ...
      tiled.yield %v : tensor<4x6x64xf32>
    }) : (tensor<4x290x258xf32>) -> tensor<4x72x64xf32>

The loop is an `scf.forall` over `tensor.extract_slice` and `tensor.parallel_insert_slice`, with
constant numbers. In iteration i, an argument of the body is the window of its operand that begins
at step * i along its axis, and the body yields part i of each result. Windows may overlap; parts do
not. A body may also read whole values that are defined before the loop.

Where the inputs decide how long a result is, the last tile may be a smaller one, as `affine.min`
makes it: sizes in the body are `tile(full, last)` (`size_form.TileSize`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_op_definition,
    lazy_traits_def,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.attributes import SizeAttr, integer, integers, number_of, tensor_type, values_of
from ncc.dialects.element import element_of
from ncc.dialects.operation import operands_of
from ncc.dialects.size import by_hint, in_all_tiles, in_last_tile, is_open
from ncc.dialects.structured import shape_of_tensor

I64Attr = IntegerAttr.constr(type=i64)


class Window(NamedTuple):
    """The part of a tensor that iteration i reads: `size` elements along an axis, from step * i."""

    value: SSAValue
    axis: int
    step: int
    size: int

    @property
    def type(self) -> TensorType[Attribute]:
        """The type of an argument that is this window."""
        shape = list(shape_of_tensor(self.value))
        shape[self.axis] = self.size
        return tensor_type(element_of(self.value), shape)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The parts of the results that one iteration makes."""

    name = "tiled.yield"

    parts = var_operand_def(TensorType)

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(TiledLoopOp)))
    assembly_format = "attr-dict ($parts^ `:` type($parts))?"

    def __init__(self, parts: Sequence[SSAValue]) -> None:
        super().__init__(operands=[parts])


@irdl_op_definition
class TiledLoopOp(IRDLOperation):
    """One body for each part of its results."""

    name = "tiled.loop"

    operands_ = var_operand_def(TensorType)
    count = prop_def(I64Attr | base(SizeAttr))
    axes = prop_def(DenseArrayBase.constr(i64))
    steps = prop_def(DenseArrayBase.constr(i64) | base(ArrayAttr))
    result_axes = prop_def(DenseArrayBase.constr(i64))
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, count: int, windows: Sequence[Window], axes: Sequence[int], body: Block):
        """axes: of the results, along which parts follow each other."""
        last = body.last_op
        parts = () if last is None else operands_of(last)
        types = [_type_of(part, axis, count) for part, axis in zip(parts, axes, strict=True)]
        super().__init__(
            operands=[[window.value for window in windows]],
            result_types=[types],
            properties={
                "count": integer(count),
                "axes": integers([window.axis for window in windows]),
                "steps": integers([window.step for window in windows]),
                "result_axes": integers(axes),
            },
            regions=[Region(body)],
        )

    @property
    def times(self) -> int:
        """The number of iterations."""
        return number_of(self.count)

    @property
    def windows(self) -> list[Window]:
        """The windows that the arguments of the body are."""
        numbers = zip(values_of(self.axes), values_of(self.steps), strict=True)
        return [
            Window(value, axis, step, shape_of_tensor(argument)[axis])
            for value, argument, (axis, step) in zip(
                self.operands, self.body.block.args, numbers, strict=True
            )
        ]

    @property
    def parts(self) -> Sequence[SSAValue]:
        """The values that one iteration yields."""
        last = self.body.block.last_op
        return () if last is None else operands_of(last)

    @by_hint()
    def verify_(self) -> None:
        count, block = self.times, self.body.block
        if count < 1 and not is_open(count):  # inputs may be too small for one
            raise VerifyException("tiled.loop: there is one iteration at least")
        axes, steps = values_of(self.axes), values_of(self.steps)
        if not len(self.operands) == len(block.args) == len(axes) == len(steps):
            raise VerifyException("tiled.loop: each operand has an argument, an axis and a step")
        for value, argument, axis in zip(self.operands, block.args, axes, strict=True):
            _check_axis(axis, value)
            if len(shape_of_tensor(argument)) != len(shape_of_tensor(value)):
                raise VerifyException(f"tiled.loop: {argument.type} is no window of its operand")
        for window, argument in zip(self.windows, block.args, strict=True):
            extent = shape_of_tensor(window.value)[window.axis]
            end = window.step * (count - 1) + in_last_tile(window.size)
            if window.step < 0 or end > extent:
                raise VerifyException(f"tiled.loop: windows reach beyond {window.value.type}")
            if argument.type != window.type:
                raise VerifyException(f"tiled.loop: {argument.type} is no window of its operand")
        _check_parts(self)


def _type_of(part: SSAValue, axis: int, count: int) -> TensorType[Attribute]:
    """The type of a result that consists of so many parts."""
    shape = list(shape_of_tensor(part))
    shape[axis] = in_all_tiles(shape[axis], count)
    return tensor_type(element_of(part), shape)


def _check_axis(axis: int, value: SSAValue) -> None:
    if not 0 <= axis < len(shape_of_tensor(value)):
        raise VerifyException(f"tiled.loop: {value.type} has no axis {axis}")


def _check_parts(op: TiledLoopOp) -> None:
    axes = values_of(op.result_axes)
    if not len(op.results) == len(op.parts) == len(axes):
        raise VerifyException("tiled.loop: each result has a part and an axis")
    for result, part, axis in zip(op.results, op.parts, axes, strict=True):
        _check_axis(axis, result)
        if result.type != _type_of(part, axis, op.times):
            raise VerifyException(f"tiled.loop: {result.type} is not made of {part.type}")


TILED = Dialect("tiled", [TiledLoopOp, YieldOp])
