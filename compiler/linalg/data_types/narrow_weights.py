"""Weights that are float16 are read as such, where reading them is what a sum waits for.

    y[o] += x[k] * w[o, k]    ->    y[o] += x[k] * float32(w[o, k])       w of float16

A matrix that is multiplied with one vector is read once a run, from memory or from a cache that is
far away: half the bytes come in half the time, and are widened in registers while the next ones are
on their way. No bit of a result changes: a weight is float16 where its file says so, or where all
its values are. Where many points share a weight, it is widened again for each tile of them, which
takes longer than is won. Steps of a sequence multiply the same matrix with one vector after the
other: it is widened each time, and half of it may stay where all of it would not. A table of words
is half as large.

Of a file in float32, the pass looks at all values only if the first ones are float16.

Needs: the linalg level before groups, constants in blocks.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, math, memref, tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp, f16, f32
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.linalg.analysis.attributes import may_be_rebuilt
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.tensors import RESHAPES
from ncc.compiler.linalg.analysis.weight_uses import is_large, points_with
from ncc.compiler.linalg.rewrite.insert import hold_as
from ncc.compiler.target import AVX512, Target
from ncc.dialects.attributes import tensor_type
from ncc.dialects.code import CodeOp, LanesOp
from ncc.dialects.element import element_of
from ncc.dialects.operation import make, ops_of
from ncc.dialects.weights.narrow import narrowed
from ncc.dialects.weights.sources import LOOKED_AT, Weights
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

POINTS = 49
"""So many share a weight at most: an image of 7 x 7, in three or four tiles, is no slower, and its
weights take half the memory."""


@dataclass(frozen=True)
class NarrowWeights(ModulePass):
    """Have the sums of the network read weights of float16; see the head of this file."""

    name = "narrow-weights"

    target: Target = AVX512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.target.widens_float16:
            return
        for constant in ops_of(network_of(op).body.block):
            if isinstance(constant, ConstantOp) and self._is_worth_it(constant):
                _narrow(constant)

    def _is_worth_it(self, constant: ConstantOp) -> bool:
        """Whether it is long until a constant is read, for all that read it."""
        weights, uses = constant.result, list(_uses(constant.result))
        if not uses or element_of(weights) != f32:
            return False
        return is_large(weights, self.target.core) and all(
            _streams(use.operation, use.index) for use in uses
        )


def _uses(value: SSAValue) -> Iterator[Use]:
    """Who reads a value, or what it is under another shape."""
    for use in value.uses:
        if isinstance(use.operation, RESHAPES):
            yield from _uses(use.operation.results[0])
        else:
            yield use


def _streams(op: Operation, position: int) -> bool:
    """Whether an operation sums products with each weight of an operand, at few points, or takes
    rows of them.
    """
    if isinstance(op, tensor.ExtractOp):
        return _is_of_rows(op)
    if isinstance(op, CodeOp):
        return all(_is_multiplied(use) for use in op.body.block.args[position].uses)
    if not isinstance(op, GenericOp):
        return False
    linalg_op = LinalgOp(op)
    if linalg_op.separable is not None:
        return len(linalg_op.reads) == 4 and position == 2
    if position not in (linalg_op.product or ()) or not linalg_op.reduced:
        return False
    return points_with(linalg_op.reads[position], linalg_op) <= POINTS


def _is_of_rows(op: tensor.ExtractOp) -> bool:
    """Whether elements are taken of rows, side by side, and not as a selection of channels."""
    taker = op.parent_op()
    alone = isinstance(taker, GenericOp) and may_be_rebuilt(taker)
    return alone and isinstance(op.indices[-1].owner, IndexOp)


def _is_multiplied(use: Use) -> bool:
    """Whether what is loaded of memory is a factor of products in all lanes, and nothing else."""
    load = use.operation
    if not isinstance(load, memref.LoadOp) or not isinstance(load.parent_op(), LanesOp):
        return False
    return all(isinstance(use.operation, math.FmaOp) and use.index < 2 for use in load.res.uses)


def _narrow(constant: ConstantOp) -> None:
    """Put a constant of float16 in place of one, if that is the same."""
    found, uses = narrowed(constant.value.data), list(_uses(constant.result))
    if found is None:
        return
    if any(isinstance(use.operation, tensor.ExtractOp) for use in uses) and _signals(found):
        return
    for use in uses:
        op = use.operation
        taken = isinstance(op, tensor.ExtractOp)
        _widen(op.results[0] if taken else op.regions[0].block.args[use.index])
    narrow = ConstantOp.of(WeightAttr(found))
    Rewriter.insert_op(narrow, InsertPoint.before(constant))
    _retype_shapes(constant.result)
    constant.result.replace_all_uses_with(narrow.result)
    Rewriter.erase_op(constant)


def _signals(weights: Weights) -> bool:
    """Whether there is a signaling NaN, which widening makes a quiet one, as sums do anyway."""
    parts = (part.array().view(np.uint16) for part in weights.parts(LOOKED_AT))
    return any(bool(((bits & 0x7E00 == 0x7C00) & (bits & 0x1FF != 0)).any()) for bits in parts)


def _retype_shapes(value: SSAValue) -> None:
    """Let what a value is under other shapes be float16."""
    for use in list(value.uses):
        if isinstance(use.operation, RESHAPES):
            made = use.operation.results[0]
            _retype_shapes(made)
            Rewriter.replace_value_with_new_type(made, tensor_type(f16, shape_of(made)))


def _widen(argument: SSAValue) -> None:
    """Let an element in a body, or those that it loads of memory, be float16 that is widened."""
    if isinstance(argument.type, MemRefType):
        kind = MemRefType(f16, argument.type.get_shape())
        memory = Rewriter.replace_value_with_new_type(argument, kind)
        for use in list(memory.uses):
            _widen(use.operation.results[0])
        return
    hold_as(argument, f16, lambda held: [make(arith.ExtFOp, operands=[held], result_types=[f32])])
