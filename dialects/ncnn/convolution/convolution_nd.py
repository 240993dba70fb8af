"""Convolutions and their transposes of sequences (c, w) and of volumes (c, d, h, w)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ncc.dialects.ncnn.convolution.contraction import FilterParams
from ncc.dialects.ncnn.convolution.convolution import ConvolutionLayer, DeconvolutionLayer
from ncc.dialects.ncnn.convolution.filtering import Grouped
from ncc.dialects.ncnn.convolution.windowed import OnPlane, Windowed
from ncc.dialects.ncnn.layer import Shape, integer, layer
from ncc.dialects.ncnn.window import SAME_LOWER, SAME_UPPER, Pad, Window, planes


class OnLine(Windowed):
    """One axis."""

    AXES: ClassVar[str] = "w"


class OnVolume(OnPlane):
    """The params of the third axis."""

    AXES: ClassVar[str] = "dhw"

    kernel_d = integer(21, "kernel_w")
    dilation_d = integer(22, "dilation_w")
    stride_d = integer(23, "stride_w")
    pad_front = integer(24, "pad_left")
    pad_behind = integer(17, "pad_front")


class VolumeConvolution(OnVolume, ConvolutionLayer):
    """Convolution of (c, d, h, w)."""

    def borders(self, sizes: Sequence[int], windows: Sequence[Window]) -> list[Pad]:
        """As of a plane, but SAME_LOWER has its odd element of depth behind, as SAME_UPPER has."""
        depth, *plane = super().borders(sizes, windows)
        if {value for pad in self.pads for value in pad} == {SAME_LOWER}:
            depth = windows[0].same(sizes[0], SAME_UPPER)
        return [depth, *plane]


class LineDeconvolution(OnLine, DeconvolutionLayer):
    """The params of transposed convolutions of (c, w)."""

    OUTPUT_PADS: ClassVar[tuple[str, ...]] = ("output_pad_right",)
    OUTPUTS: ClassVar[tuple[str, ...]] = ("output_w",)

    output_pad_right = integer(18)
    output_w = integer(20)


class VolumeDeconvolution(OnVolume, DeconvolutionLayer):
    """The params of transposed convolutions of (c, d, h, w)."""

    OUTPUT_PADS: ClassVar[tuple[str, ...]] = (
        "output_pad_behind",
        "output_pad_bottom",
        "output_pad_right",
    )
    OUTPUTS: ClassVar[tuple[str, ...]] = ("output_d", "output_h", "output_w")

    output_pad_right = integer(18)
    output_pad_bottom = integer(19, "output_pad_right")
    output_pad_behind = integer(20, "output_pad_right")
    output_w = integer(25)
    output_h = integer(26, "output_w")
    output_d = integer(27, "output_w")


@layer("Convolution1D", inputs=(1, 3))
class Convolution1DOp(OnLine, ConvolutionLayer):
    """Convolution of (c, w)."""


@layer("ConvolutionDepthWise1D", inputs=(1, 3))
class ConvolutionDepthWise1DOp(Grouped, OnLine, ConvolutionLayer):
    """Convolution of (c, w) in groups of channels.

    Of more weights than the channels of the input take, the first are read, as in ncnn, whose tests
    have too many.
    """

    def params(self, *xs: Shape) -> FilterParams:
        params = super().params(*xs)
        if self.is_dynamic or self.reads_all(xs[0]):
            return params
        inputs = planes(xs[0], 2)[0] // self.group
        return FilterParams(replace(params.channels, inputs=inputs), params.windows)

    def reads_all(self, x: Shape | None) -> bool:
        inputs = self.channels.inputs
        return inputs == 1 if x is None else planes(x, 2)[0] // self.group >= inputs


@layer("Convolution3D")
class Convolution3DOp(VolumeConvolution):
    """Convolution of (c, d, h, w)."""


@layer("ConvolutionDepthWise3D")
class ConvolutionDepthWise3DOp(Grouped, VolumeConvolution):
    """Convolution of (c, d, h, w) in groups of channels."""


@layer("Deconvolution1D", inputs=(1, 3))
class Deconvolution1DOp(LineDeconvolution):
    """Transposed convolution of (c, w)."""


@layer("DeconvolutionDepthWise1D", inputs=(1, 3))
class DeconvolutionDepthWise1DOp(Grouped, LineDeconvolution):
    """Transposed convolution of (c, w) in groups of channels."""


@layer("Deconvolution3D")
class Deconvolution3DOp(VolumeDeconvolution):
    """Transposed convolution of (c, d, h, w)."""


@layer("DeconvolutionDepthWise3D")
class DeconvolutionDepthWise3DOp(Grouped, VolumeDeconvolution):
    """Transposed convolution of (c, d, h, w) in groups of channels."""
