"""Numpy evaluation of the linalg level: what a function of `linalg` on tensors computes.

The judge of what layers expand to, and of every pass between that and the loops. It shares no code
with those passes. Operands are strided views over the loops (`loop_views`); a contraction is a
matrix product, other reductions fold with their ufunc or step through the points of the reduced
loops. Big operations are cut so that memory stays bounded.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import ceil
from typing import cast

import numpy as np
from xdsl.dialects import arith, func, linalg, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.dialects.linalg.ops import YieldOp as LinalgYieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.dialects import sized
from ncc.dialects.element import element_of, i20, i24
from ncc.dialects.shapes import Shape
from ncc.dialects.size import in_full_tile, in_last_tile, is_of_tile
from ncc.dialects.structured import shape_of_tensor
from ncc.dialects.tiled import TiledLoopOp, YieldOp
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import ConstantOp
from tests.structured.contraction import Contraction
from tests.structured.given_sizes import with_sizes
from tests.structured.loop_views import LoopViews, Window
from tests.structured.scalar_semantics import COMBINERS, Float, compute, dtype_of, number

CHUNK = 1 << 23
"""How many elements of an operation are made at once, at most."""


def evaluate(
    function: func.FuncOp,
    arguments: Sequence[Array],
    module: ModuleOp | None = None,
    dtype: Float = np.float32,
) -> list[Array]:
    """The results of a function of the linalg level.

    `arguments` are in numpy order and have the shapes of the function's tensors; they are not
    written to. Functions that it calls are found in `module`, else in the module around it. With
    `dtype=np.float64` every float32 value is computed in double precision.

    Raises `CompilerBug` where the IR reads outside a tensor or breaks another rule of its level,
    `Unsupported` at operations that are loops already (`rt.code`).
    """
    return Evaluator(dtype, module).call(function, arguments)


def evaluate_value(value: SSAValue, dtype: Float = np.float32) -> Array:
    """A value that depends on constants only; `CompilerBug` where it depends on an argument."""
    evaluator = Evaluator(dtype, None)
    for op in _slice(value):
        evaluator.step(op)
    return evaluator.values[value]


class Evaluator:
    """The values computed so far, and how each operation computes the next."""

    def __init__(self, dtype: Float, module: ModuleOp | None) -> None:
        self.dtype = dtype
        self.module = module
        self.values: dict[SSAValue, Array] = {}
        self.tile: tuple[TiledLoopOp, Callable[[int], int]] | None = None
        """The loop over tiles that is at work, and what sizes are in its iteration."""

    def call(self, function: func.FuncOp, arguments: Sequence[Array]) -> list[Array]:
        """The results of a function; its values are forgotten after their last use."""
        block = function.body.block
        _check_arguments(function, arguments)
        values: dict[SSAValue, Array] = {
            argument: np.asarray(given, dtype_of(_element(argument), self.dtype))
            for argument, given in zip(block.args, arguments, strict=True)
        }
        inner = Evaluator(self.dtype, self.module)
        inner.values = values
        dying = last_uses(block)
        for op in block.ops:
            if isinstance(op, func.ReturnOp):
                return [inner.values[operand] for operand in op.operands]
            inner.step(op)
            for value in dying[op]:
                del inner.values[value]
        raise CompilerBug(f"function {function.sym_name.data} does not return")

    def step(self, op: Operation) -> None:
        """Compute the results of one operation from values computed before."""
        if isinstance(op, func.CallOp):
            results = self.call(self._callee(op), [self.values[o] for o in op.operands])
        elif isinstance(op, TiledLoopOp):
            results = self.tiled_loop(op)
        else:
            rule = _RULES.get(type(op))
            if rule is None:
                raise Unsupported(
                    f"evaluating {op.name} in numpy",
                    how="run the compiled code instead, or the reference of the layer",
                )
            results = [rule(self, op)]
        self.values.update(zip(op.results, results, strict=True))

    def _callee(self, op: func.CallOp) -> func.FuncOp:
        inside = op if self.tile is None else self.tile[0]
        found = SymbolTable.lookup_symbol(self.module or inside, op.callee)
        if not isinstance(found, func.FuncOp):
            raise CompilerBug(f"there is no function {op.callee}")
        return found if self.tile is None else with_sizes(found, self.tile[1])

    def tiled_loop(self, op: TiledLoopOp) -> list[Array]:
        """The results of a loop over tiles: what its iterations make, one behind the other."""
        made: list[list[Array]] = []
        whole, count = op, op.times
        sizes = [n for value in (*op.body.block.args, *op.parts) for n in shape_of_tensor(value)]
        for iteration in range(count):
            if iteration in (0, count - 1) and is_of_tile(*sizes):
                of_tile = in_last_tile if iteration == count - 1 else in_full_tile
                op = with_sizes(whole, of_tile)
                self.tile = whole, of_tile
            for argument, window in zip(op.body.block.args, op.windows, strict=True):
                begin = iteration * window.step
                seen = np.moveaxis(self.values[window.value], window.axis, 0)
                part = np.moveaxis(seen[begin : begin + window.size], 0, window.axis)
                self.values[argument] = part
            for inner in op.body.block.ops:
                if not isinstance(inner, YieldOp):
                    self.step(inner)
            made.append([self.values[part] for part in op.parts])
        self.tile = None
        if not made:
            return [
                np.zeros(shape_of_tensor(v), dtype_of(_element(v), self.dtype)) for v in op.results
            ]
        axes = op.result_axes.get_values()
        return [
            np.concatenate(parts, axis)
            for parts, axis in zip(zip(*made, strict=True), axes, strict=True)
        ]

    # --- operations -----------------------------------------------------------------------

    def fill(self, op: FillOp) -> Array:
        into = self.values[op.outputs[0]]
        return np.full(into.shape, self.values[op.inputs[0]], into.dtype)

    def generic(self, op: GenericOp) -> Array:
        """The result: `outs`, overwritten where the result's map reaches."""
        if len(op.outputs) != 1:
            raise CompilerBug("a linalg.generic of the linalg level has one result")
        arrays = [self.values[operand] for operand in op.operands]
        views = LoopViews.of(op, [array.shape for array in arrays])
        arrays[-1] = arrays[-1].copy()
        if all(views.extents):
            self._compute(op, views, arrays)
        return arrays[-1]

    def _compute(self, op: GenericOp, views: LoopViews, arrays: list[Array]) -> None:
        points = views.points(views.parallel)
        contraction = Contraction.of(op.body.block) if views.reduced else None
        if contraction is not None:
            contraction.add(views, arrays, CHUNK, self.dtype)
            return
        combiner = _combiner(op.body.block)
        many = views.points(views.reduced)
        if combiner is not None and many > max(points, 64):
            for window in views.split(views.parallel, ceil(points * many / CHUNK)):
                self._fold(op.body.block, combiner, views, arrays, window)
            return
        for chunk in views.split(views.parallel, ceil(points / CHUNK)):
            for window in views.steps(views.reduced, chunk):
                result = cast(LinalgYieldOp, op.body.block.last_op).operands[0]
                value = self._body(op.body.block, result, views, arrays, window)
                views.target(arrays[-1], window)[...] = value

    def _fold(
        self,
        body: Block,
        combiner: tuple[np.ufunc, SSAValue],
        views: LoopViews,
        arrays: list[Array],
        window: Window,
    ) -> None:
        """Combine `outs` with all values over the reduced loops at once."""
        ufunc, folded = combiner
        space = tuple(stop - start for start, stop in window)
        values = np.broadcast_to(self._body(body, folded, views, arrays, window), space)
        target = views.target(arrays[-1], window)
        reduced = ufunc.reduce(values, axis=views.reduced, keepdims=True)
        target[...] = ufunc(target, reduced)

    def _body(
        self,
        body: Block,
        wanted: SSAValue,
        views: LoopViews,
        arrays: Sequence[Array],
        window: Window,
    ) -> Array:
        """The value `wanted` of a body, over a window of the loops."""
        values = ChainMap[SSAValue, Array]({}, self.values)
        for position, argument in enumerate(body.args):
            values[argument] = views.view(position, arrays[position], window)
        for op in body.ops:
            if wanted in values:
                break
            values[op.results[0]] = self._scalar(op, values, window)
        return values[wanted]

    def _scalar(self, op: Operation, values: Mapping[SSAValue, Array], window: Window) -> Array:
        if isinstance(op, linalg.ops.IndexOp):
            loop = op.dim.value.data
            shape = [1] * len(window)
            shape[loop] = -1
            return np.arange(*window[loop]).reshape(shape)
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, tensor.ExtractOp):
            return _gather(operands[0], operands[1:])
        return compute(op, operands, self.dtype)

    # --- constants and views ----------------------------------------------------------------

    def constant(self, op: arith.ConstantOp) -> Array:
        value = op.value
        if not isinstance(value, DenseIntOrFPElementsAttr):
            return number(value, self.dtype)
        dtype = dtype_of(value.get_element_type(), self.dtype)
        elements = np.array(list(value.iter_values()), dtype)
        return (
            np.broadcast_to(elements, value.get_shape())
            if elements.size == 1
            else (elements.reshape(value.get_shape()))
        )

    def bitcast(self, op: arith.BitcastOp) -> Array:
        return compute(op, [self.values[op.input]], self.dtype)

    def weight(self, op: ConstantOp) -> Array:
        array = op.value.array()
        if element_of(op.result) == i20:
            numbers = short_fractions(array)
            return np.pad(numbers, [*[(0, 0)] * (array.ndim - 1), (0, 4)])  # words of no number
        if element_of(op.result) == i24:
            bytes = array.reshape(*array.shape, 1).view(np.uint8)
            return bytes.astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
        return array.astype(self.dtype, copy=False) if array.dtype == np.float32 else array

    def empty(self, op: tensor.EmptyOp) -> Array:
        """Contents that nobody may read: NaN, so that who reads them is seen."""
        dtype = dtype_of(_element(op.results[0]), self.dtype)
        shape = _static_shape(op)
        return np.broadcast_to(np.array(np.nan if dtype.kind == "f" else 0, dtype), shape)

    def pad(self, op: tensor.PadOp) -> Array:
        source = self.values[op.source]
        _refuse_dynamic(op, 1)
        width = list(zip(op.static_low.get_values(), op.static_high.get_values(), strict=True))
        for inner in op.region.block.ops:
            if isinstance(inner, tensor.YieldOp):
                return np.pad(source, width, constant_values=self.values[inner.operands[0]].item())
            self.step(inner)
        raise CompilerBug("a tensor.pad does not yield")

    def reshape(self, op: Operation) -> Array:
        return self.values[op.operands[0]].reshape(_static_shape(op))

    def extract_slice(self, op: tensor.ExtractSliceOp) -> Array:
        _refuse_dynamic(op, 1)
        box = zip(
            op.static_offsets.get_values(),
            op.static_sizes.get_values(),
            op.static_strides.get_values(),
            self.values[op.source].shape,
            strict=True,
        )
        slices = []
        for offset, size, stride, extent in box:
            if offset < 0 or stride < 1 or (size and offset + (size - 1) * stride >= extent):
                raise CompilerBug(
                    f"tensor.extract_slice takes {size} from {offset} by {stride} of {extent}"
                )
            slices.append(slice(offset, offset + size * stride, stride))
        return self.values[op.source][tuple(slices)].reshape(_static_shape(op))

    def concat(self, op: tensor.ConcatOp) -> Array:
        return np.concatenate([self.values[o] for o in op.operands], axis=op.dim.value.data)


