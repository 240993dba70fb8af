"""The dialects and passes of ncc for xDSL's tools, `xdsl-opt` and `xdsl-gui`.

xdsl-opt net.mlir \\
    -p infer-shapes,canonicalize-ncnn,convert-ncnn-to-linalg,pack-channels,form-fusion-groups
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

DIALECTS = {
    "ncnn": ("ncc.dialects.ncnn.dialect", "NCNN"),
    "onnx": ("ncc.dialects.onnx.dialect", "ONNX"),
    "rt": ("ncc.dialects.rt", "RT"),
    "tile": ("ncc.dialects.tile", "TILE"),
    "tiled": ("ncc.dialects.tiled", "TILED"),
}
PASSES = {
    "unroll-batches": ("ncc.compiler.ncnn.unroll_batches", "UnrollBatches"),
    "infer-shapes": ("ncc.compiler.ncnn.infer_shapes", "InferShapes"),
    "canonicalize-ncnn": ("ncc.compiler.ncnn.canonicalize", "CanonicalizeNcnn"),
    "optimize-ncnn": ("ncc.compiler.ncnn.optimize", "OptimizeNcnn"),
    "convert-ncnn-to-linalg": ("ncc.compiler.ncnn.convert_to_linalg", "ConvertNcnnToLinalg"),
    "bubble-up-slices": (
        "ncc.compiler.linalg.convolutions.bubble_up_slices",
        "BubbleUpSlices",
    ),
    "conv1d-to-conv2d": ("ncc.compiler.linalg.convolutions.conv1d_to_conv2d", "Conv1dToConv2d"),
    "join-groups": ("ncc.compiler.linalg.groups.join_groups", "JoinGroups"),
    "join-phases": ("ncc.compiler.linalg.convolutions.join_phases", "JoinPhases"),
    "repeat-groups": ("ncc.compiler.linalg.groups.repeat_groups", "RepeatGroups"),
    "separate-groups": ("ncc.compiler.linalg.groups.separate_groups", "SeparateGroups"),
    "separate-windows": (
        "ncc.compiler.linalg.convolutions.separate_windows",
        "SeparateWindows",
    ),
    "defer-division": ("ncc.compiler.linalg.reductions.defer_division", "DeferDivision"),
    "fuse-softmax": ("ncc.compiler.linalg.reductions.fuse_softmax", "FuseSoftmax"),
    "hoist-elementwise": ("ncc.compiler.linalg.layout.hoist_elementwise", "HoistElementwise"),
    "hoist-reductions": ("ncc.compiler.linalg.reductions.hoist_reductions", "HoistReductions"),
    "trim-windows": ("ncc.compiler.linalg.convolutions.trim_windows", "TrimWindows"),
    "sum-over-images": ("ncc.compiler.linalg.convolutions.sum_over_images", "SumOverImages"),
    "space-to-depth": ("ncc.compiler.linalg.convolutions.space_to_depth", "SpaceToDepth"),
    "choose-convolution": (
        "ncc.compiler.linalg.convolutions.choose_convolution",
        "ChooseConvolution",
    ),
    "peel-borders": ("ncc.compiler.linalg.convolutions.peel_borders", "PeelBorders"),
    "transpose-factors": ("ncc.compiler.linalg.layout.transpose_factors", "TransposeFactors"),
    "part-groups": ("ncc.compiler.linalg.groups.part_groups", "PartGroups"),
    "gather-channels": ("ncc.compiler.linalg.layout.gather_channels", "GatherChannels"),
    "join-gathers": ("ncc.compiler.linalg.layout.join_gathers", "JoinGathers"),
    "align-channels": ("ncc.compiler.linalg.layout.align_channels", "AlignChannels"),
    "hoist-gathers": ("ncc.compiler.linalg.layout.hoist_gathers", "HoistGathers"),
    "pack-channels": ("ncc.compiler.linalg.layout.pack_channels", "PackChannels"),
    "fold-transposes": ("ncc.compiler.linalg.layout.fold_transposes", "FoldTransposes"),
    "tile-attention": ("ncc.compiler.linalg.fusion.tile_attention", "TileAttention"),
    "tile-and-fuse": ("ncc.compiler.linalg.fusion.tile_and_fuse", "TileAndFuse"),
    "pack-vnni": ("ncc.compiler.linalg.data_types.pack_vnni", "PackVnni"),
    "split-bf16": ("ncc.compiler.linalg.data_types.split_bf16", "SplitBf16"),
    "fold-scale-into-weights": (
        "ncc.compiler.linalg.reductions.fold_scale_into_weights",
        "FoldScaleIntoWeights",
    ),
    "split-reduction-in-halves": (
        "ncc.compiler.linalg.reductions.split_reduction_in_halves",
        "SplitReductionInHalves",
    ),
    "split-reduction-by-rows": (
        "ncc.compiler.linalg.reductions.split_reduction_by_rows",
        "SplitReductionByRows",
    ),
    "split-reduction-for-cache": (
        "ncc.compiler.linalg.reductions.split_reduction_for_cache",
        "SplitReductionForCache",
    ),
    "quantize-weights": ("ncc.compiler.linalg.data_types.quantize_weights", "QuantizeWeights"),
    "skip-border-taps": ("ncc.compiler.linalg.reductions.skip_border_taps", "SkipBorderTaps"),
    "split-k-over-lanes": ("ncc.compiler.linalg.reductions.split_k_over_lanes", "SplitKOverLanes"),
    "narrow-weights": ("ncc.compiler.linalg.data_types.narrow_weights", "NarrowWeights"),
    "fuse-producers": ("ncc.compiler.linalg.fusion.fuse_producers", "FuseProducers"),
    "read-in-place": ("ncc.compiler.linalg.fusion.read_in_place", "ReadInPlace"),
    "split-transposes": ("ncc.compiler.linalg.fusion.split_transposes", "SplitTransposes"),
    "form-fusion-groups": ("ncc.compiler.linalg.fusion.form_fusion_groups", "FormFusionGroups"),
}
"""Where they are declared, passes in their order."""


def later(module: str, name: str) -> Callable[[], Any]:
    """A declaration of a module, imported on demand: one pass does not load the others."""
    return lambda: getattr(import_module(module), name)


UNIVERSE = Universe(
    all_dialects={name: later(*where) for name, where in DIALECTS.items()},
    all_passes={name: later(*where) for name, where in PASSES.items()},
)
