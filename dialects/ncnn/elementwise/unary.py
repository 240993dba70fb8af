"""Layers of one value in, one value out, the same function at every place.

Each states its function twice, side by side: `array` on a whole numpy array, `scalar` on the
element that a linalg operation reads. All arithmetic is that of the element type, with its
overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.dialects import math as math_dialect

from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
    real,
)
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    power,
    round_even,
    select,
    sin,
    sqrt,
    tanh,
    trunc,
    unary,
)


class Unary(Layer):
    """A function of one value, for every element of a blob of any rank."""

    def array(self, x: Array) -> Array:
        """The function, on an array."""
        raise NotImplementedError(f"{self.name} has no function on arrays")

    def scalar(self, x: Scalar) -> Scalar:
        """The function, on one value."""
        raise NotImplementedError(f"{self.name} has no function on values")

    def infer(self, x: Shape) -> Shape:
        return x

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return self.array(x).astype(x.dtype, copy=False)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, self.scalar(x[at]))


def declared(
    module: str,
    type_name: str,
    doc: str,
    array: Callable[[Array], Array],
    scalar: Callable[[Scalar], Scalar],
) -> type[Unary]:
    """Declare a layer without params in a module, by its function of an array and of one value."""
    members = {
        "__doc__": doc,
        "__module__": module,
        "array": lambda self, x: array(x),
        "scalar": lambda self, x: scalar(x),
    }
    return layer(type_name)(type(f"{type_name}Op", (Unary,), members))


def erf_array(x: Array) -> Array:
    """The error function of every element (numpy has none)."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), x.dtype, x.size).reshape(x.shape)


AbsValOp = declared(__name__, "AbsVal", "|x|.", np.abs, absolute)
ErfOp = declared(__name__, "Erf", "erf(x).", erf_array, erf)


@layer("Exp")
class ExpOp(Unary):
    """base to the (shift + scale x); base -1 stands for e."""

    base = real(0, -1.0)
    scale = real(1, 1.0)
    shift = real(2)

    def array(self, x: Array) -> Array:
        line = x * self.scale + self.shift
        return np.exp(line) if self.base == -1.0 else np.power(np.float32(self.base), line)

    def scalar(self, x: Scalar) -> Scalar:
        line = x * self.scale + self.shift
        return exp(line) if self.base == -1.0 else power(self.base, line)


@layer("Log")
class LogOp(Unary):
    """The logarithm of shift + scale x to the base; base -1 stands for e."""

    base = real(0, -1.0)
    scale = real(1, 1.0)
    shift = real(2)

    def check(self) -> None:
        if self.base != -1.0 and (self.base <= 0.0 or self.base == 1.0):
            raise LayerError(f"there is no logarithm to the base {self.base}", "base")

    def array(self, x: Array) -> Array:
        natural = np.log(x * self.scale + self.shift)
        return natural if self.base == -1.0 else natural / math.log(self.base)

    def scalar(self, x: Scalar) -> Scalar:
        natural = log(x * self.scale + self.shift)
        return natural if self.base == -1.0 else natural * (1.0 / math.log(self.base))


@layer("Power")
class PowerOp(Unary):
    """(shift + scale x) to the power, by C's powf."""

    power = real(0, 1.0)
    scale = real(1, 1.0)
    shift = real(2)

    def array(self, x: Array) -> Array:
        return np.power(x * self.scale + self.shift, np.float32(self.power))

    def scalar(self, x: Scalar) -> Scalar:
        return power(x * self.scale + self.shift, self.power)


Function: TypeAlias = tuple[Callable[[Array], Array], Callable[[Scalar], Scalar]]


def _sign(x: Scalar) -> Scalar:
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0))


def _sign_array(x: Array) -> Array:
    return np.asarray(np.asarray(x > 0).astype(x.dtype) - np.asarray(x < 0).astype(x.dtype))


UNARY_FUNCTIONS: tuple[Function, ...] = (
    (np.abs, absolute),
    (np.negative, lambda x: -x),
    (np.floor, floor),
    (np.ceil, ceil),
    (np.square, lambda x: x * x),
    (np.sqrt, sqrt),
    (lambda x: 1.0 / np.sqrt(x), lambda x: 1.0 / sqrt(x)),
    (np.exp, exp),
    (np.log, log),
    (np.sin, sin),
    (np.cos, cos),
    (np.tan, unary(math_dialect.TanOp)),
    (np.arcsin, unary(math_dialect.AsinOp)),
    (np.arccos, unary(math_dialect.AcosOp)),
    (np.arctan, unary(math_dialect.AtanOp)),
    (lambda x: 1.0 / x, lambda x: 1.0 / x),
    (np.tanh, tanh),
    (np.log10, unary(math_dialect.Log10Op)),
    (np.rint, round_even),
    (np.trunc, trunc),
    (_sign_array, _sign),
    (np.expm1, unary(math_dialect.ExpM1Op)),
    (np.sinh, unary(math_dialect.SinhOp)),
    (np.arcsinh, unary(math_dialect.AsinhOp)),
    (np.cosh, unary(math_dialect.CoshOp)),
    (np.arccosh, unary(math_dialect.AcoshOp)),
    (np.arctanh, unary(math_dialect.AtanhOp)),
    (np.log1p, unary(math_dialect.Log1pOp)),
)
"""UnaryOp's functions by its op_type. Rounding goes to even; the sign of NaN is 0."""


@layer("UnaryOp")
class UnaryOpOp(Unary):
    """One of 28 functions."""

    op_type = integer(0)

    def check(self) -> None:
        check_choice(self, "op_type", range(len(UNARY_FUNCTIONS)))

    def array(self, x: Array) -> Array:
        return UNARY_FUNCTIONS[self.op_type][0](x)

    def scalar(self, x: Scalar) -> Scalar:
        return UNARY_FUNCTIONS[self.op_type][1](x)
