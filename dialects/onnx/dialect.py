"""The ONNX dialect as xDSL loads it: every operator."""

from __future__ import annotations

from xdsl.ir import Dialect

from ncc.dialects.onnx.loops import YieldOp
from ncc.dialects.onnx.operator import OPERATORS
from ncc.dialects.onnx.plumbing import OnnxInputOp, ViewOp

CLASSES = [cls for versions in OPERATORS.values() for cls in versions]
ONNX = Dialect("onnx", [*CLASSES, OnnxInputOp, ViewOp, YieldOp], [])
