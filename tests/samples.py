"""A small network of each layer type: its params, and what it reads.

Pooling 0=1 1=3 3=1 : 3x8x9        one output; several: `-> 2` behind the shapes
"""

from __future__ import annotations

from dataclasses import dataclass

from ncc.dialects.shapes import Shape

PLAIN = "3x4x6"
"""What a layer reads that is not named below."""

_LINES = """
DetectionOutput 0=3 1=0.4 2=20 3=10 4=0.1 : 16 12 2x16
PriorBox -23300=1,8.0 -23302=1,2.0 9=-233 10=-233 11=-233.0 12=-233.0 13=0.5 : 3x4x6 3x32x48
Proposal 0=16 1=16 2=100 3=20 4=0.6 5=4 : 18x4x5 36x4x5 3
GridSample 0=1 1=1 : 3x6x7 4x5x2
Interp 0=2 3=9 4=11 : 3x6x7
ROIPooling 0=3 1=2 2=0.5 : 4x8x9 4
PSROIPooling 0=2 1=2 2=0.5 3=3 : 12x8x9 4
ROIAlign 0=3 1=2 2=0.5 3=2 : 4x8x9 4
Reduction 0=3 1=0 -23303=1,1 4=1 5=1
Softmax 0=1 1=1
YoloDetectionOutput 0=2 1=2 2=0.3 3=0.4 -23304=4,1.0,1.5,2.0,2.5 : 14x4x5
Yolov3DetectionOutput 0=2 1=2 2=0.3 -23304=4,9.0,8.0,16.0,19.0 -23305=2,0,1 -23306=1,16.0 : 14x4x5
ArgMax 0=1 1=3 : 24
CumulativeSum 0=1
Exp 0=2.0 1=0.5
Log 0=2.0 2=4.0
Power 0=2.0 1=0.5
UnaryOp 0=4
BinaryOp 0=2 1=1 2=0.5
Eltwise 0=1 -23301=2,0.5,2.0 : 3x4x6 3x4x6
GLU 0=2
Scale 0=3 1=1
Bias 0=3
BatchNorm 0=3
PReLU 0=3
Quantize 0=3
Dequantize 0=3 1=3 : 3x4x6/int32
Requantize 0=3 1=1 2=3 : 3x4x6/int32
Cast 0=1 1=4
SDPA 5=1 : 4x5x8 2x7x8 2x7x6 5x7
RotaryEmbed 0=1 : 2x5x8 5x4 5x4
Einsum -23300=9,105,107,44,107,106,45,62,105,106 : 4x5 5x3
Gemm 0=1.5 3=1 5=1 6=1 8=7 9=6 10=4 : 5x6
InnerProduct 0=7 1=1 2=504
Embed 0=6 1=20 3=120 : 9/int32
MatMul 0=1 : 3x4x6 3x5x6
MultiHeadAttention 0=8 1=2 2=64 5=1 : 6x8 6x6
Convolution 0=4 1=3 2=2 3=2 4=1 5=1 6=108 : 3x11x12
ConvolutionDepthWise 0=6 1=3 4=1 5=1 6=54 7=3 : 3x8x9
Deconvolution 0=4 1=3 3=2 4=1 5=1 6=108 18=1 : 3x5x6
DeconvolutionDepthWise 0=6 1=3 3=2 4=1 6=54 7=3 : 3x5x6
Convolution1D 0=4 1=3 3=2 4=1 5=1 6=36 : 3x12
ConvolutionDepthWise1D 0=3 1=3 4=1 6=9 7=3 : 3x12
Convolution3D 0=4 1=2 4=1 6=96 : 3x5x6x7
ConvolutionDepthWise3D 0=3 1=2 6=24 7=3 : 3x5x6x7
Deconvolution1D 0=4 1=3 3=2 6=36 : 3x7
DeconvolutionDepthWise1D 0=3 1=3 3=2 6=9 7=3 : 3x7
Deconvolution3D 0=2 1=2 3=2 6=48 : 3x3x4x5
DeconvolutionDepthWise3D 0=3 1=2 3=2 6=24 7=3 : 3x3x4x5
DeformableConv2D 0=4 1=3 4=1 6=108 : 3x6x7 18x6x7 9x6x7
Unfold 1=3 3=2 4=1 : 3x8x9
Fold 1=3 3=2 20=9 21=7 : 27x12
ShuffleChannel 0=2 : 6x4x5
PixelShuffle 0=2 : 8x4x5
Reorg 0=2 : 3x4x6
Concat 0=1 : 3x4x6 3x5x6
Slice -23300=2,1,-233 1=1 -> 2
Permute 0=3
Flip -23300=2,0,2
Tile -23302=2,2,3
Packing 0=4 1=1
Dropout 0=0.5
Crop -23309=2,1,1 -23310=2,3,5 -23311=2,1,2
Padding 0=2 1=1 2=3 3=2 4=2 : 3x8x9
CopyTo 0=1 1=1 2=0 : 3x8x9 3x4x6
Diag 0=1 : 6x5
Reshape 0=8 1=-1
Squeeze 0=1 : 3x4x1
ExpandDims -23303=1,1
LRN 0=0 1=3
LayerNorm 0=6 2=1
RMSNorm 0=6 2=1
GroupNorm 0=2 1=4 3=1 : 4x5x6
InstanceNorm 0=3 2=1
MVN 0=1 1=1
Normalize 0=1 1=0 3=3
Pooling 0=1 1=3 2=2 3=1 : 3x8x9
Pooling1D 0=1 7=1 8=4 : 3x10
Pooling3D 0=0 1=2 2=2 : 3x5x6x7
StatisticsPooling 0=1
SPP 0=1 1=3 : 3x9x10
RNN 0=4 1=20 2=0 : 6x5
GRU 0=4 1=120 2=2 : 6x5
LSTM 0=4 1=80 2=1 : 6x5
Spectrogram 0=8 1=1 2=4 : 40
InverseSpectrogram 0=8 2=4 : 5x9x2
MemoryData 0=6 1=4 2=3 : -
Split -> 2
"""


