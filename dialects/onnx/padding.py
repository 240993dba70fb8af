"""More elements around a value."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integers, real, required, string
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    NotYet,
    Operator,
    Shape,
    axes_of,
    constant_of,
    operator,
)
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    maximum,
    minimum,
    number_of_index,
    number_of_size,
    select,
    to_index,
)
from ncc.dialects.shapes import shown
from ncc.dialects.size import NeedsNumbers, is_open, largest, smallest


class _Pad(Operator):
    """x with more elements around it: a value, the edge, a mirror image, or x again."""

    mode = string("constant")

    def borders(self, x: Shape) -> list[tuple[int, int]]:
        """The elements before and after each axis; negative ones are cut away."""
        raise NotImplementedError

    def check(self) -> None:
        if self.mode not in ("constant", "edge", "reflect", "wrap"):
            raise LayerError(f"mode is {self.mode!r}", "mode")

    def infer(self, x: Shape, *others: Shape) -> Shape:
        found = tuple(n + low + high for n, (low, high) in zip(x, self.borders(x), strict=True))
        if any(extent < 0 for extent in found):
            raise LayerError(f"more is cut away than {shown(x)} has")
        return found

    def sources(self, x: Shape) -> list[NDArray[np.int64]]:
        """The element of x at each place of the result, along each axis; -1 is none of x."""
        return [self.source(n, *pads) for n, pads in zip(x, self.borders(x), strict=True)]

    def source(self, n: int, low: int, high: int) -> NDArray[np.int64]:
        """The same along one axis of n elements."""
        at = np.arange(-low, n + high)
        match self.mode:
            case "edge":
                return np.clip(at, 0, n - 1)
            case "wrap":
                return at % n
            case "reflect":
                period = max(2 * (n - 1), 1)
                return np.abs((at + n - 1) % period - (n - 1))
            case _:
                return np.where((at < 0) | (at >= n), -1, at)

    def tables(self, *shapes: Shape) -> int:
        """A place for each element along an axis with borders, unless it is open."""
        if self.mode == "constant":
            return 0
        axes = zip(shapes[0], self.borders(shapes[0]), strict=True)
        closed = [n + low + high for n, (low, high) in axes if low or high]
        return sum(n for n in closed if not is_open(n))

    def filled_with(self) -> float | None:
        """The value of what is added; None where only the run knows it."""
        raise NotImplementedError

    def reference(self, x: Array, *others: Array) -> Array:
        places = self.sources(x.shape)
        outside = np.zeros([len(at) for at in places], np.bool_)
        for axis, at in enumerate(places):
            outside |= np.expand_dims(at < 0, [k for k in range(len(places)) if k != axis])
            x = (
                np.take(x, np.maximum(at, 0), axis)
                if x.shape[axis]
                else np.zeros((*x.shape[:axis], len(at), *x.shape[axis + 1 :]), x.dtype)
            )
        return np.where(outside, self.filling(x, *others), x)

    def filling(self, x: Array, *others: Array) -> Any:
        """The value of what is added, as a scalar of numpy."""
        return x.dtype.type(self.filled_with() or 0)

    def lower(self, b: Builder, x: Tensor, *others: Tensor | None) -> Tensor:
        if self.mode != "constant":
            return self._gathered(b, x)
        borders = self.borders(x.shape)
        low = [largest(0, -before) for before, _ in borders]
        kept = [n + smallest(0, z) - c for n, c, (_, z) in zip(x.shape, low, borders, strict=True)]
        if any(not is_open(n) and n < 1 for n in kept):
            return self._filled(b, x.element_type, self.infer(x.shape), *others)
        inside = b.slice(x, low, kept)
        before, behind = zip(*((largest(0, a), largest(0, z)) for a, z in borders), strict=True)
        value = self.filled_with()
        if value is None:
            return self._around(b, inside, before, behind, *others)
        return b.pad(inside, before, behind, value)

    def _gathered(self, b: Builder, x: Tensor) -> Tensor:
        if any(extent == 0 for extent in x.shape):
            raise NotYet("Pad of a value without elements")
        loops = b.loops_of(self.infer(x.shape))
        borders = zip(x.shape, self.borders(x.shape), loops, strict=True)
        return b.map(loops, x.at(*(self._place(b, n, *pads, loop) for n, pads, loop in borders)))

    def _place(self, b: Builder, n: int, low: int, high: int, loop: AffineExpr) -> Scalar:
        """The element of x at a place of the result, along one axis of n elements."""
        if low == high == 0:
            return b.index(loop)
        if not is_open(low, n, high):
            return b.table(self.source(n, low, high))[loop]
        if self.mode != "edge" and not (low < n and high < n):
            raise NeedsNumbers(f"Pad in the mode {self.mode} by more than an open axis has")
        at = number_of_index(b.index(loop), i32) - number_of_size(low, i32)
        size = number_of_size(n, i32)
        last = size - 1
        match self.mode:
            case "edge":
                at = minimum(maximum(at, 0), last)
            case "wrap":
                at = select(at < 0, at + size, select(at > last, at - size, at))
            case _:
                at = last - absolute(last - absolute(at))
        return to_index(at)

    def _filled(
        self, b: Builder, element: Attribute, shape: Shape, *others: Tensor | None
    ) -> Tensor:
        """What is added."""
        value = self.filled_with()
        if value is not None:
            return b.full(shape, value, element)
        given = others[1]
        assert given is not None
        return b.map(b.loops_of(shape), given[[0] * given.rank])

    def _around(
        self, b: Builder, x: Tensor, before: Shape, behind: Shape, *others: Tensor | None
    ) -> Tensor:
        """x in the middle of a value that only the run knows."""
        for axis in range(x.rank):
            shapes = [
                (*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in (before[axis], behind[axis])
            ]
            first, last = (
                [self._filled(b, x.element_type, shape, *others)] if shape[axis] != 0 else []
                for shape in shapes
            )
            x = b.concat([*first, x, *last], axis)
        return x


def _paired(pads: Sequence[int], rank: int, axes: Sequence[int]) -> list[tuple[int, int]]:
    """The pads of each axis; those of axes that are not named are none."""
    if len(pads) != 2 * len(axes):
        raise LayerError(f"pads {tuple(pads)} for {len(axes)} axes", "pads")
    found = [(0, 0)] * rank
    for k, axis in enumerate(axes):
        found[axis] = pads[k], pads[k + len(axes)]
    return found


@operator("Pad", since=11, inputs=(2, 4))
class PadOp(_Pad):
    """Pads, value and axes are operands."""

    ALIKE: ClassVar[Container[int]] = (0, 2)

    SETTLES = (1, 3)

    def borders(self, x: Shape) -> list[tuple[int, int]]:
        axes = self.optional(3)
        named = range(len(x)) if axes is None else [int(axis) for axis in axes.reshape(-1)]
        pads = self.numbers(1)
        return _paired(pads, len(x), axes_of(named, len(x)))

    def filled_with(self) -> float | None:
        held = self.operand_at(2)
        if held is None:
            return 0
        array = constant_of(held)
        return None if array is None else array.reshape(()).item()

    def filling(self, x: Array, *others: Array) -> Any:
        given = others[1] if len(others) > 1 else None
        return x.dtype.type(0) if given is None else given.reshape(())


@operator("Pad", since=2, until=10)
class PadV2Op(_Pad):
    """Pads and value are attributes."""

    pads = integers()
    value = real(0.0)

    def borders(self, x: Shape) -> list[tuple[int, int]]:
        return _paired(required(self.pads, "pads"), len(x), range(len(x)))

    def filled_with(self) -> float | None:
        return self.value
