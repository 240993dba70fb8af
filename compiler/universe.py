"""The dialects and passes of ncc for xDSL's tools, `xdsl-opt` and `xdsl-gui`.

xdsl-opt net.mlir \\
    -p infer-shapes,canonicalize-ncnn,convert-ncnn-to-linalg,pack-channels,form-fusion-groups
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.passes import ModulePass
from xdsl.universe import Universe

from ncc.compiler.ncnn.canonicalize import CanonicalizeNcnn
from ncc.compiler.ncnn.infer_shapes import InferShapes
from ncc.compiler.ncnn.optimize import OptimizeNcnn
from ncc.compiler.ncnn.unroll_batches import UnrollBatches
from ncc.compiler.passes import every_linalg_pass
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.onnx.dialect import ONNX
from ncc.dialects.rt import RT
from ncc.dialects.sized import SIZED
from ncc.dialects.tile import TILE
from ncc.dialects.tiled import TILED

PASSES: tuple[type[ModulePass], ...] = (
    UnrollBatches,
    InferShapes,
    CanonicalizeNcnn,
    OptimizeNcnn,
    *map(type, every_linalg_pass()),
)
"""In their order."""

T = TypeVar("T")


def factory(made: T) -> Callable[[], T]:
    """A function that returns it: xDSL asks for dialects and passes by functions."""
    return lambda: made


UNIVERSE = Universe(
    all_dialects={one.name: factory(one) for one in (NCNN, ONNX, RT, SIZED, TILE, TILED)},
    all_passes={one.name: factory(one) for one in PASSES},
)