@dataclass(frozen=True)
class Sample:
    """A layer with params by their keys in a file, and the shapes and element types it reads."""

    type: str
    params: tuple[tuple[str, str], ...] = ()
    inputs: tuple[Shape, ...] = ((3, 4, 6),)
    elements: tuple[str, ...] = ("float32",)
    outputs: int = 1

    @staticmethod
    def of(line: str) -> Sample:
        """The sample of a line of the table."""
        head, _, count = line.partition("->")
        words, _, read = head.partition(":")
        type, *params = words.split()
        shapes, elements = [], []
        for word in (read.strip() or PLAIN).replace("-", "").split():
            extents, _, element = word.partition("/")
            shapes.append(tuple(map(int, extents.split("x"))))
            elements.append(element or "float32")
        keys = [(key, value) for key, _, value in (word.partition("=") for word in params)]
        return Sample(type, tuple(keys), tuple(shapes), tuple(elements), int(count or 1))

    @property
    def names(self) -> list[str]:
        """The blobs that it reads."""
        return [f"x{k}" for k in range(len(self.inputs))]

    def text(self) -> str:
        """A .param of this layer behind inputs whose shapes the file does not say."""
        if self.type == "Input":
            words = " ".join(f"{key}={value}" for key, value in self.params)
            return f"7767517\n1 1\nInput a 0 1 y0 {words}\n"
        lines = [f"Input {name} 0 1 {name}" for name in self.names]
        made = [f"y{k}" for k in range(self.outputs)]
        params = [f"{key}={value}" for key, value in self.params]
        counts = [str(len(self.names)), str(self.outputs)]
        lines.append(" ".join([self.type, "a", *counts, *self.names, *made, *params]))
        return "\n".join(["7767517", f"{len(lines)} {len(self.names) + self.outputs}", *lines, ""])


_PLAIN_TYPES = """
AbsVal Erf ReLU Clip Threshold Shrink HardSigmoid HardSwish Sigmoid Swish TanH ELU SELU CELU Mish
Softplus BNLL GELU Noop DeepCopy Flatten
"""

SAMPLES: dict[str, Sample] = {
    sample.type: sample
    for sample in (
        *map(Sample.of, _LINES.strip().splitlines()),
        *map(Sample, _PLAIN_TYPES.split()),
        Sample("Input", (("0", "6"), ("1", "4"), ("2", "3")), (), ()),
    )
}
"""One of each type."""
