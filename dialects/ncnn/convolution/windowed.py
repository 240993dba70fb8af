"""The params of a window that slides: kernel, dilation, stride and pads along each axis."""

from __future__ import annotations

from typing import ClassVar

from ncc.dialects.ncnn.layer import Layer, LayerError, integer
from ncc.dialects.ncnn.window import PAD_NAMES, SAME_LOWER, SAME_UPPER, Pad, Window


class Windowed(Layer):
    """A window that slides along the axes `AXES`."""

    AXES: ClassVar[str]

    kernel_w = integer(1)
    dilation_w = integer(2, 1)
    stride_w = integer(3, 1)
    pad_left = integer(4)
    pad_right = integer(15, "pad_left")

    @property
    def windows(self) -> list[Window]:
        """The window along each axis that the params say, in numpy order."""
        return [
            Window(*(getattr(self, f"{what}_{axis}") for what in ("kernel", "stride", "dilation")))
            for axis in self.AXES
        ]

    @property
    def pads(self) -> list[Pad]:
        """The padding params of each axis, in numpy order; they may be codes."""
        return [(getattr(self, PAD_NAMES[a][0]), getattr(self, PAD_NAMES[a][1])) for a in self.AXES]

    def names(self, *params: str) -> list[str]:
        """The names of these params for every axis, in ncnn's order: w first."""
        return [f"{param}_{axis}" for param in params for axis in reversed(self.AXES)]

    def check_pads(self) -> None:
        """Refuse pads below zero but a code that is not contradicted by another pad."""
        for name in (name for axis in reversed(self.AXES) for name in PAD_NAMES[axis]):
            value = getattr(self, name)
            known = value >= 0 or value in (SAME_UPPER, SAME_LOWER)
            if not known or (value < 0 and any(v > 0 for pad in self.pads for v in pad)):
                raise LayerError(f"{name} is {value}, but other pads are not its code", name)


class OnPlane(Windowed):
    """The params of the second axis."""

    AXES: ClassVar[str] = "hw"

    kernel_h = integer(11, "kernel_w")
    dilation_h = integer(12, "dilation_w")
    stride_h = integer(13, "stride_w")
    pad_top = integer(14, "pad_left")
    pad_bottom = integer(16, "pad_top")
