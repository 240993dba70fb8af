"""Windows that slide along the axes of an image, as Conv and the pools say them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncc.dialects.ncnn.param import LayerError
from ncc.dialects.shapes import Shape
from ncc.dialects.size import largest, smallest


@dataclass(frozen=True)
class Window:
    """What slides along one axis of so many elements.

    `low` and `high` are the elements of padding before and after.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    low: int
    high: int

    @property
    def reach(self) -> int:
        """The elements from the first that a window covers to the last."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def count(self) -> int:
        """The places of the window; the last one ends inside of the padding."""
        return (self.size + self.low + self.high - self.reach) // self.stride + 1

    @property
    def count_up(self) -> int:
        """The same, where the last one may end outside, but begins inside of image and `low`."""
        rest = self.size + self.low + self.high - self.reach
        return smallest(-(-rest // self.stride), (self.size + self.low - 1) // self.stride) + 1


def windows(
    sizes: Shape,
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
) -> tuple[Window, ...]:
    """One window for each axis of an image. Raises `LayerError` where the attributes do not fit."""
    rank = len(sizes)
    strides = strides or [1] * rank
    dilations = dilations or [1] * rank
    given = pads or [0] * (2 * rank)
    for name, held, count in (
        ("kernel_shape", kernel, rank),
        ("strides", strides, rank),
        ("dilations", dilations, rank),
        ("pads", given, 2 * rank),
    ):
        if len(held) != count or min(held, default=1) < (0 if name == "pads" else 1):
            raise LayerError(f"{name} {tuple(held)} for an image of {rank} axes", name)
    made = []
    for axis, size in enumerate(sizes):
        k, stride, dilation = kernel[axis], strides[axis], dilations[axis]
        match auto_pad:
            case "NOTSET" | "":
                low, high = given[axis], given[axis + rank]
            case "VALID":
                low = high = 0
            case "SAME_UPPER" | "SAME_LOWER":
                rest = (-(-size // stride) - 1) * stride + dilation * (k - 1) + 1 - size
                total = largest(0, rest)
                half = total // 2
                low, high = (half, total - half)
                if auto_pad == "SAME_LOWER":
                    low, high = high, low
            case _:
                raise LayerError(f"auto_pad is {auto_pad!r}", "auto_pad")
        made.append(Window(size, k, stride, dilation, low, high))
    return tuple(made)
