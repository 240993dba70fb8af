"""Layers that move elements between channels, or between channels and the image."""

from __future__ import annotations

from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import Array, Builder, LayerError, Shape, Tensor, integer, layer
from ncc.dialects.ncnn.moving import MovingLayer
from ncc.dialects.size import is_equal

BLOCK_INNER, BLOCK_OUTER = 0, 1
"""Modes of PixelShuffle and Reorg: which of the block's place and the channel counts faster."""


@layer("ShuffleChannel")
class ShuffleChannelOp(MovingLayer):
    """Channel g * N + n of G groups of N becomes channel n * G + g; `reverse` undoes that."""

    group = integer(0, 1)
    reverse = integer(1)

    def check(self) -> None:
        check_positive(self, ["group"])

    def _groups(self, x: Shape) -> tuple[int, int]:
        """How many groups of how many channels."""
        if len(x) < 3 and self.group != 1:
            raise LayerError(f"{x} has no channels to shuffle: its rank is below 3")
        if len(x) < 3:
            return 1, x[0]
        if not is_equal(x[0] % self.group, 0):
            raise LayerError(
                f"{x[0]} channels of {x} do not fall into {self.group} groups", "group"
            )
        other = x[0] // self.group
        return (other, self.group) if self.reverse else (self.group, other)

    def infer(self, x: Shape) -> Shape:
        self._groups(x)
        return x

    def reference(self, x: Array) -> Array:
        grouped = x.reshape(*self._groups(x.shape), *x.shape[1:])
        return grouped.swapaxes(0, 1).reshape(x.shape)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        groups, size = self._groups(x.shape)
        if 1 in (groups, size):
            return x
        n, g, *rest = b.loops_of((size, groups, *x.shape[1:]))
        moved = b.map((n, g, *rest), x[[g * size + n, *rest]])
        joined = b.collapse(moved, [[0, 1], *([k] for k in range(2, x.rank + 1))])
        return b.named(joined, x.shape)


class BlockLayer(MovingLayer):
    """Moves square blocks of the image into channels, or back."""

    def _image(self, x: Shape) -> tuple[int, int, int]:
        if len(x) != 3:
            raise LayerError(f"{x} is no image of channels: its rank is not 3")
        return x[0], x[1], x[2]


@layer("PixelShuffle")
class PixelShuffleOp(BlockLayer):
    """r * r channels become blocks of r by r pixels.

    The channel of pixel (v, u) of a block is (c r + v) r + u, or with mode 1 (v r + u) C + c,
    for C channels c of the result.
    """

    upscale_factor = integer(0, 1)
    mode = integer(1)

    def check(self) -> None:
        check_positive(self, ["upscale_factor"])
        check_choice(self, "mode", (BLOCK_INNER, BLOCK_OUTER))

    def infer(self, x: Shape) -> Shape:
        channels, height, width = self._image(x)
        r = self.upscale_factor
        if not is_equal(channels % (r * r), 0):
            raise LayerError(
                f"{channels} channels of {x} do not make blocks of {r} by {r}", "upscale_factor"
            )
        return (channels // (r * r), height * r, width * r)

    def reference(self, x: Array) -> Array:
        shape, r, (_, height, width) = self.infer(x.shape), self.upscale_factor, x.shape
        if self.mode == BLOCK_INNER:
            split = x.reshape(shape[0], r, r, height, width)
        else:
            split = x.reshape(r, r, shape[0], height, width).transpose(2, 0, 1, 3, 4)
        return split.transpose(0, 3, 1, 4, 2).reshape(shape)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        r, (channels, _, _) = self.upscale_factor, self.infer(x.shape)
        if r == 1:
            return x
        c, y, v, z, u = b.loops_of((channels, x.shape[1], r, x.shape[2], r))
        inner = c * (r * r) + v * r + u
        source = inner if self.mode == BLOCK_INNER else v * (r * channels) + u * channels + c
        return b.collapse(b.map((c, y, v, z, u), x[source, y, z]), [[0], [1, 2], [3, 4]])


@layer("Reorg")
class ReorgOp(BlockLayer):
    """Blocks of s by s pixels become s * s channels, in PixelShuffle's order of the same mode.

    Rows and columns that fill no block are dropped.
    """

    stride = integer(0, 1)
    mode = integer(1)

    def check(self) -> None:
        check_positive(self, ["stride"])
        check_choice(self, "mode", (BLOCK_INNER, BLOCK_OUTER))

    def infer(self, x: Shape) -> Shape:
        channels, height, width = self._image(x)
        s = self.stride
        if height < s or width < s:
            raise LayerError(f"{x} has no block of {s} by {s}", "stride")
        return (channels * s * s, height // s, width // s)

    def reference(self, x: Array) -> Array:
        s, shape = self.stride, self.infer(x.shape)
        _, height, width = shape
        whole = x[:, : height * s, : width * s]
        split = whole.reshape(x.shape[0], height, s, width, s)
        order = (0, 2, 4, 1, 3) if self.mode == BLOCK_INNER else (2, 4, 0, 1, 3)
        return split.transpose(order).reshape(shape)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        s, (_, height, width) = self.stride, self.infer(x.shape)
        if s == 1:
            return x
        c, v, u, y, z = b.loops_of((x.shape[0], s, s, height, width))
        to = (c, v, u, y, z) if self.mode == BLOCK_INNER else (v, u, c, y, z)
        return b.collapse(b.map(to, x[c, y * s + v, z * s + u]), [[0, 1, 2], [3], [4]])
