"""Weights that are float16 are read as such, where reading them is what a sum waits for.

    y[o] += x[k] * w[o, k]    ->    y[o] += x[k] * float32(w[o, k])       w of float16

A matrix that is multiplied with one vector is read once a run, from memory or from a cache that is
far away: half the bytes come in half the time, and are widened in registers while the next ones are
on their way. No bit of a result changes: a weight is float16 where its file says so, or where all
its values are. Where many points share a weight, it is widened again for each tile of them, which
takes longer than is won.

Needs: the structured level before groups, constants in blocks.  Breaks: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.view import View, shape_of
from ncc.compiler.target import AVX512, Target
from ncc.dialects.element import element_of
from ncc.dialects.operation import make
from ncc.dialects.weight import ConstantOp, WeightAttr

POINTS = 49
"""So many share a weight at most: an image of 7 x 7, in three or four tiles, is no slower, and its
weights take half the memory."""


@dataclass(frozen=True)
class NarrowWeights(ModulePass):
    """Have the sums of the network read weights of float16; see the head of this file."""

    name = "narrow-weights"

    target: Target = AVX512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.target.widens_halves:
            return
        for constant in list(network_of(op).body.block.ops):
            if isinstance(constant, ConstantOp) and self._is_worth_it(constant):
                _narrow(constant)

    def _is_worth_it(self, constant: ConstantOp) -> bool:
        """Whether all that read a constant are sums which it comes too late for."""
        weights, readers = constant.result, [use.operation for use in constant.result.uses]
        if not readers or element_of(weights) != f32:
            return False
        if 4 * prod(shape_of(weights)) <= self.target.core.l1_bytes:
            return False
        return all(isinstance(op, GenericOp) and _streams(op, constant) for op in readers)


def _streams(op: GenericOp, constant: ConstantOp) -> bool:
    """Whether an operation sums products with each of these weights at few points."""
    view = View(op)
    if view.separable is not None:
        return len(view.reads) == 4 and view.reads[2].value is constant.result
    pair = view.product()
    if pair is None or not view.reduced:
        return False
    weights = [k for k in pair if view.reads[k].value is constant.result]
    if len(weights) != 1 or len([v for v in op.operands if v is constant.result]) != 1:
        return False
    access = view.reads[weights[0]]
    points = prod(view.extents[d] for d in range(len(view.extents)) if not access.uses(d))
    return points <= POINTS


def _narrow(constant: ConstantOp) -> None:
    """Put a constant of float16 in place of one, if that is the same."""
    found = constant.value.data.narrow()
    if found is None:
        return
    narrow = ConstantOp.of(WeightAttr(found))
    Rewriter.insert_op(narrow, InsertPoint.before(constant))
    for use in list(constant.result.uses):
        use.operation.operands[use.index] = narrow.result
        _widen(use.operation.regions[0].block, use.index)
    Rewriter.erase_op(constant)


def _widen(body: Block, position: int) -> None:
    """Let a body take an element of float16."""
    was = body.args[position]
    now = body.insert_arg(f16, position)
    wide = make(arith.ExtFOp, operands=[now], result_types=[f32])
    Rewriter.insert_op(wide, InsertPoint.at_start(body))
    was.replace_all_uses_with(wide.results[0])
    body.erase_arg(was)
