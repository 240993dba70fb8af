"""Unfold and Fold: an image as a matrix of its patches, and patches summed to an image again.

A patch is what a window shows: its elements in a column, all channels. Column q * width + p is the
window at row q and column p.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.convolution.contraction import whole_reads
from ncc.dialects.ncnn.convolution.window_domain import WindowDomain, crossed, phases
from ncc.dialects.ncnn.convolution.windowed import OnPlane
from ncc.dialects.ncnn.layer import Array, Builder, LayerError, Shape, Tensor, integer, layer, real
from ncc.dialects.ncnn.window import (
    Pad,
    convolution_pads,
    output_sizes,
    padded_shape,
    planes,
    tap_places,
    windows_of,
)
from ncc.dialects.size import is_equal


class PatchLayer(OnPlane):
    """Patches of an image, whatever they are made into."""

    def check(self) -> None:
        check_positive(self, self.names("kernel", "dilation", "stride"))
        self.check_pads()

    @property
    def elements(self) -> int:
        """How many elements of one channel a patch has."""
        return prod(window.kernel for window in self.windows)


@layer("Unfold")
class UnfoldOp(PatchLayer):
    """Of (c, h, w), the matrix (c * elements, patches): each patch a column, a channel after
    another.

    Padding follows the rules of convolution. A matrix is one channel; a vector is one row, which is
    padded at its ends alone.
    """

    pad_value = real(18)

    def image(self, x: Shape) -> tuple[Shape, list[Pad], Shape]:
        """x as (c, h, w), its padding, and the numbers of patches along h and w."""
        shape = planes(x, 3)
        if len(shape) != 3:
            raise LayerError(f"Unfold takes (c, h, w), not {x}")
        pads = convolution_pads(self.pads, self.windows, shape[1:])
        if len(x) == 1:
            pads[0] = (0, 0)
        return shape, pads, output_sizes(self.windows, padded_shape(shape[1:], pads), "kernel")

    def infer(self, x: Shape) -> Shape:
        shape, _, outputs = self.image(x)
        return (shape[0] * self.elements, prod(outputs))

    def reference(self, x: Array) -> Array:
        shape, pads, _ = self.image(x.shape)
        value = np.float32(self.pad_value)
        wide = np.pad(x.reshape(shape), [(0, 0), *pads], constant_values=value)
        patches = windows_of(wide, self.windows)
        return patches.transpose(0, 3, 4, 1, 2).reshape(self.infer(x.shape))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        shape, pads, outputs = self.image(x.shape)
        lows, highs = zip((0, 0), *pads, strict=True)
        x = b.pad(b.reshape(x, shape), lows, highs, self.pad_value)
        rows, columns = self.windows
        c, v, u, y, z = b.loops_of((shape[0], rows.kernel, columns.kernel, *outputs))
        at = (c, y * rows.stride + v * rows.dilation, z * columns.stride + u * columns.dilation)
        return b.collapse(b.map((c, v, u, y, z), x[at]), [[0, 1, 2], [3, 4]])


@layer("Fold")
class FoldOp(PatchLayer):
    """Patches (c * elements, patches) added up where they came from: (c, output_h, output_w).

    The windows are those of an image of the output's size with the pads around it; what falls on
    the pads is dropped.
    """

    output_w = integer(20)
    output_h = integer(21, "output_w")

    def check(self) -> None:
        super().check()
        check_positive(self, ["output_w", "output_h"])
        if min(width for pad in self.pads for width in pad) < 0:
            raise LayerError("the pads of a Fold are no codes", "pad_left")

    @property
    def size(self) -> Shape:
        """The extents of the result, h and w."""
        return (self.output_h, self.output_w)

    @property
    def inside(self) -> Shape:
        """The extents of the result with its pads."""
        return padded_shape(self.size, self.pads)

    @property
    def patches(self) -> Shape:
        """The numbers of patches along h and w."""
        return output_sizes(self.windows, self.inside, "kernel")

    def infer(self, x: Shape) -> Shape:
        wanted = prod(self.patches)
        if len(x) != 2 or not is_equal(x[0] % self.elements, 0) or not is_equal(x[1], wanted):
            raise LayerError(f"{x} are not {wanted} patches of {self.elements} elements a channel")
        return (x[0] // self.elements, *self.size)

    def reference(self, x: Array) -> Array:
        channels = self.infer(x.shape)[0]
        wide = np.zeros((channels, *self.inside), x.dtype)
        elements = x.reshape(channels, self.elements, *self.patches)
        for k, tap in enumerate(product(*(range(w.kernel) for w in self.windows))):
            wide[(slice(None), *tap_places(tap, self.windows, self.patches))] += elements[:, k]
        (top, _), (left, _) = self.pads
        return wide[:, top : top + self.output_h, left : left + self.output_w]

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        shape = self.infer(x.shape)
        x = b.reshape(x, (shape[0], *(w.kernel for w in self.windows), *self.patches))
        lows, highs, walks = [0, 0, 0], [0, 0, 0], []
        for w, n, size, (before, _) in zip(
            self.windows, self.patches, self.size, self.pads, strict=True
        ):
            low, high, sweeps = phases(w, n, size, before)
            lows.append(low)
            highs.append(high)
            walks.append(sweeps)
        x = b.pad(x, lows, highs)
        y = b.full(shape, 0.0)
        for sweeps_of_axes in crossed(walks):
            y = _gather_patches(b, x, sweeps_of_axes, y)
        return y


def _gather_patches(b: Builder, x: Tensor, sweeps: Sequence[WindowDomain], init: Tensor) -> Tensor:
    """One phase of a result (c, h, w): of x (c, *kernel, *patches), the sum of what it meets."""
    x = whole_reads(b, x, sweeps)
    rows, columns = sweeps
    c, y, z, v, u = b.loops("c y z v u", y=rows.count, z=columns.count, v=rows.taps, u=columns.taps)
    over = [loop for domain, loop in zip(sweeps, (v, u), strict=True) if domain.taps > 1]
    element = x[c, rows.tap(v), columns.tap(u), rows.x(y, v), columns.x(z, u)]
    return b.sum((c, rows.out(y), columns.out(z)), over=over, of=element, init=init)
