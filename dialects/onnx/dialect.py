"""The ONNX dialect, and its operators by their names: importing this fills `OPERATORS`."""

from __future__ import annotations

from xdsl.ir import Dialect

from ncc.dialects.onnx import activations as activations
from ncc.dialects.onnx import attention_of_microsoft as attention_of_microsoft
from ncc.dialects.onnx import attention_of_standard as attention_of_standard
from ncc.dialects.onnx import binary as binary
from ncc.dialects.onnx import casts as casts
from ncc.dialects.onnx import columns as columns
from ncc.dialects.onnx import control as control
from ncc.dialects.onnx import convolution as convolution
from ncc.dialects.onnx import detection as detection
from ncc.dialects.onnx import einsum as einsum
from ncc.dialects.onnx import fused as fused
from ncc.dialects.onnx import gather as gather
from ncc.dialects.onnx import integer_products as integer_products
from ncc.dialects.onnx import linear as linear
from ncc.dialects.onnx import loops as loops
from ncc.dialects.onnx import masks as masks
from ncc.dialects.onnx import movement as movement
from ncc.dialects.onnx import normalization as normalization
from ncc.dialects.onnx import padding as padding
from ncc.dialects.onnx import plumbing as plumbing
from ncc.dialects.onnx import pooling as pooling
from ncc.dialects.onnx import quantization as quantization
from ncc.dialects.onnx import quantized as quantized
from ncc.dialects.onnx import recurrent as recurrent
from ncc.dialects.onnx import reduction as reduction
from ncc.dialects.onnx import resize as resize
from ncc.dialects.onnx import rotary as rotary
from ncc.dialects.onnx import sampling as sampling
from ncc.dialects.onnx import scan as scan
from ncc.dialects.onnx import scatter as scatter
from ncc.dialects.onnx import slices as slices
from ncc.dialects.onnx import softmax as softmax
from ncc.dialects.onnx import sorting as sorting
from ncc.dialects.onnx import spectrum as spectrum
from ncc.dialects.onnx import statistics as statistics
from ncc.dialects.onnx import unary as unary
from ncc.dialects.onnx.operator import OPERATORS, Operator

CLASSES = [cls for versions in OPERATORS.values() for cls in versions]
ONNX = Dialect("onnx", [*CLASSES, plumbing.OnnxInputOp, plumbing.ViewOp, loops.YieldOp], [])


def operator_class(domain: str, name: str, version: int) -> type[Operator] | None:
    """The class of an operator in an op set; None where there is none."""
    for cls in OPERATORS.get((domain, name), ()):
        if cls.SINCE <= version:
            return cls if cls.UNTIL is None or version <= cls.UNTIL else None
    return None


def versions_of(*names: str) -> list[type[Operator]]:
    """All versions of some operators of ONNX."""
    return [cls for name in names for cls in OPERATORS["", name]]
