"""Layers of constants as the constants that they make, by the references of the layers.

    %a = ncnn.MemoryData()
    %b = ncnn.BinaryOp(%a) {op_type = 2, with_scalar = 1, b = 2.0}  ->  %b = ncnn.MemoryData()

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.ncnn.optimizations.optimization import optimization
from ncc.compiler.ncnn.sizes import largest_step
from ncc.dialects.element import name_of
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, in_place_of
from ncc.dialects.ncnn.layer import Array, Layer, LayerError, Shape, WeightAttr
from ncc.dialects.ncnn.plumbing import MemoryDataOp

GROWTH = 4096
"""How many elements a fold may add to the file."""

MOST_STEPS = 1 << 22
"""Elements of a step that any machine has room for."""


@optimization(Layer)
class FoldConstants(LayerPattern):
    """f(constants) = the constants that f makes of them, unless they are many more."""

    name = "fold_constants"

    def match(self, op: Layer) -> Match | None:
        makers = [operand.owner for operand in op.operands]
        constants = [maker for maker in makers if isinstance(maker, MemoryDataOp)]
        if not constants or len(constants) != len(makers):
            return None
        return (*dict.fromkeys(constants), op)

    def check(self, *layers: Layer) -> str | None:
        op = layers[-1]
        if type(op).reference is Layer.reference:
            return f"{op.type_name} has no reference"
        shapes = [_maker(op, k).shape for k in range(len(op.operands))]
        try:
            made = op.infer_all(shapes)
            given = [_maker(op, k).values.element_type for k in range(len(op.operands))]
            elements = op.element_types_all(given)
        except LayerError as error:
            return error.message
        if set(elements) != {f32}:
            return f"a constant of {name_of(elements[0])} cannot be written"
        if any(min(shape) <= 0 for shape in made):
            return "only the run knows how many results there are"
        if sum(map(prod, made)) > sum(map(prod, shapes)) + GROWTH:
            return f"{sum(map(prod, shapes))} elements would become {sum(map(prod, made))}"
        return self._steps(op, [*map(TensorType, given, shapes)])

    @staticmethod
    def _steps(op: Layer, operands: Sequence[TensorType]) -> str | None:
        """Whether the way to a small result leads over what memory has no room for."""
        try:
            steps = largest_step(op, operands)
        except LayerError as error:
            return error.message
        except NotImplementedError as error:
            return str(error)
        if steps > MOST_STEPS and steps > 4 * sum(prod(x.get_shape()) for x in operands):
            return f"a step that computes it has {steps} elements"
        return None

    def rewrite(self, rewriter: PatternRewriter, *layers: Layer) -> None:
        op = layers[-1]
        arrays = op.reference_all([_maker(op, k).values.array() for k in range(len(op.operands))])
        if len(arrays) == 1:
            rewriter.replace(op, [constant_in_place_of(op, arrays[0])])
            return
        made = [
            MemoryDataOp.make(
                [],
                extents_of(array.shape),
                {"data": WeightAttr.of(array)},
                name=blob,
                blobs=[blob],
                line=op.line,
                shapes=[array.shape],
            )
            for array, blob in zip(arrays, op.blob_names, strict=True)
        ]
        rewriter.replace(op, made, [one.results[0] for one in made])


def extents_of(shape: Shape) -> dict[str, int]:
    """The params of a MemoryData of this shape."""
    return dict(zip(EXTENT_NAMES[len(shape)], shape, strict=True))


def constant_in_place_of(op: Layer, array: Array) -> Layer:
    """A constant with a result like that of `op`."""
    weights = {"data": WeightAttr.of(np.asarray(array, np.float32))}
    return in_place_of(op, MemoryDataOp, [], extents_of(array.shape), weights)


def _maker(op: Layer, k: int) -> MemoryDataOp:
    maker = op.operands[k].owner
    if not isinstance(maker, MemoryDataOp):
        raise TypeError(f"operand {k} of {op.layer_name} is no constant")
    return maker
