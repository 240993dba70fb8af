"""Some axes folded into one value: sums, means, maxima, and where these are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute

from ncc.dialects.element import is_integer
from ncc.dialects.index_notation import Builder, Indices, Tensor
from ncc.dialects.onnx.attribute import integer, integers
from ncc.dialects.onnx.operator import (
    OPERATORS,
    Array,
    NotYet,
    Operator,
    Shape,
    axes_of,
    axis_of,
    objects,
    operator,
)
from ncc.dialects.onnx.size_arithmetic import FOLDS
from ncc.dialects.scalar import Scalar, absolute, equal, exp, log, number_of_size, select, sqrt


class Reduction(Operator):
    """A fold of x, or of a function of it, over some axes; and a function of that.

    Which axes is an attribute or an operand; all of them where nobody says.
    """

    keepdims = integer(1)
    noop_with_empty_axes: Any = None

    def said(self) -> Sequence[int] | None:
        """The axes that the file says."""
        raise NotImplementedError

    def region(self, x: Shape) -> tuple[int, ...]:
        """The axes that are folded, in their order."""
        said = self.said()
        if said is None or not len(said):
            return () if self.noop_with_empty_axes else tuple(range(len(x)))
        return tuple(sorted(axes_of(said, len(x))))

    def infer(self, x: Shape, *others: Shape) -> Shape:
        region = self.region(x)
        if self.keepdims:
            return tuple(1 if axis in region else n for axis, n in enumerate(x))
        return tuple(n for axis, n in enumerate(x) if axis not in region)

    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        """The fold in numpy, with the axes kept."""
        raise NotImplementedError

    def reference(self, x: Array, *others: Array) -> Array:
        return np.asarray(self.array(x, self.region(x.shape))).reshape(self.infer(x.shape))

    def of_sizes(self, x: Array, *others: Array) -> Array | None:
        function = FOLDS.get(self.type_name)
        if function is None or len(self.region(x.shape)) < x.ndim:
            return None
        return objects([reduce(function, x.flat)], self.infer(x.shape))

    def fold(self, b: Builder, x: Tensor, to: Indices, over: Indices, at: Indices) -> Tensor:
        """The fold of x[at] over some loops."""
        raise NotImplementedError

    def finish(self, value: Scalar, count: int) -> Scalar:
        """The function of the fold of so many elements."""
        return value

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        region, shape = self.region(x.shape), self.infer(x.shape)
        loops = b.loops_of(x.shape)
        to = [loop for axis, loop in enumerate(loops) if axis not in region]
        over = [loops[axis] for axis in region]
        folded = self.fold(b, x, to, over, loops)
        count = prod(x.shape[axis] for axis in region)
        at = b.loops_of(folded.shape)
        finished = self.finish(folded[at], count)
        made = folded if type(self).finish is Reduction.finish else b.map(at, finished)
        return b.reshape(made, shape)


class _Sum(Reduction):
    """A sum of a function of x."""

    def before(self, x: Scalar) -> Scalar:
        """The function of each element."""
        return x

    def fold(self, b: Builder, x: Tensor, to: Indices, over: Indices, at: Indices) -> Tensor:
        return b.sum(to, over=over, of=self.before(x[at]))

    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return x.sum(axes, dtype=x.dtype)


class _Mean(_Sum):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        if np.issubdtype(x.dtype, np.integer):
            raise NotYet("a mean of integers")
        return x.mean(axes)

    def finish(self, value: Scalar, count: int) -> Scalar:
        if is_integer(value.type):
            raise NotYet("a mean of integers")
        return value / number_of_size(count, value.type)


class _Largest(Reduction):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return x.max(axes)

    def fold(self, b: Builder, x: Tensor, to: Indices, over: Indices, at: Indices) -> Tensor:
        return b.max(to, over=over, of=x[at], nan=True)


class _Smallest(Reduction):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return x.min(axes)

    def fold(self, b: Builder, x: Tensor, to: Indices, over: Indices, at: Indices) -> Tensor:
        return b.min(to, over=over, of=x[at], nan=True)


class _Product(Reduction):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return x.prod(axes, dtype=x.dtype)

    def fold(self, b: Builder, x: Tensor, to: Indices, over: Indices, at: Indices) -> Tensor:
        return b.product(to, over=over, of=x[at])


class _L1(_Sum):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return np.abs(x).sum(axes, dtype=x.dtype)

    def before(self, x: Scalar) -> Scalar:
        return absolute(x)


class _SumSquare(_Sum):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return np.square(x).sum(axes, dtype=x.dtype)

    def before(self, x: Scalar) -> Scalar:
        return x * x


class _L2(_SumSquare):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return np.sqrt(super().array(x, axes))

    def finish(self, value: Scalar, count: int) -> Scalar:
        if is_integer(value.type):
            raise NotYet("a norm of integers")
        return sqrt(value)


class _LogSum(_Sum):
    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        return np.log(x.sum(axes))

    def finish(self, value: Scalar, count: int) -> Scalar:
        if is_integer(value.type):
            raise NotYet("a logarithm of integers")
        return log(value)


class _LogSumExp(_Sum):
    """The largest element is taken out, so that nothing overflows."""

    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        largest = x.max(axes, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0)
        return np.log(np.exp(x - shift).sum(axes, keepdims=True)) + shift

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        if is_integer(x.element_type):
            raise NotYet("a logarithm of integers")
        region = self.region(x.shape)
        loops = b.loops_of(x.shape)
        to = [loop for axis, loop in enumerate(loops) if axis not in region]
        over = [loops[axis] for axis in region]
        kept: Indices = to or [0]
        largest = b.max(to, over=over, of=x[loops])
        at = b.loops_of(largest.shape)
        infinite = equal(absolute(largest[at]), float("inf"))
        shift = b.map(at, select(infinite, 0.0, largest[at]))
        b.loops_of(x.shape)
        total = b.sum(to, over=over, of=exp(x[loops] - shift[kept]))
        at = b.loops_of(total.shape)
        return b.reshape(b.map(at, log(total[at]) + shift[at]), self.infer(x.shape))


class _ByOperand:
    """Axes are an operand."""

    SETTLES: ClassVar[tuple[int, ...]] = (1,)

    noop_with_empty_axes = integer(0)

    def said(self: Any) -> Sequence[int] | None:
        """The axes that the file says."""
        axes = self.optional(1)
        return None if axes is None else [int(axis) for axis in axes.reshape(-1)]


class _ByAttribute:
    """Axes are an attribute."""

    axes = integers()

    def said(self: Any) -> Sequence[int] | None:
        """The axes that the file says."""
        found: Sequence[int] | None = self.axes
        return found


KINDS: dict[str, type[Reduction]] = {
    "ReduceSum": _Sum,
    "ReduceMean": _Mean,
    "ReduceMax": _Largest,
    "ReduceMin": _Smallest,
    "ReduceProd": _Product,
    "ReduceL1": _L1,
    "ReduceL2": _L2,
    "ReduceSumSquare": _SumSquare,
    "ReduceLogSum": _LogSum,
    "ReduceLogSumExp": _LogSumExp,
}
"""What each operator folds."""


def _declare(name: str, kind: type[Reduction]) -> None:
    """Both forms of an operator: axes became an operand in op set 18, of ReduceSum in 13."""
    since = 13 if name == "ReduceSum" else 18
    members = {"__doc__": kind.__doc__ or name, "__module__": __name__}
    by_operand = type(f"{name}Op", (_ByOperand, kind), dict(members))
    operator(name, since=since, inputs=(1, 2))(by_operand)
    by_attribute = type(f"{name}V1Op", (_ByAttribute, kind), dict(members))
    operator(name, since=1, until=since - 1)(by_attribute)


for _name, _kind in KINDS.items():
    _declare(_name, _kind)

ReduceMaxOp: type[Operator] = OPERATORS["", "ReduceMax"][0]


class _Place(Operator):
    """The place of an extreme element along an axis: the first, or the last of several."""

    LARGEST: ClassVar[bool]

    axis = integer(0)
    keepdims = integer(1)
    select_last_index = integer(0)

    def infer(self, x: Shape) -> Shape:
        axis = axis_of(self.axis, len(x))
        return (*x[:axis], *([1] if self.keepdims else []), *x[axis + 1 :])

    def element_types(self, *operands: Attribute) -> Attribute:
        return i64

    def reference(self, x: Array) -> Array:
        axis = axis_of(self.axis, x.ndim)
        find = np.argmax if self.LARGEST else np.argmin
        if self.select_last_index:
            found = x.shape[axis] - 1 - find(np.flip(x, axis), axis)
        else:
            found = find(x, axis)
        return np.asarray(found, np.int64).reshape(self.infer(x.shape))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if x.element_type == i1:
            raise NotYet("the place of the largest truth value")
        axis = axis_of(self.axis, x.rank)
        numbers = b.numbers(x.shape[axis])
        loops = b.loops_of(x.shape)
        to = [loop for k, loop in enumerate(loops) if k != axis]
        kept: Indices = to or [0]
        over = [loops[axis]]
        extreme = (b.max if self.LARGEST else b.min)(to, over=over, of=x[loops])
        b.loops_of(x.shape)
        hit, number = equal(x[loops], extreme[kept]), numbers[loops[axis]]
        if self.select_last_index:
            found = b.max(to, over=over, of=select(hit, number, -1))
        else:
            found = b.min(to, over=over, of=select(hit, number, x.shape[axis]))
        return b.reshape(found, self.infer(x.shape))


@operator("ArgMax")
class ArgMaxOp(_Place):
    """The place of the largest element along an axis."""

    LARGEST = True


@operator("ArgMin")
class ArgMinOp(_Place):
    """The place of the smallest element along an axis."""

    LARGEST = False
