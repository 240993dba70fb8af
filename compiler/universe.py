"""What ncc adds to xDSL's tools: `xdsl-opt` and `xdsl-gui` find its dialects and passes here.

xdsl-opt net.mlir -p infer-shapes,canonicalize-ncnn,expand-layers,pack-channels,fuse-groups
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

DIALECTS = {
    "ncnn": ("ncc.dialects.ncnn.dialect", "NCNN"),
    "rt": ("ncc.dialects.rt", "RT"),
    "tile": ("ncc.dialects.tile", "TILE"),
}
PASSES = {
    "unroll-batches": ("ncc.compiler.ncnn.unroll_batches", "UnrollBatches"),
    "infer-shapes": ("ncc.compiler.ncnn.infer_shapes", "InferShapes"),
    "canonicalize-ncnn": ("ncc.compiler.ncnn.canonicalize", "CanonicalizeNcnn"),
    "optimize-ncnn": ("ncc.compiler.ncnn.optimize", "OptimizeNcnn"),
    "expand-layers": ("ncc.compiler.ncnn.expand", "ExpandLayers"),
    "compute-read-cells": (
        "ncc.compiler.linalg.convolutions.compute_read_cells",
        "ComputeReadCells",
    ),
    "lift-sequences": ("ncc.compiler.linalg.convolutions.lift_sequences", "LiftSequences"),
    "join-groups": ("ncc.compiler.linalg.groups.join_groups", "JoinGroups"),
    "join-phases": ("ncc.compiler.linalg.convolutions.join_phases", "JoinPhases"),
    "repeat-groups": ("ncc.compiler.linalg.groups.repeat_groups", "RepeatGroups"),
    "separate-groups": ("ncc.compiler.linalg.groups.separate_groups", "SeparateGroups"),
    "separate-windows": (
        "ncc.compiler.linalg.convolutions.separate_windows",
        "SeparateWindows",
    ),
    "divide-sums": ("ncc.compiler.linalg.sums.divide_sums", "DivideSums"),
    "share-at-once": ("ncc.compiler.linalg.sums.share_at_once", "ShareAtOnce"),
    "sink-views": ("ncc.compiler.linalg.moves.sink_views", "SinkViews"),
    "hoist-sums": ("ncc.compiler.linalg.fusion.hoist_sums", "HoistSums"),
    "trim-windows": ("ncc.compiler.linalg.convolutions.trim_windows", "TrimWindows"),
    "sum-over-images": ("ncc.compiler.linalg.convolutions.sum_over_images", "SumOverImages"),
    "split-strides": ("ncc.compiler.linalg.convolutions.split_strides", "SplitStrides"),
    "choose-convolution": ("ncc.compiler.linalg.convolutions.convolve", "ChooseConvolution"),
    "compute-in-strips": ("ncc.compiler.linalg.convolutions.strips", "ComputeInStrips"),
    "peel-borders": ("ncc.compiler.linalg.convolutions.peel_borders", "PeelBorders"),
    "transpose-factors": ("ncc.compiler.linalg.channels.transpose_factors", "TransposeFactors"),
    "part-groups": ("ncc.compiler.linalg.groups.part_groups", "PartGroups"),
    "select-channels": ("ncc.compiler.linalg.channels.select_channels", "SelectChannels"),
    "join-selections": ("ncc.compiler.linalg.channels.join_selections", "JoinSelections"),
    "align-channels": ("ncc.compiler.linalg.channels.align_channels", "AlignChannels"),
    "hoist-selections": ("ncc.compiler.linalg.channels.hoist_selections", "HoistSelections"),
    "pack-channels": ("ncc.compiler.linalg.channels.pack", "Pack"),
    "fold-moves": ("ncc.compiler.linalg.moves.fold_moves", "FoldMoves"),
    "split-quads": ("ncc.compiler.linalg.sums.quads", "SplitQuads"),
    "split-halves": ("ncc.compiler.linalg.sums.halves", "SplitHalves"),
    "scale-weights": ("ncc.compiler.linalg.sums.scale_weights", "ScaleWeights"),
    "split-sums": ("ncc.compiler.linalg.sums.split_sums", "SplitSums"),
    "sum-rows": ("ncc.compiler.linalg.sums.sum_rows", "SumRows"),
    "sum-in-parts": ("ncc.compiler.linalg.sums.sum_in_parts", "SumInParts"),
    "fix-weights": ("ncc.compiler.linalg.sums.fixed_point", "FixWeights"),
    "fold-blocks": ("ncc.compiler.linalg.sums.fold_blocks", "FoldBlocks"),
    "narrow-weights": ("ncc.compiler.linalg.sums.narrow_weights", "NarrowWeights"),
    "inline-operands": ("ncc.compiler.linalg.fusion.inline_operands", "InlineOperands"),
    "read-in-place": ("ncc.compiler.linalg.fusion.read_in_place", "ReadInPlace"),
    "split-moves": ("ncc.compiler.linalg.fusion.split_moves", "SplitMoves"),
    "fuse-groups": ("ncc.compiler.linalg.fusion.fuse", "Fuse"),
}
"""Where they are declared, passes in their order."""


def later(module: str, name: str) -> Callable[[], Any]:
    """What is declared there, imported when it is asked for: who wants one pass loads no other."""
    return lambda: getattr(import_module(module), name)


UNIVERSE = Universe(
    all_dialects={name: later(*where) for name, where in DIALECTS.items()},
    all_passes={name: later(*where) for name, where in PASSES.items()},
)
