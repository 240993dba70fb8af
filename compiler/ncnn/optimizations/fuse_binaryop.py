"""Binary operations with fewer operands or fewer layers: constants inside, weighted sums.

    f(x, [v]) = f(x, v)        f([v], x) = swapped f(x, v)          fuse_memorydata_binaryop
    a * s + b * t = Eltwise(a, b; s, t)                             fuse_binaryop_eltwise

Needs: the shapes of both sides of a sum, which an Eltwise does not broadcast.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, prod

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.ncnn.optimizations.affine import ADD, MUL, constant_operand
from ncc.compiler.ncnn.optimizations.fold_affine import is_taken_up
from ncc.compiler.ncnn.optimizations.optimization import optimization
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, in_place_of, is_private
from ncc.dialects.ncnn.canonicalize.ranks import rank_of
from ncc.dialects.ncnn.elementwise.arithmetic import SUM, BinaryOpOp, EltwiseOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, shape_of
from ncc.dialects.ncnn.plumbing import MemoryDataOp

SWAPPED: Mapping[int, int] = {
    **{kind: kind for kind in (0, 2, 4, 5, 14)},  # add, mul, max, min, log-add-exp
    **{1: 7, 3: 8, 6: 9, 10: 11, 12: 13, 15: 16, 17: 18},
    **{7: 1, 8: 3, 9: 6, 11: 10, 13: 12, 16: 15, 18: 17},
}
"""f(a, b) = swapped(b, a), by op_type of BinaryOp; each function has its reverse."""


@optimization(BinaryOpOp)
class FuseMemoryDataBinaryOp(LayerPattern):
    """f(x, [v]) = f(x, v), and f([v], x) by the reverse of f.

    Of max and min only the first operand's NaN is seen, so a constant in front hides that of x.
    """

    name = "fuse_memorydata_binaryop"
    differs_on = ("nan",)

    def match(self, op: Layer) -> Match | None:
        found = constant_operand(op) if isinstance(op, BinaryOpOp) else None
        return None if found is None or prod(found[0].shape) != 1 else (found[0], op)

    def check(self, constant: MemoryDataOp, op: BinaryOpOp) -> str | None:
        rank = rank_of(self._other(constant, op))
        if len(constant.shape) > 1 and (rank is None or rank < len(constant.shape)):
            return "the constant may have a higher rank than what it is combined with"
        if isnan(constant.values.array().item()):
            return "the constant is not a number"
        return None

    def rewrite(self, rewriter: PatternRewriter, constant: MemoryDataOp, op: BinaryOpOp) -> None:
        kind = op.op_type
        if op.operands[0] is constant.results[0]:
            kind = SWAPPED[kind]
        value = float(constant.values.array().item())
        params = {"op_type": kind, "with_scalar": 1, "b": value}
        other = self._other(constant, op)
        rewriter.replace(op, [in_place_of(op, BinaryOpOp, [other], params)])

    @staticmethod
    def _other(constant: MemoryDataOp, op: BinaryOpOp) -> SSAValue:
        return next(operand for operand in op.operands if operand is not constant.results[0])


@optimization(BinaryOpOp)
class FuseBinaryOpEltwise(LayerPattern):
    """a * s + b * t = Eltwise(a, b; s, t); one of the factors may be missing, and is 1."""

    name = "fuse_binaryop_eltwise"
    exact = False

    def match(self, op: Layer) -> Match | None:
        if not isinstance(op, BinaryOpOp) or op.op_type != ADD or len(op.operands) != 2:
            return None
        factors = [self._factor(operand) for operand in op.operands]
        found = [factor for factor in dict.fromkeys(factors) if factor is not None]
        return (*found, op) if found else None

    def check(self, *layers: Layer) -> str | None:
        *factors, op = layers
        for factor in factors:
            if not is_private(factor.results[0]):
                return f"the product {factor.layer_name} is read by others, too"
            if is_taken_up(factor):
                return f"the product {factor.layer_name} goes into the weights before it"
        shapes = [shape_of(operand) for operand in op.operands]
        if None in shapes:
            return "the shapes of the terms are not known"
        if shapes[0] != shapes[1]:
            return "the terms are of different shapes, which an Eltwise does not broadcast"
        return None

    def rewrite(self, rewriter: PatternRewriter, *layers: Layer) -> None:
        *factors, op = layers
        terms, coefficients = [], []
        for operand in op.operands:
            factor = operand.owner
            if isinstance(factor, BinaryOpOp) and factor in factors:
                terms.append(factor.operands[0])
                coefficients.append(factor.b)
            else:
                terms.append(operand)
                coefficients.append(1.0)
        params: dict[str, ParamValue] = {"op_type": SUM, "coeffs": tuple(coefficients)}
        rewriter.replace(op, [in_place_of(op, EltwiseOp, terms, params)])
        for factor in factors:
            rewriter.erase(factor)

    @staticmethod
    def _factor(operand: SSAValue) -> BinaryOpOp | None:
        op = operand.owner
        if isinstance(op, BinaryOpOp) and op.op_type == MUL and len(op.operands) == 1:
            return op
        return None
