"""Arithmetic on float lanes with Python's operators, so that a formula reads as a formula.

Every operation appends instructions through a Builder; numbers mixed in become constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float64Type, IntegerType, f32, f64, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.formulas import avx2, avx512
from ncc.compiler.llvm.instructions import element, lanes
from ncc.compiler.llvm.llvm_builder import LlvmBuilder, with_lanes

# Added to a float much smaller than it, 1.5 * 2**23 (1.5 * 2**52) leaves no bit for a fraction.
_MAGIC32 = 12582912.0
_MAGIC64 = 6755399441055744.0
_MAGIC32_BITS = 0x4B400000


MAGIC_WITH_BIAS = _MAGIC32 + 127.0
"""If it is added to a float32 n, the low bits of the sum are the biased exponent of 2**n."""
MAGIC_BITS_WITH_BIAS = _MAGIC32_BITS + 127


@dataclass(frozen=True, eq=False)
class Lanes:
    """A scalar or a vector of float32, float64, int32 or int64, or of conditions."""

    builder: LlvmBuilder
    value: SSAValue

    def filled(self, number: float) -> Lanes:
        """A constant of the same type, with as many lanes."""
        if isinstance(element(self.value.type), IntegerType):
            return self._with(self.builder.constant(int(number), self.value.type))
        return self._with(self.builder.constant(float(number), self.value.type))

    def _of(self, other: Lanes | float) -> Lanes:
        return other if isinstance(other, Lanes) else self.filled(other)

    def _with(self, value: SSAValue) -> Lanes:
        return Lanes(self.builder, value)

    def _binary(
        self, real: type[Operation], integer: type[Operation], lhs: Lanes, rhs: Lanes
    ) -> Lanes:
        op = integer if isinstance(element(self.value.type), IntegerType) else real
        return self._with(self.builder.binary(op, lhs.value, rhs.value))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._binary(llvm.FAddOp, llvm.AddOp, self, self._of(other))

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._binary(llvm.FSubOp, llvm.SubOp, self, self._of(other))

    def __rsub__(self, other: float) -> Lanes:
        return self._of(other) - self

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._binary(llvm.FMulOp, llvm.MulOp, self, self._of(other))

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._with(self.builder.binary(llvm.FDivOp, self.value, self._of(other).value))

    def __rtruediv__(self, other: float) -> Lanes:
        return self._of(other) / self

    def __neg__(self) -> Lanes:
        return self._with(self.builder.unary(llvm.FNegOp, self.value))

    def __abs__(self) -> Lanes:
        return self._with(self.builder.unary(llvm.FAbsOp, self.value))

    def __and__(self, other: Lanes | int) -> Lanes:
        return self._integer(llvm.AndOp, other)

    def __or__(self, other: Lanes | int) -> Lanes:
        return self._integer(llvm.OrOp, other)

    def __lshift__(self, other: int) -> Lanes:
        return self._integer(llvm.ShlOp, other)

    def __rshift__(self, other: int) -> Lanes:
        """The sign is kept."""
        return self._integer(llvm.AShrOp, other)

    def _integer(self, op: type[Operation], other: Lanes | int) -> Lanes:
        return self._with(self.builder.binary(op, self.value, self._of(other).value))

    def times_plus(self, factor: Lanes | float, summand: Lanes | float) -> Lanes:
        """self * factor + summand, rounded once if the target has the instruction."""
        operands = (self.value, self._of(factor).value, self._of(summand).value)
        return self._with(self.builder.multiply_add(*operands))

    def test(self, predicate: str, other: Lanes | float) -> Lanes:
        """Compare: an `o...` predicate is false for NaN, a `u...` predicate true."""
        return self._with(self.builder.compare(predicate, self.value, self._of(other).value))

    def choose(self, lhs: Lanes, rhs: Lanes | float) -> Lanes:
        """lhs where this condition holds, otherwise rhs."""
        return self._with(self.builder.select(self.value, lhs.value, lhs._of(rhs).value))

    def inverted(self) -> Lanes:
        """The condition that holds where this one does not."""
        true = self.builder.constant(1, self.value.type)
        return self._with(self.builder.binary(llvm.XOrOp, self.value, true))

    def at_least(self, limit: float) -> Lanes:
        """max(self, limit); NaN stays."""
        bound = self._of(limit)
        return bound.test("ogt", self).choose(bound, self)

    def at_most(self, limit: float) -> Lanes:
        """min(self, limit); NaN stays."""
        bound = self._of(limit)
        return bound.test("olt", self).choose(bound, self)

    def within(self, limit: float) -> Lanes:
        """min(max(self, -limit), limit), which may be a number for NaN."""
        if not self.fills_avx512:
            return self.at_least(-limit).at_most(limit)
        return self._with(avx512.within(self.builder, self.value, self._of(limit).value))

    @property
    def bits_of_integers(self) -> int:
        """How many bits an integer has."""
        kind = element(self.value.type)
        if not isinstance(kind, IntegerType):
            raise CompilerBug(f"{kind} is no integer", pass_name="lower-to-llvm")
        return int(kind.width.data)

    @property
    def is_double(self) -> bool:
        """Whether these are float64."""
        return isinstance(element(self.value.type), Float64Type)

    @property
    def fills_avx512(self) -> bool:
        """Whether these lanes fill a register of AVX-512."""
        return avx512.holds(self.builder, self.value.type)

    @property
    def fills_avx2(self) -> bool:
        """Whether these lanes fill a register of a target with AVX2 and nothing wider."""
        return avx2.holds(self.builder, self.value.type)

    @property
    def divides(self) -> bool:
        """Whether a division is faster on the target than an estimate of the reciprocal."""
        return avx512.divides(self.builder)

    def looked_up(self, table: Sequence[float]) -> Lanes:
        """Numbers of a table of 16 or 32, by the low bits of integers that fill a register."""
        return self._with(avx512.looked_up(self.builder, table, self.value))

    def looked_up_of_eight(self, table: Sequence[int]) -> Lanes:
        """Integers of a table of 8, by the low bits of integers that fill a register of AVX2."""
        return self._with(avx2.looked_up(self.builder, table, self.value))

    def piecewise(self, pieces: Sequence[Sequence[float]], width: float) -> Lanes:
        """32 polynomials around 0, width, ... 31 * width, for self >= 0; the width is a power of
        two.

        The lanes fill a register of AVX-512; self is less than 31.5 widths.
        """
        shifted = self + _MAGIC32 * width
        distance = self - (shifted - _MAGIC32 * width)
        indices = shifted.bits()
        *rest, total = (indices.looked_up(column) for column in zip(*pieces, strict=True))
        for coefficient in reversed(rest):
            total = total.times_plus(distance, coefficient)
        return total

    def inverse(self) -> Lanes:
        """1 / self within 2 ulp, for 1 <= self < 2**127: by an estimate and a Newton step if a
        division takes longer.
        """
        if self.divides or not self.fills_avx512:
            return 1.0 / self
        guess = self._with(avx512.reciprocal_estimate(self.builder, self.value))
        return guess.times_plus((-self).times_plus(guess, 1.0), guess)

    def sqrt(self) -> Lanes:
        """The square root, rounded correctly."""
        return self._with(self.builder.unary(llvm.FSqrtOp, self.value))

    def with_sign_of(self, other: Lanes) -> Lanes:
        """The magnitude of self with the sign of other."""
        return self._with(self.builder.binary(llvm.FCopySignOp, self.value, other.value))

    def polynomial(self, coefficients: Sequence[float]) -> Lanes:
        """c0 + c1*x + c2*x**2 + ..., by pairs (Estrin's scheme): half the latency."""
        pairs = [
            self.times_plus(coefficients[k + 1], coefficients[k])
            if k + 1 < len(coefficients)
            else self._of(coefficients[k])
            for k in range(0, len(coefficients), 2)
        ]
        total = pairs.pop()
        square = self * self if pairs else self
        for pair in reversed(pairs):
            total = total.times_plus(square, pair)
        return total

    def nested_polynomial(self, coefficients: Sequence[float]) -> Lanes:
        """c0 + x * (c1 + x * (c2 + ...)) (Horner's scheme): one operation fewer, for code whose
        throughput matters more than its latency.
        """
        *rest, last = coefficients
        total = self._of(last)
        for coefficient in reversed(rest):
            total = total.times_plus(self, coefficient)
        return total

    def rounded(self) -> tuple[Lanes, Lanes]:
        """The nearest integer, as a float and as an integer whose low bits are right.

        For |self| < 2**22 (float32) or 2**51 (float64).
        """
        wide = self.is_double
        shifted = self + (_MAGIC64 if wide else _MAGIC32)
        nearest = shifted - (_MAGIC64 if wide else _MAGIC32)
        bits = shifted.bits()
        return nearest, bits if wide else bits - _MAGIC32_BITS

    def times_power_of_two(self, nearest: Lanes, exponent: Lanes) -> Lanes:
        """self * 2**n, rounded once; n is given as a float and as an integer, |n| < 253 (float32)
        or 2045 (float64).

        Without an instruction, in two steps, so that neither factor overflows.
        """
        if self.fills_avx512:
            return self.scaled(nearest)
        half = exponent >> 1
        return self * power_of_two(half) * power_of_two(exponent - half)

    def scaled(self, exponent: Lanes) -> Lanes:
        """self * 2**floor(exponent), rounded once, in lanes that fill a register of AVX-512."""
        return self._with(avx512.times_power_of_two(self.builder, self.value, exponent.value))

    def bits(self) -> Lanes:
        """A float's bits as an integer."""
        wide = self.is_double
        return self._converted(llvm.BitcastOp, i64 if wide else i32)

    def as_float(self) -> Lanes:
        """An integer's bits as a float."""
        return self._converted(llvm.BitcastOp, f32 if element(self.value.type) == i32 else f64)

    def to_double(self) -> Lanes:
        """float32 to float64."""
        return self._converted(llvm.FPExtOp, f64)

    def to_single(self) -> Lanes:
        """float64 to float32, rounded."""
        return self._converted(llvm.FPTruncOp, f32)

    def to_real(self) -> Lanes:
        """int32 to float32, int64 to float64, rounded."""
        return self._converted(llvm.SIToFPOp, f64 if element(self.value.type) == i64 else f32)

    def widened(self) -> Lanes:
        """16 bits as an int32 that is not negative."""
        return self._converted(llvm.ZExtOp, i32)

    def shortened(self) -> Lanes:
        """int32 to int16, the low bits."""
        return self._converted(llvm.TruncOp, i16)

    def narrowed(self) -> Lanes:
        """int64 to int32, the low bits."""
        return self._converted(llvm.TruncOp, i32)

    def _converted(self, op: type[Operation], scalar: Attribute) -> Lanes:
        target = with_lanes(scalar, lanes(self.value.type))
        return self._with(self.builder.convert(op, self.value, target))


def power_of_two(exponent: Lanes) -> Lanes:
    """2**n for an integer n from -126 to 127 (int64: from -1022 to 1023), by its bits."""
    if element(exponent.value.type) == i64:
        return ((exponent + 1023) << 52).as_float()
    return ((exponent + 127) << 23).as_float()
