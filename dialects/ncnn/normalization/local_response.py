"""Local response normalization: a value divided by a power of the sum of squares around it."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.checks import check_choice, check_positive
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
from ncc.dialects.ncnn.window import Window, windows_of
from ncc.dialects.scalar import power, sqrt

ACROSS_CHANNELS, WITHIN_CHANNEL = 0, 1


@layer("LRN")
class LRNOp(Layer):
    """x * (bias + a * S)^-beta, S the sum of squares of the neighbours in (c, h, w).

    Across channels: local_size of them, a = alpha / local_size. Within a channel: a square of
    local_size by local_size elements, a = alpha / local_size^2. An even window has one more element
    before its centre than behind it.
    """

    region_type = integer(0)
    local_size = integer(1, 5)
    alpha = real(2, 1.0)
    beta = real(3, 0.75)
    bias = real(4, 1.0)

    def check(self) -> None:
        check_choice(self, "region_type", (ACROSS_CHANNELS, WITHIN_CHANNEL))
        check_positive(self, ["local_size"])

    @property
    def share(self) -> float:
        """The factor of the sum of squares."""
        elements = self.local_size if self.region_type == ACROSS_CHANNELS else self.local_size**2
        return self.alpha / elements

    @property
    def reach(self) -> tuple[int, int]:
        """How many neighbours count before and behind."""
        before = self.local_size // 2
        return before, self.local_size - before - 1

    def infer(self, x: Shape) -> Shape:
        if len(x) != 3:
            raise LayerError(f"input {x} is not (c, h, w)")
        return x

    def reference(self, x: Array) -> Array:
        window = Window(self.local_size)
        squares = np.square(x)
        if self.region_type == ACROSS_CHANNELS:
            wide = np.pad(squares.transpose(1, 2, 0), [(0, 0), (0, 0), self.reach])
            total = windows_of(wide, [window]).sum(-1).transpose(2, 0, 1)
        else:
            wide = np.pad(squares, [(0, 0), self.reach, self.reach])
            total = windows_of(wide, [window, window]).sum((-2, -1))
        with np.errstate(all="ignore"):
            base = np.float32(self.bias) + np.float32(self.share) * total
            return np.asarray(x * base ** np.float32(-self.beta))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        size = self.local_size
        low, high = self.reach
        if self.region_type == ACROSS_CHANNELS:
            wide = b.pad(x, (low, 0, 0), (high, 0, 0))
            c, y, z, k = b.loops("c y z k", c=x.shape[0], k=size)
            near = wide[c + k, y, z]
            total = b.sum((c, y, z), over=(k,), of=near * near)
        else:
            wide = b.pad(x, (0, low, low), (0, high, high))
            c, y, z, ky, kx = b.loops("c y z ky kx", y=x.shape[1], z=x.shape[2], ky=size, kx=size)
            near = wide[c, y + ky, z + kx]
            total = b.sum((c, y, z), over=(ky, kx), of=near * near)
        at = b.loops_of(x.shape)
        base = total[at] * self.share + self.bias
        if self.beta == 0.75 and min(self.share, self.bias) >= 0.0:
            root = sqrt(base)  # of no negative number: what is summed are squares
            return b.map(at, x[at] / (root * sqrt(root)))
        return b.map(at, x[at] * power(base, -self.beta))
