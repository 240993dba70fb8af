"""The passes of the linalg level, in order, with the reason for each place.

Each pass matches linalg operations by their loops and accesses, and rewrites them. The docstring of
its file shows the IR before and after, and what the pass needs and breaks. Five rules make the
order:

- Passes that change the number of axes or groups come before passes that look at axes and groups.
- Algorithms of convolutions are chosen on plain images, where windows and borders are visible.
- Channels are gathered, aligned and hoisted while they are an axis; `PackChannels` makes blocks.
- Sums are shaped for instructions and caches once the layout of their operands is fixed.
- Fusion groups are formed last: before that, each operation has one body and one result.
"""

from __future__ import annotations

from xdsl.passes import ModulePass

from ncc.compiler.linalg.convolutions.bubble_up_slices import BubbleUpSlices
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.conv1d_to_conv2d import Conv1dToConv2d
from ncc.compiler.linalg.convolutions.join_phases import JoinPhases
from ncc.compiler.linalg.convolutions.peel_borders import PeelBorders
from ncc.compiler.linalg.convolutions.separate_windows import SeparateWindows
from ncc.compiler.linalg.convolutions.space_to_depth import SpaceToDepth
from ncc.compiler.linalg.convolutions.sum_over_images import SumOverImages
from ncc.compiler.linalg.convolutions.trim_windows import TrimWindows
from ncc.compiler.linalg.data_types.narrow_weights import NarrowWeights
from ncc.compiler.linalg.data_types.pack_vnni import PackVnni
from ncc.compiler.linalg.data_types.quantize_weights import QuantizeWeights
from ncc.compiler.linalg.data_types.split_bf16 import SplitBf16
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.fusion.fuse_producers import FuseProducers
from ncc.compiler.linalg.fusion.read_in_place import ReadInPlace
from ncc.compiler.linalg.fusion.split_transposes import SplitTransposes
from ncc.compiler.linalg.fusion.tile_and_fuse import TileAndFuse
from ncc.compiler.linalg.fusion.tile_attention import TileAttention
from ncc.compiler.linalg.groups.join_groups import JoinGroups
from ncc.compiler.linalg.groups.part_groups import PartGroups
from ncc.compiler.linalg.groups.repeat_groups import RepeatGroups
from ncc.compiler.linalg.groups.separate_groups import SeparateGroups
from ncc.compiler.linalg.layout.align_channels import AlignChannels
from ncc.compiler.linalg.layout.fold_transposes import FoldTransposes
from ncc.compiler.linalg.layout.gather_channels import GatherChannels
from ncc.compiler.linalg.layout.hoist_elementwise import HoistElementwise
from ncc.compiler.linalg.layout.hoist_gathers import HoistGathers
from ncc.compiler.linalg.layout.join_gathers import JoinGathers
from ncc.compiler.linalg.layout.move_taps_outside import MoveTapsOutside
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.layout.transpose_factors import TransposeFactors
from ncc.compiler.linalg.reductions.defer_division import DeferDivision
from ncc.compiler.linalg.reductions.fold_scale_into_weights import FoldScaleIntoWeights
from ncc.compiler.linalg.reductions.fuse_softmax import FuseSoftmax
from ncc.compiler.linalg.reductions.hoist_reductions import HoistReductions
from ncc.compiler.linalg.reductions.skip_border_taps import SkipBorderTaps
from ncc.compiler.linalg.reductions.split_k_over_lanes import SplitKOverLanes
from ncc.compiler.linalg.reductions.split_reduction_by_rows import SplitReductionByRows
from ncc.compiler.linalg.reductions.split_reduction_for_cache import SplitReductionForCache
from ncc.compiler.linalg.reductions.split_reduction_in_halves import SplitReductionInHalves
from ncc.compiler.ncnn.convert_to_linalg import ConvertNcnnToLinalg
from ncc.compiler.options import OPT_LEVELS, Options
from ncc.compiler.target import AMX


def every_linalg_pass() -> list[ModulePass]:
    """The passes of the highest level for the target with most instructions."""
    return linalg_passes(Options(opt_level=max(OPT_LEVELS), target=AMX))


def linalg_passes(options: Options) -> list[ModulePass]:
    """From layers to fusion groups, each of which becomes one kernel."""
    if options.opt_level < 2:
        return [ConvertNcnnToLinalg(), FormFusionGroups(epilogues=False)]
    target, threads = options.target, options.num_threads
    costs = target.costs
    few = costs.reductions.few_outputs_on_tiles if options.tiles else None
    tiles = [SplitBf16(target)] if options.tiles else []
    fixed = [QuantizeWeights(target)] if options.tiles else []
    return [
        ConvertNcnnToLinalg(threads),
        BubbleUpSlices(),  # while slices read convolutions directly, without reshapes between them
        # Other axes, other groups.
        Conv1dToConv2d(costs),  # sequences become images of one row
        JoinPhases(target),  # of transposed convolutions: one convolution for all, or one each
        RepeatGroups(costs),  # groups of one channel that make several channels
        JoinGroups(target),  # of fewer channels than a block has
        SeparateGroups(target),  # a few large groups become convolutions of their own
        DeferDivision(),  # while the quotient is still next to its sum
        FuseSoftmax(costs),  # other softmax, while its four operations are still together
        HoistElementwise(),  # in front of reshapes and concats, next to the producer
        HoistReductions(),  # next to the last operand, so that one value stays alive
        SeparateWindows(costs),  # of maxima and sums, one axis at a time
        # Algorithms of convolutions.
        TrimWindows(costs),  # leaves out products with borders that fill most of a window
        SumOverImages(),  # for windows that are larger than the image that they see
        SpaceToDepth(target),  # phases of an image of few channels become channels
        ChooseConvolution(target, threads, options.tiles),  # Winograd's, in strips
        PeelBorders(target, options.tiles),  # other convolutions read the network's input in place
        # Channels, then blocks of them.
        TransposeFactors(costs),  # neighbours in the result become neighbours in the operand
        PartGroups(),  # groups that make one channel each become blocks of groups
        GatherChannels(costs),  # shuffles become gathers
        JoinGathers(costs),  # concats keep the order of producers; readers gather
        AlignChannels(costs),  # groups and parts begin with a block
        HoistGathers(),  # gathers join each other, or go into weights
        PackChannels(costs),
        FoldTransposes(),  # of layers, and of conversions to and from blocks
        # Sums, by the layout of their operands.
        PackVnni(target),  # int8 products in groups of four
        FoldScaleIntoWeights(few, costs),  # if there are fewer weights than image elements
        *tiles,  # products of bfloat16 for matrix tiles
        TileAttention(),  # by rows, where scores would leave the cache
        TileAndFuse(),  # strips of tiles: the passes behind look at one of them
        SplitReductionInHalves(costs),  # behind an operation that works channel by channel
        SplitReductionByRows(costs),  # of large images, each row where it was made
        SplitReductionForCache(target),  # cache blocking of the reduction
        NarrowWeights(target),  # float16 weights stay so where reading them bounds a sum
        *fixed,  # other weights become fixed-point numbers of 20 bits
        SkipBorderTaps(costs),  # in images of one row; weights are no constants behind it
        MoveTapsOutside(target),  # of these weights
        # Kernels.
        FuseProducers(),  # elementwise operands are computed where they are read
        ReadInPlace(costs),  # a sum reads lanes in place instead of a gathered copy
        SplitTransposes(target),  # those that would move elements one by one
        SplitKOverLanes(target),  # where outputs fill at most half of the last block
        FormFusionGroups(costs=costs),
    ]
