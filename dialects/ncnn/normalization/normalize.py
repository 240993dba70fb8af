"""Normalize: a blob divided by its norm."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.axes import along_axis
from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    Weight,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.normalization.statistics import fold
from ncc.dialects.ncnn.param import held
from ncc.dialects.ncnn.window import planes
from ncc.dialects.scalar import at_least, sqrt
from ncc.dialects.size import is_equal


@layer("Normalize")
class NormalizeOp(Layer):
    """scale * x / norm, the norm of all of x, of each channel, or of each place's channels.

    With S the sum of squares: sqrt(S + eps), max(sqrt(S), eps) or sqrt(max(S, eps)) by eps_mode.
    One scale for all or one a channel; fewer than three axes are one channel of (1, h, w).
    """

    across_spatial = integer(0)
    channel_shared = integer(1)
    eps = real(2, 0.0001)
    scale_data_size = integer(3)
    across_channel = integer(4, 1)
    eps_mode = integer(9)

    scale = Weight(lambda op: (op.scale_data_size,))

    def check(self) -> None:
        check_positive(self, ["scale_data_size"])
        check_choice(self, "eps_mode", range(3))

    @property
    def identity(self) -> bool:
        """Whether nothing is normalized: ncnn then does not even scale."""
        return not self.across_spatial and not self.across_channel

    def region(self, rank: int) -> tuple[int, ...]:
        """The axes of (c, *space) that are taken together."""
        first = () if not self.across_channel else (0,)
        return first + (tuple(range(1, rank)) if self.across_spatial else ())

    def infer(self, x: Shape) -> Shape:
        channels = planes(x, 3)[0]
        if not self.channel_shared and not is_equal(channels, self.scale_data_size):
            raise LayerError(
                f"scale_data_size is {self.scale_data_size}, but input {x} has {channels} channels",
                "scale_data_size",
            )
        return x

    def reference(self, x: Array) -> Array:
        if self.identity:
            return x
        wide = x.reshape(planes(x.shape, 3))
        eps = np.float32(self.eps)
        squares = np.square(wide).sum(self.region(wide.ndim), keepdims=True)
        match self.eps_mode:
            case 0:
                norm = np.sqrt(squares + eps)
            case 1:
                norm = np.maximum(np.sqrt(squares), eps)
            case _:
                norm = np.sqrt(np.maximum(squares, eps))
        scale = held(self.scale, "scale").array()[: 1 if self.channel_shared else None]
        scaled = wide / norm * scale.reshape(along_axis(0, wide.ndim))
        return np.asarray(scaled).reshape(x.shape)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if self.identity:
            return x
        shape, x = x.shape, b.reshape(x, planes(x.shape, 3))
        region = self.region(x.rank)
        squares = fold(b, x, region, lambda value, _: value * value)
        at = b.loops_of(squares.shape)
        total = squares[at]
        match self.eps_mode:
            case 0:
                norm = sqrt(total + self.eps)
            case 1:
                norm = at_least(sqrt(total), self.eps)
            case _:
                norm = sqrt(at_least(total, self.eps))
        factor = b.map(at, 1.0 / norm)
        scale = b.weight(held(self.scale, "scale"))
        at, to, _ = b.loops_around(x.shape, region)
        value = x[at] * factor[to]
        y = b.map(at, value * scale[0 if self.channel_shared else at[0]])
        return b.reshape(y, shape)
