"""The functions of mathematics as functions of the module itself: compiled code calls no library.

    math.exp %x : vector<16xf32>   ->   llvm.call @ncc.exp.v16f32(%x)

Each is written once for a type, at its first call, as code without branches, and LLVM inlines it.
exp, tanh and erf are within 2 units of the last place for all floats, on every target
(docs/accuracy.md has the table). Relative errors are below 2e-7 for log and the rounding functions,
below 3e-7 for most others, and below 5e-7 for all (a little more on targets without fused
multiply-add). Functions of float64 are within 4 units of the last place, tan and pow within 8.
tests/compiler/llvm/formulas check these bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, BFloat16Type, Float16Type, IntegerType, StringAttr, f32
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.formulas import (
    error_function,
    exponential,
    hyperbolic,
    logarithm,
    logistic,
    power,
    rounding,
    trigonometric,
)
from ncc.compiler.llvm.formulas.real import Lanes
from ncc.compiler.llvm.instructions import element, lanes
from ncc.compiler.llvm.llvm_builder import VOID, LlvmBuilder, function_op, suffix, with_lanes
from ncc.compiler.target import Target

Formula = Callable[..., Lanes]

FORMULAS: Mapping[str, Formula] = {
    "floor": rounding.floor,
    "ceil": rounding.ceil,
    "trunc": rounding.trunc,
    "round": rounding.round,
    "roundeven": rounding.round_even,
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "powf": power.pow,
    "cbrt": power.cbrt,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "logistic": logistic.logistic,
    "swish": logistic.swish,
    "asinh": hyperbolic.asinh,
    "acosh": hyperbolic.acosh,
    "atanh": hyperbolic.atanh,
    "erf": error_function.erf,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": trigonometric.asin,
    "acos": trigonometric.acos,
    "atan": trigonometric.atan,
    "atan2": trigonometric.atan2,
}
"""Functions of float32 or float64, for a scalar or any number of lanes, by their names in MLIR."""


OF_INTEGERS: Mapping[str, Formula] = {"ipowi": power.integer_power}
"""Functions of integers."""


class Library:
    """The functions that a module calls."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._functions: dict[str, llvm.FuncOp] = {}

    @property
    def functions(self) -> Sequence[llvm.FuncOp]:
        """Their definitions and declarations, for the module."""
        return tuple(self._functions.values())

    def declare(
        self, symbol: str, arguments: Sequence[Attribute], result: Attribute | None = None
    ) -> None:
        """A function that another module defines."""
        if symbol not in self._functions:
            self._functions[symbol] = function_op(symbol, arguments, result or VOID)

    def define(self, symbol: str, make: Callable[[], llvm.FuncOp]) -> None:
        """A function of this module, written at its first call."""
        if symbol not in self._functions:
            self._functions[symbol] = make()

    def call(self, builder: LlvmBuilder, name: str, arguments: Sequence[SSAValue]) -> SSAValue:
        """Call a function of the library; half precision is computed in float32."""
        type = arguments[0].type
        if isinstance(element(type), Float16Type | BFloat16Type):
            single = with_lanes(f32, lanes(type))
            wide = [builder.convert(llvm.FPExtOp, argument, single) for argument in arguments]
            return builder.convert(llvm.FPTruncOp, self.call(builder, name, wide), type)
        integers = isinstance(element(type), IntegerType)
        formula = (OF_INTEGERS if integers else FORMULAS).get(name)
        if formula is None:
            raise CompilerBug(f"{name} of {type}", pass_name="lower-to-llvm")
        symbol = f"ncc.{name}.{suffix(type)}"
        self.define(symbol, lambda: self._written(symbol, formula, arguments))
        return builder.call(symbol, arguments, [type])[0]

    def _written(self, symbol: str, formula: Formula, like: Sequence[SSAValue]) -> llvm.FuncOp:
        types = [argument.type for argument in like]
        block = Block(arg_types=types)
        builder = LlvmBuilder(block, self.target)
        result = formula(*(Lanes(builder, argument) for argument in block.args))
        builder.emit(llvm.ReturnOp.create(operands=[result.value]))
        said = {"passthrough": ArrayAttr([StringAttr("alwaysinline")])}
        return function_op(symbol, types, types[0], Region(block), is_internal=True, said=said)
