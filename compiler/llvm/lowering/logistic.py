"""Divisions, and the logistic function, which is a division in other dialects.

    y / (exp(-x) + 1)   ->   y * ncc.logistic(x)
    x / (exp(-x) + 1)   ->   ncc.swish(x)

A sum, an exponential and a negation are not written if only such divisions read them.
"""

from __future__ import annotations

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.llvm.instructions import element
from ncc.compiler.llvm.lowering.constants import number_of
from ncc.compiler.llvm.lowering.function import Function, Handler
from ncc.dialects.operation import only_result, operands_of


def lower_division(function: Function, op: arith.DivfOp) -> None:
    """A division as in IEEE 754; but y / (exp(-x) + 1) is y * logistic(x), without a division."""
    builder = function.builder
    argument = _logistic_argument(function, op.rhs)
    if argument is None:
        lhs, rhs = function.values(op.operands)
        result = builder.binary(llvm.FDivOp, lhs, rhs)
    elif number_of(op.lhs) == 1.0:
        result = function.library.call(builder, "logistic", [argument])
    elif function.value(op.lhs) is argument:
        result = function.library.call(builder, "swish", [argument])
    else:
        share = function.library.call(builder, "logistic", [argument])
        result = builder.binary(llvm.FMulOp, function.value(op.lhs), share)
    function.bind(op.result, result)


def _logistic_argument(function: Function, value: SSAValue) -> SSAValue | None:
    """x if the value is exp(-x) + 1."""
    raised = _raised(value.owner)
    if raised is None:
        return None
    if isinstance(raised.operand.owner, arith.NegfOp):
        return function.value(raised.operand.owner.operand)
    return function.builder.unary(llvm.FNegOp, function.value(raised.operand))


def _raised(total: Operation | Block) -> math.ExpOp | None:
    """The exponential in exp(x) + 1, of float32."""
    if type(total) is not arith.AddfOp or element(only_result(total).type) != f32:
        return None
    lhs, rhs = operands_of(total)
    for raised, one in ((lhs, rhs), (rhs, lhs)):
        exponential = raised.owner
        if type(exponential) is math.ExpOp and number_of(one) == 1.0:
            return exponential
    return None


def _of_logistic(op: Operation) -> bool:
    """Whether only divisions read it, as a part of exp(-x) + 1: then they do not need it."""
    value, kind = only_result(op), type(op)
    if kind is arith.AddfOp and _raised(op) is None:
        return False
    users = [use.operation for use in value.uses]
    if kind is arith.AddfOp:
        return all(type(user) is arith.DivfOp and user.lhs is not value for user in users)
    if kind is math.ExpOp:
        return all(_raised(user) is op and _of_logistic(user) for user in users)
    return all(type(user) is math.ExpOp and _of_logistic(user) for user in users)


def unless_of_logistic(handler: Handler) -> Handler:
    """A lowering that writes nothing for a part of a logistic function."""

    def handle(function: Function, op: Operation) -> None:
        if not _of_logistic(op):
            handler(function, op)

    return handle
