"""The passes of the structured level, in order, and why they stand where they do.

Each pass finds a shape of computation by its loops and accesses, and writes another one; what it
needs and what it breaks is said at the head of its file. Four things make the order:

- What changes how many axes or groups a computation has comes before what asks for axes and groups.
- Algorithms of convolutions are chosen on plain images, where windows and borders can be seen.
- Channels are selected, aligned and hoisted while they are an axis; `Pack` makes blocks of them.
- Sums are shaped for instructions and caches when it is known how their operands lie.

What becomes one kernel is decided last: up to there a computation has one body, and one result.
"""

from __future__ import annotations

from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.align_channels import AlignChannels
from ncc.compiler.linalg.channels.hoist_selections import HoistSelections
from ncc.compiler.linalg.channels.join_selections import JoinSelections
from ncc.compiler.linalg.channels.pack import Pack
from ncc.compiler.linalg.channels.select_channels import SelectChannels
from ncc.compiler.linalg.channels.transpose_factors import TransposeFactors
from ncc.compiler.linalg.convolutions.compute_read_cells import ComputeReadCells
from ncc.compiler.linalg.convolutions.convolve import ChooseConvolution
from ncc.compiler.linalg.convolutions.join_phases import JoinPhases
from ncc.compiler.linalg.convolutions.lift_sequences import LiftSequences
from ncc.compiler.linalg.convolutions.peel_borders import PeelBorders
from ncc.compiler.linalg.convolutions.separate_windows import SeparateWindows
from ncc.compiler.linalg.convolutions.split_strides import SplitStrides
from ncc.compiler.linalg.convolutions.strips import ComputeInStrips
from ncc.compiler.linalg.convolutions.sum_over_images import SumOverImages
from ncc.compiler.linalg.convolutions.trim_windows import TrimWindows
from ncc.compiler.linalg.fusion.fuse import Fuse
from ncc.compiler.linalg.fusion.hoist_sums import HoistSums
from ncc.compiler.linalg.fusion.inline_operands import InlineOperands
from ncc.compiler.linalg.fusion.read_in_place import ReadInPlace
from ncc.compiler.linalg.fusion.split_moves import SplitMoves
from ncc.compiler.linalg.groups.join_groups import JoinGroups
from ncc.compiler.linalg.groups.part_groups import PartGroups
from ncc.compiler.linalg.groups.repeat_groups import RepeatGroups
from ncc.compiler.linalg.groups.separate_groups import SeparateGroups
from ncc.compiler.linalg.moves.fold_moves import FoldMoves
from ncc.compiler.linalg.moves.sink_views import SinkViews
from ncc.compiler.linalg.sums.divide_sums import DivideSums
from ncc.compiler.linalg.sums.fixed_point import FixWeights
from ncc.compiler.linalg.sums.fold_blocks import FoldBlocks
from ncc.compiler.linalg.sums.halves import SplitHalves
from ncc.compiler.linalg.sums.narrow_weights import NarrowWeights
from ncc.compiler.linalg.sums.quads import SplitQuads
from ncc.compiler.linalg.sums.scale_weights import FEW_OUTPUTS, ScaleWeights
from ncc.compiler.linalg.sums.share_at_once import ShareAtOnce
from ncc.compiler.linalg.sums.split_sums import SplitSums
from ncc.compiler.linalg.sums.sum_in_parts import SumInParts
from ncc.compiler.linalg.sums.sum_rows import SumRows
from ncc.compiler.ncnn.expand import ExpandLayers
from ncc.compiler.options import Options


def structured_passes(options: Options) -> list[ModulePass]:
    """From layers to groups of computations, each of which becomes one kernel."""
    if options.opt_level < 2:
        return [ExpandLayers(), Fuse(epilogues=False)]
    target, threads = options.target, options.num_threads
    few = FEW_OUTPUTS if options.tiles else None
    tiles = [SplitHalves(target.core.l2_bytes)] if options.tiles else []
    fixed = [FixWeights(target)] if options.tiles else []
    return [
        ExpandLayers(threads),
        ComputeReadCells(),  # of convolutions, while their slices read them and no views of them
        # Other axes, other groups.
        LiftSequences(),  # sequences are images of one row
        JoinPhases(target),  # of transposed convolutions, or a convolution each
        RepeatGroups(),  # groups of one channel that make several
        JoinGroups(target),  # of fewer channels than a block has
        SeparateGroups(target),  # a few large groups are convolutions of their own
        DivideSums(),  # sums of quotients, while both are still side by side
        ShareAtOnce(),  # what is left of softmax, while its computations lie as it wrote them
        SinkViews(),  # pointwise work in front of reshapes and joints, beside what made its operand
        HoistSums(),  # beside the last of what they read, of which they leave one value
        SeparateWindows(),  # of maxima and sums, an axis at a time
        # Algorithms of convolutions.
        TrimWindows(),  # no products with borders, where these are most of a window
        SumOverImages(),  # of what windows see all of, and have more cells
        SplitStrides(target),  # of images of few channels, whose phases are channels
        ChooseConvolution(target, threads, options.tiles),  # Winograd's, in chunks
        ComputeInStrips(target, threads),  # chains that hand on more than a cache holds
        PeelBorders(target, options.tiles),  # what is left reads the network's input in place
        # Channels, then blocks of them.
        TransposeFactors(),  # neighbours in the result are neighbours in what it reads
        PartGroups(),  # groups that make one channel each are blocks of groups
        SelectChannels(),  # shuffles are selections
        JoinSelections(),  # joints hold what was made, and who reads them selects
        AlignChannels(),  # what would begin amid a block
        HoistSelections(),  # up to one another, or into weights
        Pack(),
        FoldMoves(),  # those of layers, and those that blocks asked for
        # Sums, by how their operands lie.
        SplitQuads(target),  # int8 products in fours
        ScaleWeights(few),  # factors of what is summed go into the weights, which are fewer
        *tiles,  # products of bfloat16; what stays is as without tiles
        SplitSums(),  # in halves behind what was made channel by channel
        SumRows(),  # of large images, each where it was made
        SumInParts(target),  # over more than a cache holds, in parts that stay there
        NarrowWeights(target),  # read as float16 where they are, and are waited for
        *fixed,  # the others in two and a half bytes
        # Kernels.
        InlineOperands(),  # pointwise operands are computed where they are read
        ReadInPlace(),  # lanes that a sum alone reads are not selected
        SplitMoves(target),  # those that would move elements one by one
        FoldBlocks(target),  # of outputs that fill half of one or less
        Fuse(),
    ]
