"""Inputs whose values decide shapes, as constants: a compilation is for these values.

    %box = ncnn.Input()                              %box = ncnn.Input()
    %y = ncnn.Crop(%x, %box) {woffset = -233}   ->   %c = ncnn.MemoryData() {w = 6}
                                                     %y = ncnn.Crop(%x, %c) {woffset = -233}

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.ncnn.optimizations.fold_constants import extents_of
from ncc.dialects.ncnn.layer import Array, Layer, WeightAttr
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from ncc.dialects.onnx.operator import ConstantOp
from ncc.dialects.onnx.plumbing import OnnxInputOp


def settle(module: ModuleOp, values: Mapping[str, Array]) -> None:
    """Let the readers of these inputs read the values; those of ncnn's layers are int32."""
    inputs = Network.of(module).inputs
    for name, array in values.items():
        value = inputs[name]
        assert isinstance(value, OpResult)
        if isinstance(value.op, OnnxInputOp):
            constant: Layer = ConstantOp.of(array, name, "")
        else:
            bits = np.ascontiguousarray(array, np.int32).view(np.float32)
            weights = {"data": WeightAttr.of(bits)}
            extents = extents_of(array.shape)
            constant = MemoryDataOp.make([], extents, weights, name=name, blobs=[""])
        Rewriter.insert_op(constant, InsertPoint.after(value.op))
        value.replace_all_uses_with(constant.results[0])
