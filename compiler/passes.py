"""The passes of the linalg level, in order, and why they stand where they do.

Each pass finds a shape of computation by its loops and accesses, and writes another one; what it
needs and what it breaks is said at the head of its file. Four things make the order:

- What changes how many axes or groups a computation has comes before what asks for axes and groups.
- Algorithms of convolutions are chosen on plain images, where windows and borders can be seen.
- Channels are gathered, aligned and hoisted while they are an axis; `PackChannels` makes blocks.
- Sums are shaped for instructions and caches when it is known how their operands lie.

What becomes one kernel is decided last: up to there a computation has one body, and one result.
"""

from __future__ import annotations

from xdsl.passes import ModulePass

from ncc.compiler.linalg.convolutions.bubble_up_slices import BubbleUpSlices
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.compute_in_strips import ComputeInStrips
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
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.layout.transpose_factors import TransposeFactors
from ncc.compiler.linalg.reductions.defer_division import DeferDivision
from ncc.compiler.linalg.reductions.fold_scale_into_weights import FEW_OUTPUTS, FoldScaleIntoWeights
from ncc.compiler.linalg.reductions.fuse_softmax import FuseSoftmax
from ncc.compiler.linalg.reductions.hoist_reductions import HoistReductions
from ncc.compiler.linalg.reductions.split_k_over_lanes import SplitKOverLanes
from ncc.compiler.linalg.reductions.split_reduction_by_rows import SplitReductionByRows
from ncc.compiler.linalg.reductions.split_reduction_for_cache import SplitReductionForCache
from ncc.compiler.linalg.reductions.split_reduction_in_halves import SplitReductionInHalves
from ncc.compiler.ncnn.convert_to_linalg import ConvertNcnnToLinalg
from ncc.compiler.options import Options


def linalg_passes(options: Options) -> list[ModulePass]:
    """From layers to groups of computations, each of which becomes one kernel."""
    if options.opt_level < 2:
        return [ConvertNcnnToLinalg(), FormFusionGroups(epilogues=False)]
    target, threads = options.target, options.num_threads
    costs = target.costs
    few = FEW_OUTPUTS if options.tiles else None
    tiles = [SplitBf16(target)] if options.tiles else []
    fixed = [QuantizeWeights(target)] if options.tiles else []
    return [
        ConvertNcnnToLinalg(threads),
        BubbleUpSlices(),  # of convolutions, while their slices read them and no views of them
        # Other axes, other groups.
        Conv1dToConv2d(),  # sequences are images of one row
        JoinPhases(target),  # of transposed convolutions, or a convolution each
        RepeatGroups(),  # groups of one channel that make several
        JoinGroups(target),  # of fewer channels than a block has
        SeparateGroups(target),  # a few large groups are convolutions of their own
        DeferDivision(),  # sums of quotients, while both are still side by side
        FuseSoftmax(),  # what is left of softmax, while its computations lie as it wrote them
        HoistElementwise(),  # in front of reshapes and concats, beside what made its operand
        HoistReductions(),  # beside the last of what they read, of which they leave one value
        SeparateWindows(costs),  # of maxima and sums, an axis at a time
        # Algorithms of convolutions.
        TrimWindows(costs),  # no products with borders, where these are most of a window
        SumOverImages(),  # of what windows see all of, and have more cells
        SpaceToDepth(target),  # of images of few channels, whose phases are channels
        ChooseConvolution(target, threads, options.tiles),  # Winograd's, in chunks
        ComputeInStrips(target, threads),  # chains that hand on more than a cache holds
        PeelBorders(target, options.tiles),  # what is left reads the network's input in place
        # Channels, then blocks of them.
        TransposeFactors(),  # neighbours in the result are neighbours in what it reads
        PartGroups(),  # groups that make one channel each are blocks of groups
        GatherChannels(),  # shuffles are selections
        JoinGathers(),  # concats hold what was made, and who reads them selects
        AlignChannels(),  # what would begin amid a block
        HoistGathers(),  # up to one another, or into weights
        PackChannels(),
        FoldTransposes(),  # those of layers, and those that blocks asked for
        # Sums, by how their operands lie.
        PackVnni(target),  # int8 products in fours
        FoldScaleIntoWeights(few, costs),  # factors of what is summed, where weights are fewer
        *tiles,  # products of bfloat16; what stays is as without tiles
        SplitReductionInHalves(costs),  # in halves behind what was made channel by channel
        SplitReductionByRows(costs),  # of large images, each where it was made
        SplitReductionForCache(target),  # over more than a cache holds, in parts that stay there
        NarrowWeights(target),  # read as float16 where they are, and are waited for
        *fixed,  # the others in two and a half bytes
        # Kernels.
        FuseProducers(),  # pointwise operands are computed where they are read
        ReadInPlace(costs),  # lanes that a sum alone reads are not selected
        SplitTransposes(target),  # those that would move elements one by one
        SplitKOverLanes(target),  # of outputs that fill half of one or less
        FormFusionGroups(),
    ]
