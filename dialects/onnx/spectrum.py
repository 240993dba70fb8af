"""Fourier transforms, as products with a matrix: DFT and STFT.

A complex number is a pair along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, axis_of, operator
from ncc.dialects.shapes import shown


def _matrix(transform: Callable[[Array], Array], count: int, parts: int) -> Array:
    """What a transform makes of each number of so many: (count, results, parts, 2)."""
    unit = np.eye(count)
    found = [transform(unit * factor) for factor in (1, 1j)[:parts]]
    return np.stack([np.stack([one.real, one.imag], -1) for one in found], 2)


@operator("DFT", since=20, inputs=(1, 3))
class DFTOp(Operator):
    """The transform along an axis of (..., 1 or 2); `onesided`: the half that tells all."""

    SETTLES: ClassVar[tuple[int, ...]] = (1, 2)

    inverse = integer(0)
    onesided = integer(0)

    def along(self, rank: int) -> int:
        """The axis."""
        given = self.optional(2)
        return axis_of(-2 if given is None else int(given.reshape(())), rank)

    def length(self, x: Shape) -> int:
        """The number of points, to which x is cut or filled with zeros."""
        given = self.optional(1)
        if given is not None:
            return int(given.reshape(()))
        extent = x[self.along(len(x))]
        return 2 * (extent - 1) if self.inverse and self.onesided else extent

    def matrix(self, x: Shape) -> Array:
        length, extent = self.length(x), x[self.along(len(x))]
        if length < 1:
            raise LayerError(f"a transform of {length} points")

        def transform(rows: Array) -> Array:
            if self.inverse and self.onesided:
                return np.fft.irfft(rows, length) + 0j
            if self.inverse:
                return np.fft.ifft(rows, length)
            found = np.fft.fft(rows, length)
            return found[:, : length // 2 + 1] if self.onesided else found

        made = _matrix(transform, extent, x[-1])
        return made[..., :1] if self.inverse and self.onesided else made

    def infer(self, x: Shape, *others: Shape | None) -> Shape:
        axis = self.along(len(x))
        if len(x) < 2 or x[-1] not in (1, 2) or axis == len(x) - 1:
            raise LayerError(f"no complex numbers along axis {axis} of {shown(x)}")
        if self.onesided and not self.inverse and x[-1] == 2:
            raise LayerError("a onesided transform of complex numbers", "onesided")
        _, count, _, parts = self.matrix(x).shape
        return (*x[:axis], count, *x[axis + 1 : -1], parts)

    def reference(self, x: Array, *others: Any) -> Array:
        axis = self.along(x.ndim)
        rows = np.moveaxis(x, axis, -2)
        made = np.einsum("...np,nkpc->...kc", rows, self.matrix(x.shape))
        return np.asarray(np.moveaxis(made, -2, axis), x.dtype)

    def lower(self, b: Builder, x: Tensor, *others: Tensor | None) -> Tensor:
        axis = self.along(x.rank)
        table = self.matrix(x.shape)
        matrix = b.constant(table, x.element_type)
        shape = self.infer(x.shape)
        *loops, n, p = b.loops_of([*shape, x.shape[axis], x.shape[-1]])
        at = [*loops[:axis], n, *loops[axis + 1 : -1], p]
        return b.sum(loops, over=[n, p], of=x[at] * matrix[n, loops[axis], p, loops[-1]])


@operator("DFT", since=17, until=19, inputs=(1, 2))
class DFTV17Op(DFTOp):
    """The axis is an attribute."""

    SETTLES = (1,)

    axis = integer(1)

    def along(self, rank: int) -> int:
        return axis_of(self.axis, rank)


@operator("STFT", since=17, inputs=(2, 4))
class STFTOp(Operator):
    """The transforms of the frames of a signal (batch, length, 1 or 2), each times a window."""

    SETTLES = (1, 3)

    onesided = integer(1)

    def frames(self, x: Shape, window: Shape | None) -> tuple[int, int, int]:
        """The length of a frame, the step to the next one, and how many there are."""
        given = self.optional(3)
        step = int(self.constant(1).reshape(()))
        if given is not None:
            length = int(given.reshape(()))
        else:
            length = window[0] if window else x[1]
        if len(x) != 3 or x[2] not in (1, 2) or not 0 < length <= x[1] or step < 1:
            raise LayerError(f"frames of {length}, {step} apart, of {shown(x)}")
        if window not in (None, (length,)):
            raise LayerError(f"a window {shown(window or ())} for frames of {length}")
        return length, step, (x[1] - length) // step + 1

    def matrix(self, length: int, parts: int) -> Array:
        if self.onesided and parts == 2:
            raise LayerError("onesided transforms of complex numbers", "onesided")
        count = length // 2 + 1 if self.onesided else length
        return _matrix(lambda rows: np.fft.fft(rows)[:, :count], length, parts)

    def infer(self, x: Shape, step: Shape, window: Shape | None = None, *others: Shape) -> Shape:
        length, _, count = self.frames(x, window)
        return (x[0], count, self.matrix(length, x[2]).shape[1], 2)

    def reference(self, x: Array, step: Array, window: Array | None = None, *_: Any) -> Array:
        length, hop, count = self.frames(x.shape, None if window is None else window.shape)
        cut = np.stack([x[:, k * hop : k * hop + length] for k in range(count)], 1)
        cut = cut if window is None else cut * window[:, None]
        made = np.einsum("bfnp,nkpc->bfkc", cut, self.matrix(length, x.shape[2]))
        return np.asarray(made, x.dtype)

    def lower(
        self, b: Builder, x: Tensor, step: Tensor, window: Tensor | None = None, *_: Tensor
    ) -> Tensor:
        length, hop, count = self.frames(x.shape, None if window is None else window.shape)
        frames = b.loops_of([x.shape[0], count, length, x.shape[2]])
        sample, frame, n, p = frames
        value = x[sample, frame * hop + n, p]
        cut = b.map(frames, value if window is None else value * window[n])
        table = self.matrix(length, x.shape[2])
        matrix = b.constant(table, x.element_type)
        sample, frame, k, c, n, p = b.loops_of(
            [x.shape[0], count, table.shape[1], 2, *cut.shape[2:]]
        )
        value = cut[sample, frame, n, p] * matrix[n, k, p, c]
        return b.sum([sample, frame, k, c], over=[n, p], of=value)