_RULES: Mapping[type[Operation], Callable[[Evaluator, Operation], Array]] = cast(
    Mapping[type[Operation], Callable[[Evaluator, Operation], Array]],
    {
        GenericOp: Evaluator.generic,
        FillOp: Evaluator.fill,
        arith.ConstantOp: Evaluator.constant,
        arith.BitcastOp: Evaluator.bitcast,
        ConstantOp: Evaluator.weight,
        tensor.EmptyOp: Evaluator.empty,
        tensor.PadOp: Evaluator.pad,
        sized.PadOp: Evaluator.pad,
        tensor.CollapseShapeOp: Evaluator.reshape,
        tensor.ExpandShapeOp: Evaluator.reshape,
        sized.ExpandShapeOp: Evaluator.reshape,
        tensor.ExtractSliceOp: Evaluator.extract_slice,
        sized.ExtractSliceOp: Evaluator.extract_slice,
        tensor.ConcatOp: Evaluator.concat,
    },
)


def _combiner(body: Block) -> tuple[np.ufunc, SSAValue] | None:
    """How a body folds `outs` with a value that does not read it, if that is what it does."""
    result = cast(Operation, body.last_op).operands[0].owner
    accumulator = body.args[-1]
    if not isinstance(result, Operation) or type(result) not in COMBINERS:
        return None
    if accumulator.uses.get_length() != 1:
        return None
    folded = [operand for operand in result.operands if operand is not accumulator]
    return (COMBINERS[type(result)], folded[0]) if len(folded) == 1 else None


