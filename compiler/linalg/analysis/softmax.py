"""Softmax as linalg operations: exponentials by their sum, of which the largest is 1.

m[s]    = the largest of x[s, t] over t
e[s, t] = exp(x[s, t] - m[s])
d[s]    = sum over t of e[s, t]
y[s, t] = e[s, t] / d[s]

With a mask, m is at least the least finite float, and the divisor is 1 where d is 0: then rows of
-inf become zeros, not NaN.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from xdsl.dialects import arith, math
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, constant_number
from ncc.dialects.operation import operands_of
from ncc.dialects.scalar import LEAST, Scalar, divisor

EQUAL = 1
"""arith's number for `oeq`."""


class Softmax(NamedTuple):
    """A softmax. powers: the exponentials.

    kept: the axes of the exponentials that their sums have. zeros: whether the divisor is 1 where a
    sum is 0.
    """

    x: SSAValue
    largest: SSAValue
    powers: SSAValue
    sums: SSAValue
    kept: tuple[int, ...]
    zeros: bool = False

    @staticmethod
    def of(op: GenericOp) -> Softmax | None:
        """The softmax whose quotient is op; None for any other operation."""
        over = _yielded(op)
        if not isinstance(over, arith.DivfOp):
            return None
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise:
            return None
        power, total = operands_of(over)
        divided = _divided(total)
        operands = linalg_op.positions([power, total if divided is None else divided])
        if operands is None:
            return None
        powers, sums = (linalg_op.reads[position] for position in operands)
        place_of = {form.bare: place for place, form in enumerate(linalg_op.write.index)}
        loops = [form.bare for form in sums.index]
        if powers.index != linalg_op.write.index or None in place_of or None in loops:
            return None
        kept = tuple(place_of[loop] for loop in loops)
        if not _folds(sums.value.owner, arith.AddfOp, powers.value):
            return None
        exponent = exponent_of(powers.value)
        if exponent is None or exponent[2] != kept:
            return None
        return Softmax(*exponent[:2], powers.value, sums.value, kept, divided is not None)

    @property
    def least(self) -> float:
        """The lower bound of the largest value."""
        return LEAST if self.zeros else -inf

    def divisor(self, total: Scalar) -> Scalar:
        """The divisor, made of a sum."""
        return divisor(total) if self.zeros else total


def _divided(value: SSAValue) -> SSAValue | None:
    """x of `x == 0 ? 1 : x`, the divisor of rows that may be all zeros."""
    chosen = value.owner
    if not isinstance(chosen, arith.SelectOp):
        return None
    condition, one, x = operands_of(chosen)
    compared = condition.owner
    if not isinstance(compared, arith.CmpfOp) or compared.predicate.value.data != EQUAL:
        return None
    tested, zero = operands_of(compared)
    known = (constant_number(one), constant_number(zero)) == (1.0, 0.0)
    return x if tested is x and known else None


def _yielded(op: GenericOp) -> Operation | Block | None:
    """The operation that computes an element."""
    last = op.regions[0].block.last_op
    return None if last is None else operands_of(last)[0].owner


def exponent_of(powers: SSAValue) -> tuple[SSAValue, SSAValue, tuple[int, ...]] | None:
    """x and m of exp(x - m), where m is the largest x along some axes; then the other axes."""
    if not isinstance(powers.owner, GenericOp):
        return None
    linalg_op = LinalgOp(powers.owner)
    power = linalg_op.yielded.owner
    if not isinstance(power, math.ExpOp) or not isinstance(power.operand.owner, arith.SubfOp):
        return None
    operands = linalg_op.positions(operands_of(power.operand.owner))
    if operands is None:
        return None
    x, largest = (linalg_op.reads[position] for position in operands)
    places = {form: place for place, form in enumerate(linalg_op.write.index)}
    if x.index != linalg_op.write.index or not places.keys() >= set(largest.index):
        return None
    folds = _folds(largest.value.owner, arith.MaxnumfOp, x.value)
    kept = tuple(places[form] for form in largest.index)
    return (x.value, largest.value, kept) if folds else None


def _folds(op: Operation | Block, by: type[Operation], values: SSAValue) -> bool:
    """Whether op reduces the elements of a value, each once and unchanged."""
    if not isinstance(op, GenericOp) or list(op.inputs) != [values]:
        return False
    linalg_op = LinalgOp(op)
    folded = linalg_op.combiner
    if folded is None or not isinstance(folded[0], by):
        return False
    return folded[1] is linalg_op.body.args[0]
