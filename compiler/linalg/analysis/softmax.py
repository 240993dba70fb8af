"""Softmax among linalg operations: powers by their sum, the largest of which is 1.

m[s]    = the largest of x[s, t] over t
e[s, t] = exp(x[s, t] - m[s])
d[s]    = sum over t of e[s, t]
y[s, t] = e[s, t] / d[s]
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.dialects.operation import operands_of


@dataclass(frozen=True)
class Shares:
    """What a quotient of powers by their sum was made of.

    kept: the axes of the powers that their sums have.
    """

    x: SSAValue
    largest: SSAValue
    powers: SSAValue
    sums: SSAValue
    kept: tuple[int, ...]

    @staticmethod
    def of(op: GenericOp) -> Shares | None:
        """What op divides; None of anything else than such powers by their sums."""
        over = _yielded(op)
        if not isinstance(over, arith.DivfOp):
            return None
        linalg_op = LinalgOp(op)
        if not linalg_op.is_pointwise:
            return None
        operands = linalg_op.positions(operands_of(over))
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
        exponent = _exponent(powers.value, kept)
        return None if exponent is None else Shares(*exponent, powers.value, sums.value, kept)


def _yielded(op: GenericOp) -> Operation | Block | None:
    """What computes a point."""
    last = op.regions[0].block.last_op
    return None if last is None else operands_of(last)[0].owner


def _exponent(powers: SSAValue, kept: tuple[int, ...]) -> tuple[SSAValue, SSAValue] | None:
    """x and m of exponentials of x - m, m the largest x at these axes: one of them is 1."""
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
    known = [linalg_op.write.index[place] for place in kept]
    if x.index != linalg_op.write.index or list(largest.index) != known:
        return None
    folds = _folds(largest.value.owner, arith.MaxnumfOp, x.value)
    return (x.value, largest.value) if folds else None


def _folds(op: Operation | Block, by: type[Operation], values: SSAValue) -> bool:
    """Whether op folds values as they are, each once."""
    if not isinstance(op, GenericOp) or list(op.inputs) != [values]:
        return False
    linalg_op = LinalgOp(op)
    folded = linalg_op.combiner
    if folded is None or not isinstance(folded[0], by):
        return False
    return folded[1] is linalg_op.body.args[0]
