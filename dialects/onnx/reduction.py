"""Some axes folded into one value: sums, means, maxima, and where these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute

from ncc.dialects.element import is_integer
from ncc.dialects.index_notation import Builder, Tensor
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
from ncc.dialects.onnx.size_arithmetic import FOLDS as FOLDS_OF_SIZES
from ncc.dialects.scalar import Scalar, absolute, equal, exp, log, number_of_size, select, sqrt


@dataclass(frozen=True)
class Fold:
    """How elements become one.

    array      all of it in numpy
    before     the function of each element
    after      that of the fold of so many elements
    of_floats  what nobody computes of integers yet
    """

    array: Callable[[Array, tuple[int, ...]], Any]
    way: Callable[..., Tensor] = Builder.sum
    before: Callable[[Scalar], Scalar] = lambda x: x
    after: Callable[[Scalar, int], Scalar] | None = None
    of_floats: str = ""


def _total(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(x.sum(axes, dtype=x.dtype))


def _squares(x: Array, axes: tuple[int, ...]) -> Array:
    return _total(np.square(x), axes)


def _square(x: Scalar) -> Scalar:
    return x * x


FOLDS: dict[str, Fold] = {
    "ReduceSum": Fold(_total),
    "ReduceMean": Fold(
        lambda x, axes: x.mean(axes),
        after=lambda total, count: total / number_of_size(count, total.type),
        of_floats="a mean",
    ),
    "ReduceMax": Fold(lambda x, axes: x.max(axes), partial(Builder.max, nan=True)),
    "ReduceMin": Fold(lambda x, axes: x.min(axes), partial(Builder.min, nan=True)),
    "ReduceProd": Fold(lambda x, axes: x.prod(axes, dtype=x.dtype), Builder.product),
    "ReduceL1": Fold(lambda x, axes: _total(np.abs(x), axes), before=absolute),
    "ReduceSumSquare": Fold(_squares, before=_square),
    "ReduceL2": Fold(
        lambda x, axes: np.sqrt(_squares(x, axes)),
        before=_square,
        after=lambda total, _: sqrt(total),
        of_floats="a norm",
    ),
    "ReduceLogSum": Fold(
        lambda x, axes: np.log(x.sum(axes)),
        after=lambda total, _: log(total),
        of_floats="a logarithm",
    ),
}


class Reduction(Operator):
    """A fold of x, or of a function of it, over some axes; and a function of that.

    Which axes is an attribute or an operand; all of them where nobody says.
    """

    fold: ClassVar[Fold]

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
        """The fold in numpy."""
        if self.fold.of_floats and np.issubdtype(x.dtype, np.integer):
            raise NotYet(f"{self.fold.of_floats} of integers")
        return self.fold.array(x, axes)

    def reference(self, x: Array, *others: Array) -> Array:
        return np.asarray(self.array(x, self.region(x.shape))).reshape(self.infer(x.shape))

    def of_sizes(self, x: Array, *others: Array) -> Array | None:
        function = FOLDS_OF_SIZES.get(self.type_name)
        if function is None or len(self.region(x.shape)) < x.ndim:
            return None
        return objects([reduce(function, x.flat)], self.infer(x.shape))

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        region, fold = self.region(x.shape), self.fold
        if fold.of_floats and is_integer(x.element_type):
            raise NotYet(f"{fold.of_floats} of integers")
        loops, to, over = b.loops_around(x.shape, region)
        made = fold.way(b, to, over, fold.before(x[loops]))
        if fold.after is not None:
            at = b.loops_of(made.shape)
            made = b.map(at, fold.after(made[at], prod(x.shape[axis] for axis in region)))
        return b.reshape(made, self.infer(x.shape))


class _LogSumExp(Reduction):
    """The largest element is taken out, so that nothing overflows."""

    def array(self, x: Array, axes: tuple[int, ...]) -> Any:
        largest = x.max(axes, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0)
        return np.log(np.exp(x - shift).sum(axes, keepdims=True)) + shift

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        if is_integer(x.element_type):
            raise NotYet("a logarithm of integers")
        loops, to, over = b.loops_around(x.shape, self.region(x.shape))
        largest = b.max(to, over=over, of=x[loops])
        at = b.loops_of(largest.shape)
        infinite = equal(absolute(largest[at]), float("inf"))
        shift = b.map(at, select(infinite, 0.0, largest[at]))
        b.loops_of(x.shape)
        total = b.sum(to, over=over, of=exp(x[loops] - shift[to]))
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
    "ReduceLogSumExp": _LogSumExp,
    **{name: type(name, (Reduction,), {"fold": fold}) for name, fold in FOLDS.items()},
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
        loops, to, over = b.loops_around(x.shape, [axis])
        extreme = (b.max if self.LARGEST else b.min)(to, over=over, of=x[loops])
        b.loops_of(x.shape)
        hit, number = equal(x[loops], extreme[to]), numbers[over]
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
