"""The weights of a network -> a .bin file: the inverse of compiler/read/weights.py, in fp32.

Layer by layer in the order of the module, the weights of a layer in the order it declares them; a
tag of four bytes stands before those that ncnn expects one for.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ncc.dialects.ncnn.network import Network
from ncc.dialects.weight import WeightAttr

FP32_TAG = bytes(4)
INT8_TAG = (0x000D4B38).to_bytes(4, "little")


def write_bin(module: ModuleOp, path: str | os.PathLike[str]) -> None:
    """Write every weight of the network. fp16 and codebook weights are widened to fp32."""
    with Path(path).open("wb") as file:
        for op in Network.of(module).layers:
            for name, weight in op.LAYER.weights.items():
                held = op.properties.get(name)
                if not isinstance(held, WeightAttr):
                    continue
                array = held.array()
                narrow = array.dtype == np.int8
                if weight.tagged:
                    file.write(INT8_TAG if narrow else FP32_TAG)
                data = array.astype(np.int8 if narrow else "<f4").tobytes()
                file.write(data + bytes(-len(data) % 4))
