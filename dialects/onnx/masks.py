"""Values that places decide: triangles, diagonals, one of several, sequences turned round."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.casts import element_of_number
from ncc.dialects.onnx.gather import wrapped
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, axis_of, operator
from ncc.dialects.scalar import constant, equal, number_of_index, select, to_index
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, is_open


@operator("Trilu", since=14, inputs=(1, 2))
class TriluOp(Operator):
    """The upper or the lower triangle of matrices, zeros elsewhere."""

    SETTLES = (1,)

    upper = integer(1)

    @property
    def k(self) -> int:
        """The number of the diagonal up to which elements stay."""
        shift = self.optional(1)
        return 0 if shift is None else int(shift.reshape(()))

    def mask(self, x: Shape) -> Array:
        """Which elements of a matrix stay."""
        kept = np.tri(x[-2], x[-1], self.k - 1 if self.upper else self.k, np.bool_)
        return ~kept if self.upper else kept

    def infer(self, x: Shape, *others: Shape) -> Shape:
        if len(x) < 2:
            raise LayerError(f"no matrices: {shown(x)}")
        return x

    def reference(self, x: Array, *others: Array) -> Array:
        return np.where(self.mask(x.shape), x, np.zeros((), x.dtype))

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        if is_open(*x.shape[-2:]):
            diagonal = _diagonals(b, x.shape[-2:])
            loops = b.loops_of(x.shape)
            number = diagonal[loops[-2:]]
            kept = number >= self.k if self.upper else number <= self.k
        else:
            mask = b.constant(self.mask(x.shape), i1)
            loops = b.loops_of(x.shape)
            kept = mask[loops[-2:]]
        return b.map(loops, select(kept, x[loops], 0))


def _diagonals(b: Builder, shape: Shape) -> Tensor:
    """The number of the diagonal of each element of a matrix: 0 from the first element on, 1 above
    it, -1 below.
    """
    rows, columns = map(b.numbers, shape)
    i, j = at = b.loops_of(shape)
    return b.map(at, columns[j] - rows[i])


@operator("EyeLike", since=9)
class EyeLikeOp(Operator):
    """Ones on a diagonal, zeros elsewhere, in the shape of the operand."""

    dtype = integer()
    k = integer(0)

    def infer(self, x: Shape) -> Shape:
        if len(x) != 2:
            raise LayerError(f"no matrix: {shown(x)}")
        return x

    def element_types(self, *operands: Attribute) -> Attribute:
        return operands[0] if self.dtype is None else element_of_number(self.dtype)

    def reference(self, x: Array) -> Array:
        rows, columns = x.shape
        return np.eye(rows, columns, self.k)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        kind = self.element_types(x.element_type)
        if is_open(*x.shape):
            diagonal = _diagonals(b, x.shape)
            at = b.loops_of(x.shape)
            return b.map(at, select(equal(diagonal[at], self.k), constant(1, kind), 0))
        return b.constant(np.eye(x.shape[0], x.shape[1], self.k), kind)


@operator("Hardmax", since=13)
class HardmaxOp(Operator):
    """1 at the first of the largest elements along an axis, 0 elsewhere."""

    axis = integer(-1)

    def region(self, x: Shape) -> int:
        """The axis."""
        return axis_of(self.axis, len(x))

    def infer(self, x: Shape) -> Shape:
        self.region(x)
        return x

    def reference(self, x: Array) -> Array:
        axis = self.region(x.shape)
        found = np.zeros_like(x)
        np.put_along_axis(found, np.expand_dims(x.argmax(axis), axis), 1, axis)
        return found

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        axis = self.region(x.shape)
        numbers = b.numbers(x.shape[axis])
        loops, to, over = b.loops_around(x.shape, [axis])
        largest = b.max(to, over=over, of=x[loops])
        b.loops_of(x.shape)
        place = select(equal(x[loops], largest[to]), numbers[over], x.shape[axis])
        first = b.min(to, over=over, of=place)
        b.loops_of(x.shape)
        hit = equal(numbers[over], first[to])
        return b.map(loops, select(hit, constant(1, x.element_type), 0))


@operator("ReverseSequence", since=10, inputs=2)
class ReverseSequenceOp(Operator):
    """The first elements of each sample in the other order, as many as its length says."""

    batch_axis = integer(1)
    time_axis = integer(0)

    def infer(self, x: Shape, lengths: Shape) -> Shape:
        axes = axis_of(self.batch_axis, len(x)), axis_of(self.time_axis, len(x))
        if sorted(axes) != [0, 1] or not are_equal(lengths, (x[axes[0]],)):
            raise LayerError(f"lengths {shown(lengths)} of {shown(x)}")
        return x

    def reference(self, x: Array, lengths: Array) -> Array:
        found = x.copy()
        samples, results = (np.moveaxis(a, self.batch_axis, 0) for a in (x, found))
        for sample, result, length in zip(samples, results, lengths, strict=True):
            result[:length] = sample[:length][::-1]
        return found

    def lower(self, b: Builder, x: Tensor, lengths: Tensor) -> Tensor:
        batch, time = axis_of(self.batch_axis, x.rank), axis_of(self.time_axis, x.rank)
        loops = b.loops_of(x.shape)
        step = number_of_index(b.index(loops[time]), i64)
        length = wrapped(lengths[loops[batch]], x.shape[time] + 1)
        at = [b.index(loop) for loop in loops]
        at[time] = to_index(select(step < length, length - 1 - step, step))
        return b.map(loops, x.at(*at))


@operator("NonZero", since=9)
class NonZeroOp(Operator):
    """The places of elements that are not zero: known where x is a constant."""

    def infer(self, x: Shape) -> Shape:
        return (len(x), int(np.count_nonzero(self.constant(0))))

    def element_types(self, *operands: Attribute) -> Attribute:
        return i64

    def reference(self, x: Array) -> Array:
        return np.stack(np.nonzero(x)) if x.ndim else np.zeros((0, int(x != 0)), np.int64)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        raise NotYet("NonZero of a value that only the run knows")
