"""Recognizes layer types that are operators of another system: a converter left them in the file.

    nn.MultiheadAttention, F.interpolate, aten::roll, pnnx.Expression    by pnnx, of PyTorch
    onnx::NonZero, Shape, Gather, Where                        by pnnx and onnx2ncnn, of ONNX

pnnx writes operators, and modules of the user, by their path in Python or C++. No type of ncnn has
a dot or a colon in its name.
"""

from __future__ import annotations

from ncc.runtime.file_kinds import GET_PNNX

ONNX_OPERATORS = frozenset(
    """
    Acosh And ArgMin Asinh Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CastLike Col2Im
    Compress ConcatFromSequence ConstantOfShape ConvInteger Cosh CumSum Det DequantizeLinear
    DFT DynamicQuantizeLinear Equal Expand EyeLike Gather GatherElements GatherND GlobalLpPool
    Greater GreaterOrEqual Hardmax If IsInf IsNaN Less LessOrEqual LogSoftmax Loop LpPool
    MatMulInteger MaxRoiPool MaxUnpool Mean MeanVarianceNormalization Mod Multinomial
    NonMaxSuppression NonZero Not OneHot Or QLinearConv QLinearMatMul QuantizeLinear RandomNormal
    RandomNormalLike RandomUniform RandomUniformLike Range ReverseSequence Scan Scatter
    ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceInsert
    SequenceLength Shape Sign Sinh Size Softsign SplitToSequence STFT ThresholdedRelu TopK Trilu
    Unique Where Xor
    """.split()
)
"""Operators of ONNX that onnx2ncnn writes as they are, for want of a layer."""

CALLED_IN_NCNN = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"), "BinaryOp"),
    **dict.fromkeys(("AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool"), "Pooling"),
    **dict.fromkeys(("Resize", "Upsample"), "Interp"),
    "Conv": "Convolution",
    "ConvTranspose": "Deconvolution",
    "LeakyRelu": "ReLU",
    "Pad": "Padding",
    "Transpose": "Permute",
    "Unsqueeze": "ExpandDims",
}
"""Operators of ONNX that ncnn has under names that are not like theirs."""

_SYSTEMS = (
    (("pnnx.",), "its own operator"),
    (("onnx::",), "ONNX's operator"),
    (("nn.", "F.", "torch.", "torchvision.", "Tensor.", "aten::", "prim::"), "PyTorch's operator"),
)
"""Prefixes of types, and the operators that they stand for."""

_AGAIN = (
    "convert again with the newest pnnx (pip install --upgrade pnnx), and tell it the shapes of "
    "all inputs (inputshape=[1,3,224,224]), so that it can replace more; write what it still "
    "leaves by other operators in Python; or ask for blobs in front of it as outputs"
)
_BY_PNNX = f"pnnx converts more than onnx2ncnn: {GET_PNNX}; pnnx net.onnx fp16=0"


def left_over(type: str) -> tuple[str, str] | None:
    """A description of a type that a converter left, and how to go on; None for other types."""
    if type in ONNX_OPERATORS:
        return f"the conversion left ONNX's operator {type!r} in the file", _BY_PNNX
    if "." not in type and "::" not in type:
        return None
    system = next((said for begin, said in _SYSTEMS if type.startswith(begin)), "the module")
    return f"the conversion (pnnx) left {system} {type!r} in the file", _AGAIN
