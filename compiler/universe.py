"""What ncc adds to xDSL's tools: `xdsl-opt` and `xdsl-gui` find its dialects and passes here.

xdsl-opt net.mlir -p infer-shapes,canonicalize-ncnn,expand-layers,pack-channels,fuse-groups
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _ncnn() -> Dialect:
    from ncc.dialects.ncnn.dialect import NCNN

    return NCNN


def _rt() -> Dialect:
    from ncc.dialects.rt import RT

    return RT


def _tile() -> Dialect:
    from ncc.dialects.tile import TILE

    return TILE


def _unroll_batches() -> type[ModulePass]:
    from ncc.compiler.ncnn.unroll_batches import UnrollBatches

    return UnrollBatches


def _infer_shapes() -> type[ModulePass]:
    from ncc.compiler.ncnn.infer_shapes import InferShapes

    return InferShapes


def _canonicalize_ncnn() -> type[ModulePass]:
    from ncc.compiler.ncnn.canonicalize import CanonicalizeNcnn

    return CanonicalizeNcnn


def _optimize_ncnn() -> type[ModulePass]:
    from ncc.compiler.ncnn.optimize import OptimizeNcnn

    return OptimizeNcnn


def _expand_layers() -> type[ModulePass]:
    from ncc.compiler.ncnn.expand import ExpandLayers

    return ExpandLayers


def _choose_convolution() -> type[ModulePass]:
    from ncc.compiler.linalg.convolutions.convolve import ChooseConvolution

    return ChooseConvolution


def _sink_views() -> type[ModulePass]:
    from ncc.compiler.linalg.moves.sink_views import SinkViews

    return SinkViews


def _turn_factors() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.turn_factors import TurnFactors

    return TurnFactors


def _part_groups() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.part_groups import PartGroups

    return PartGroups


def _select_channels() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.select_channels import SelectChannels

    return SelectChannels


def _align_channels() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.align_channels import AlignChannels

    return AlignChannels


def _join_selections() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.join_selections import JoinSelections

    return JoinSelections


def _hoist_selections() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.hoist_selections import HoistSelections

    return HoistSelections


def _pack_channels() -> type[ModulePass]:
    from ncc.compiler.linalg.channels.pack import Pack

    return Pack


def _fold_moves() -> type[ModulePass]:
    from ncc.compiler.linalg.moves.fold_moves import FoldMoves

    return FoldMoves


def _scale_weights() -> type[ModulePass]:
    from ncc.compiler.linalg.sums.scale_weights import ScaleWeights

    return ScaleWeights


def _split_sums() -> type[ModulePass]:
    from ncc.compiler.linalg.sums.split_sums import SplitSums

    return SplitSums


def _sum_rows() -> type[ModulePass]:
    from ncc.compiler.linalg.sums.sum_rows import SumRows

    return SumRows


def _trim_windows() -> type[ModulePass]:
    from ncc.compiler.linalg.convolutions.trim_windows import TrimWindows

    return TrimWindows


def _sum_in_parts() -> type[ModulePass]:
    from ncc.compiler.linalg.sums.sum_in_parts import SumInParts

    return SumInParts


def _split_quads() -> type[ModulePass]:
    from ncc.compiler.linalg.sums.quads import SplitQuads

    return SplitQuads


def _split_halves() -> type[ModulePass]:
    from ncc.compiler.linalg.sums.halves import SplitHalves

    return SplitHalves


def _inline_operands() -> type[ModulePass]:
    from ncc.compiler.linalg.fusion.inline_operands import InlineOperands

    return InlineOperands


def _read_in_place() -> type[ModulePass]:
    from ncc.compiler.linalg.fusion.read_in_place import ReadInPlace

    return ReadInPlace


def _fuse_groups() -> type[ModulePass]:
    from ncc.compiler.linalg.fusion.fuse import Fuse

    return Fuse


# By functions, so that a tool that wants one pass does not load the others.
UNIVERSE = Universe(
    all_dialects={"ncnn": _ncnn, "rt": _rt, "tile": _tile},
    all_passes={
        "unroll-batches": _unroll_batches,
        "infer-shapes": _infer_shapes,
        "canonicalize-ncnn": _canonicalize_ncnn,
        "optimize-ncnn": _optimize_ncnn,
        "expand-layers": _expand_layers,
        "sink-views": _sink_views,
        "choose-convolution": _choose_convolution,
        "turn-factors": _turn_factors,
        "part-groups": _part_groups,
        "select-channels": _select_channels,
        "join-selections": _join_selections,
        "align-channels": _align_channels,
        "hoist-selections": _hoist_selections,
        "pack-channels": _pack_channels,
        "fold-moves": _fold_moves,
        "scale-weights": _scale_weights,
        "split-sums": _split_sums,
        "sum-rows": _sum_rows,
        "trim-windows": _trim_windows,
        "sum-in-parts": _sum_in_parts,
        "split-quads": _split_quads,
        "split-halves": _split_halves,
        "inline-operands": _inline_operands,
        "read-in-place": _read_in_place,
        "fuse-groups": _fuse_groups,
    },
)