def _gather(source: Array, at: Sequence[Array]) -> Array:
    for axis, (index, extent) in enumerate(zip(at, source.shape, strict=True)):
        if index.size and (index.min() < 0 or index.max() >= extent):
            raise CompilerBug(
                f"tensor.extract reads axis {axis} of extent {extent} "
                f"from {index.min()} to {index.max()}"
            )
    return np.asarray(source[tuple(at)])


def _element(value: SSAValue) -> Attribute:
    if not isinstance(value.type, TensorType):
        raise CompilerBug(f"a value of type {value.type} is no tensor")
    element: Attribute = value.type.element_type
    return element


def _static_shape(op: Operation) -> Shape:
    kind = op.results[0].type
    if not isinstance(kind, TensorType) or DYNAMIC_INDEX in kind.get_shape():
        raise CompilerBug(f"{op.name} makes {kind}, which has no static shape")
    return kind.get_shape()


def _refuse_dynamic(op: Operation, operands: int) -> None:
    if len(op.operands) != operands:
        raise CompilerBug(f"{op.name} has sizes that only the run knows")


def _check_arguments(function: func.FuncOp, arguments: Sequence[Array]) -> None:
    name = function.sym_name.data
    expected = function.body.block.args
    if len(expected) != len(arguments):
        raise CompilerBug(f"{name} takes {len(expected)} arguments, not {len(arguments)}")
    for position, (argument, given) in enumerate(zip(expected, arguments, strict=True)):
        _element(argument)
        kind = cast(TensorType[Attribute], argument.type)
        if not all(
            want in (DYNAMIC_INDEX, have)
            for want, have in zip_longest(kind.get_shape(), given.shape)
        ):
            raise CompilerBug(f"argument {position} of {name} is {kind}, not {given.shape}")


