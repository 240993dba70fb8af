"""Activations that were written out as arithmetic, as one layer each.

| name           | terms             | f                          | becomes      |
|----------------|-------------------|----------------------------|--------------|
| fuse_swish     | x f               | sigmoid(x)                 | Swish        |
| fuse_hardswish | k x f             | HardSigmoid, Clip from 0   | HardSwish    |
| fuse_gelu      | x / 2 + x f / 2   | erf(x / sqrt(2))           | GELU         |
| fuse_gelu      | x / 2 + x f / 2   | tanh(p x + 0.044715 p x^3) | GELU by tanh |

p is sqrt(2 / pi). The tree may multiply and add in any order. At minus infinity they may differ:
0 times infinity is NaN, and sigmoid is limited.

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, sqrt
from typing import NamedTuple

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.optimizations.elementwise_terms import Reading, Terms, is_tanh, same_terms
from ncc.compiler.ncnn.optimizations.optimization import WrittenOut, optimization
from ncc.dialects.ncnn.canonicalize.pattern import Match
from ncc.dialects.ncnn.elementwise.activation_layers import (
    ClipOp,
    GELUOp,
    HardSigmoidOp,
    HardSwishOp,
    SigmoidOp,
    SwishOp,
    TanHOp,
)
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp, EltwiseOp
from ncc.dialects.ncnn.elementwise.unary import ErfOp, PowerOp, UnaryOpOp
from ncc.dialects.ncnn.layer import Layer, ParamValue

DEPTH = 8
"""How many layers deep a written-out activation may be."""

ARITHMETIC = (BinaryOpOp, EltwiseOp, UnaryOpOp, PowerOp)

HALF_AND_HALF: Terms = {(1, 0): 0.5, (1, 1): 0.5}
BY_ERF: Terms = {(1, 0): sqrt(0.5)}
BY_TANH: Terms = {(1, 0): sqrt(2 / pi), (3, 0): 0.044715 * sqrt(2 / pi)}


class WrittenActivation(NamedTuple):
    """An arithmetic tree: its terms, f, what f is given in terms of x, and the layers of it all."""

    x: SSAValue
    terms: Terms
    function: Layer
    argument: Terms
    layers: Match


def _inside(op: Layer) -> list[Layer]:
    """The layers of the tree below a layer, each once, the nearest first."""
    found: dict[Layer, None] = {}
    level: list[Layer] = [op]
    for _ in range(DEPTH + 1):
        makers = [operand.owner for layer in level for operand in layer.operands]
        new = dict.fromkeys(m for m in makers if isinstance(m, Layer) and m not in found)
        found |= new
        level = [layer for layer in new if isinstance(layer, ARITHMETIC)]
    return list(found)


class FuseWritten(WrittenOut):
    """terms(x, f(terms(x))) = activation(x)."""

    differs_on = ("infinities",)
    functions: tuple[type[Layer], ...]

    def match(self, op: Layer) -> Match | None:
        written = self._written(op)
        return None if written is None else written.layers

    def made(self, op: Layer) -> tuple[type[Layer], Sequence[SSAValue], Mapping[str, ParamValue]]:
        written = self._written(op)
        made = None if written is None else self.activation(written)
        if written is None or made is None:
            raise CompilerBug(f"{self.name} does not find what it found", "optimize")
        return made[0], [written.x], made[1]

    def activation(
        self, written: WrittenActivation
    ) -> tuple[type[Layer], dict[str, ParamValue]] | None:
        """The layer that computes the same, and its params; None where there is none."""
        raise NotImplementedError(self.name)

    def _written(self, op: Layer) -> WrittenActivation | None:
        """The first reading of a tree that is an activation of one of its values."""
        inside = _inside(op)
        for function in inside:
            if not isinstance(function, self.functions) and not is_tanh(function, self.functions):
                continue
            below = [function, *_inside(function)]
            for x in dict.fromkeys(operand for layer in below for operand in layer.operands):
                written = self._read(op, function, x, inside)
                if written is not None and self.activation(written) is not None:
                    return written
        return None

    def _read(
        self, op: Layer, function: Layer, x: SSAValue, inside: list[Layer]
    ) -> WrittenActivation | None:
        """The tree as one of x and of a function of x, of which little has to be looked at."""
        inner = Reading(x, (), set(_inside(function)))
        argument = inner.terms(function.operands[0])
        if argument is None:
            return None
        outer = Reading(x, self.functions, {op, *inside})
        terms = outer.terms(op.results[0])
        if terms is None or outer.function is not function:
            return None
        layers = tuple(dict.fromkeys([*inner.layers, *outer.layers]))
        return WrittenActivation(x, terms, function, argument, layers)


@optimization(BinaryOpOp, EltwiseOp)
class FuseSwish(FuseWritten):
    """x sigmoid(x) = Swish(x)."""

    name = "fuse_swish"
    functions = (SigmoidOp,)

    def activation(
        self, written: WrittenActivation
    ) -> tuple[type[Layer], dict[str, ParamValue]] | None:
        matches = same_terms(written.terms, {(1, 1): 1.0})
        return (SwishOp, {}) if matches and same_terms(written.argument, {(1, 0): 1.0}) else None


@optimization(BinaryOpOp, EltwiseOp)
class FuseHardSwish(FuseWritten):
    """x HardSigmoid(x; alpha, beta) = HardSwish(x; alpha, beta).

    k x Clip(s x + t, 0, 1 / k) = HardSwish(x; k s, k t) where s > 0.
    """

    name = "fuse_hardswish"
    functions = (HardSigmoidOp, ClipOp)

    def activation(
        self, written: WrittenActivation
    ) -> tuple[type[Layer], dict[str, ParamValue]] | None:
        function, argument = written.function, written.argument
        if isinstance(function, HardSigmoidOp):
            matches = same_terms(written.terms, {(1, 1): 1.0})
            if not matches or not same_terms(argument, {(1, 0): 1.0}):
                return None
            return HardSwishOp, {"alpha": function.alpha, "beta": function.beta}
        if not isinstance(function, ClipOp) or function.min != 0 or function.max <= 0:
            return None
        slope, offset = argument.get((1, 0), 0.0), argument.get((0, 0), 0.0)
        line = {power: value for power, value in ((1, slope), (0, offset)) if value}
        if slope <= 0 or argument != {(power, 0): value for power, value in line.items()}:
            return None
        k = 1 / function.max
        if not same_terms(written.terms, {(1, 1): k}):
            return None
        return HardSwishOp, {"alpha": slope * k, "beta": offset * k}


@optimization(BinaryOpOp, EltwiseOp)
class FuseGELU(FuseWritten):
    """x / 2 + x f(x) / 2 = GELU(x), f by erf or by tanh."""

    name = "fuse_gelu"
    functions = (ErfOp, TanHOp)

    def activation(
        self, written: WrittenActivation
    ) -> tuple[type[Layer], dict[str, ParamValue]] | None:
        if not same_terms(written.terms, HALF_AND_HALF):
            return None
        if isinstance(written.function, ErfOp):
            return (GELUOp, {}) if same_terms(written.argument, BY_ERF) else None
        return (GELUOp, {"fast_gelu": 1}) if same_terms(written.argument, BY_TANH) else None
