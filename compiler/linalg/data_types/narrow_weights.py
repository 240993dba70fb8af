"""Sums read weights of float16 as such, where they wait for these to be read.

    y[o] += x[k] * w[o, k]    ->    y[o] += x[k] * float32(w[o, k])       w of float16

A run reads such a matrix once, from memory or from a cache that is far away. Half the bytes come in
half the time, and registers widen them while the next ones are on their way. No bit of a result
changes: a weight is float16 where its file says so, or where all its values are. Where many points
share a weight, every tile of them would widen it again, which takes longer than the pass saves.
Steps of a sequence multiply the same matrix with one vector after the other: each widens it, and
half of it may stay in a cache where all of it would not. A table of words is half as large.

Of a file in float32, the pass looks at all values only if the first ones are float16.

Needs: the linalg level before groups, constants in blocks.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects import arith, math, memref, tensor
from xdsl.dialects.builtin import MemRefType, f16, f32
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import Rewriter

from ncc.compiler.linalg.analysis.attributes import may_be_rebuilt
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import RESHAPES
from ncc.compiler.linalg.analysis.weight_uses import is_large, points_with
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.insert import hold_as
from ncc.compiler.linalg.rewrite.pattern import WeightPattern
from ncc.dialects.attributes import tensor_type
from ncc.dialects.code import CodeOp, LanesOp
from ncc.dialects.element import element_of
from ncc.dialects.operation import make
from ncc.dialects.weights.narrow import narrowed
from ncc.dialects.weights.sources import LOOKED_AT, Weights
from ncc.dialects.weights.weight import ConstantOp, WeightAttr


class NarrowWeights(WeightPattern["_Narrow"], TargetPass):
    """Let sums of few points read weights of float16 as such."""

    name = "narrow-weights"

    def match(self, op: ConstantOp) -> _Narrow | str | None:
        weights, uses = op.result, list(_uses(op.result))
        if not self.target.widens_float16 or not uses or element_of(weights) != f32:
            return None
        if not is_large(weights, self.target.core):
            return None
        most = self.target.costs.data_types.most_points_of_float16
        for use in uses:
            if (reason := _why_wide(use.operation, use.index, most)) is not None:
                return reason
        narrow = narrowed(op.value.data)
        if narrow is None:
            return "its weights are not all float16"
        if any(isinstance(use.operation, tensor.ExtractOp) for use in uses) and _signals(narrow):
            return "one of its weights is a signaling NaN"
        return _Narrow(op, narrow, uses)

    def rewrite(self, found: _Narrow) -> None:
        for use in found.uses:
            op = use.operation
            taken = isinstance(op, tensor.ExtractOp)
            _widen(op.results[0] if taken else op.regions[0].block.args[use.index])
        constant, narrow = found.constant, ConstantOp.of(WeightAttr(found.narrow))
        _retype_shapes(constant.result)
        Rewriter.replace_op(constant, narrow)


class _Narrow(NamedTuple):
    """A constant, its weights in float16, and all that read it."""

    constant: ConstantOp
    narrow: Weights
    uses: Sequence[Use]


def _uses(value: SSAValue) -> Iterator[Use]:
    """All uses of a value, also under other shapes."""
    for use in value.uses:
        if isinstance(use.operation, RESHAPES):
            yield from _uses(use.operation.results[0])
        else:
            yield use


def _why_wide(op: Operation, position: int, most: int) -> str | None:
    """Why an operation reads an operand in float32; None where it sums products with each weight
    at few points, or takes rows of them.
    """
    if isinstance(op, GenericOp) and (linalg_op := LinalgOp(op)).separable is None:
        if position in (linalg_op.product or ()) and linalg_op.reduced:
            few = points_with(linalg_op.reads[position], linalg_op) <= most
            return None if few else f"more than {most} points share each of its weights"
    return None if _streams(op, position) else "its weights are more than factors of sums"


def _streams(op: Operation, position: int) -> bool:
    """Whether another operation than a contraction reads each weight of an operand once or so."""
    match op:
        case tensor.ExtractOp():
            return _is_of_rows(op)
        case CodeOp():
            return all(_is_multiplied(use) for use in op.body.block.args[position].uses)
        case GenericOp() if LinalgOp(op).separable is not None:
            return len(LinalgOp(op).reads) == 4 and position == 2
    return False


def _is_of_rows(op: tensor.ExtractOp) -> bool:
    """Whether an operation reads rows, of elements side by side, and gathers no channels."""
    taker = op.parent_op()
    alone = isinstance(taker, GenericOp) and may_be_rebuilt(taker)
    return alone and isinstance(op.indices[-1].owner, IndexOp)


def _is_multiplied(use: Use) -> bool:
    """Whether a loaded element is a factor of products in all lanes, and nothing else."""
    load = use.operation
    if not isinstance(load, memref.LoadOp) or not isinstance(load.parent_op(), LanesOp):
        return False
    return all(isinstance(use.operation, math.FmaOp) and use.index < 2 for use in load.res.uses)


def _signals(weights: Weights) -> bool:
    """Whether there is a signaling NaN: widening would make it quiet, as sums do anyway."""
    parts = (part.array().view(np.uint16) for part in weights.parts(LOOKED_AT))
    return any(bool(((bits & 0x7E00 == 0x7C00) & (bits & 0x1FF != 0)).any()) for bits in parts)


def _retype_shapes(value: SSAValue) -> None:
    """Let reshapes of a value be float16."""
    for use in list(value.uses):
        if isinstance(use.operation, RESHAPES):
            made = use.operation.results[0]
            _retype_shapes(made)
            Rewriter.replace_value_with_new_type(made, tensor_type(f16, shape_of(made)))


def _widen(argument: SSAValue) -> None:
    """Widen an element of a body, or elements that it loads, from float16."""
    if isinstance(argument.type, MemRefType):
        kind = MemRefType(f16, argument.type.get_shape())
        memory = Rewriter.replace_value_with_new_type(argument, kind)
        for use in list(memory.uses):
            _widen(use.operation.results[0])
        return
    hold_as(argument, f16, lambda held: [make(arith.ExtFOp, operands=[held], result_types=[f32])])