def last_uses(block: Block) -> Mapping[Operation, list[SSAValue]]:
    """After which operation each value of a block is needed no more."""
    last: dict[SSAValue, Operation] = {}
    for op in block.ops:
        for inner in op.walk():
            for operand in inner.operands:
                if operand.owner is block or operand.owner.parent is block:
                    last[operand] = op
        for result in op.results:
            last.setdefault(result, op)
    dying: dict[Operation, list[SSAValue]] = defaultdict(list)
    for value, op in last.items():
        dying[op].append(value)
    return dying


def _slice(value: SSAValue) -> Iterator[Operation]:
    """The operations that a value depends on, each after those it depends on itself."""
    seen: set[Operation] = set()

    def visit(needed: SSAValue) -> Iterator[Operation]:
        op = needed.owner
        if isinstance(op, Block):
            raise CompilerBug(f"a value to be computed while compiling depends on {needed}")
        if op in seen:
            return
        seen.add(op)
        inside = {result for inner in op.walk() for result in inner.results}
        inside |= {arg for r in op.regions for block in r.blocks for arg in block.args}
        for inner in op.walk():
            for operand in inner.operands:
                if operand not in inside:
                    yield from visit(operand)
        yield op

    yield from visit(value)


def short_fractions(held: Array) -> Array:
    """Integers of 20 bits, sixteen of the last axis out of twenty words (.., 2 bytes)."""
    bytes = np.ascontiguousarray(held).view(np.uint8).reshape(*held.shape[:-1], 40).astype(np.int32)
    words = bytes[..., 0:32:2] | bytes[..., 1:32:2] << 8
    numbers = words.copy()
    numbers[..., 0::2] = words[..., 0::2] << 4 | bytes[..., 32:] >> 4
    numbers[..., 1::2] |= (bytes[..., 32:] & 0xF) << 16
    return numbers
