"""Which tiles a convolution is computed in, and whether they pay.

              products a result   weights   rounding   taken
    3x3              9              1
      F(2)           4              1.8       < 1      where results are few, so that weights decide
      F(4)           2.25           4         1        elsewhere
      F(6)           1.8            7.1     1.4 - 1.7  along rows alone, or columns
    5x5             25              1
      F(2)           9              1.4       1        where many channels are summed
      F(4)           4              2.6      up to 2   where at most `FEW_SUMMED` are

Rounding is told by that of F(4) for 3x3, which is as coarse as sums of many channels may be. Along
rows alone, or columns, all of these round to 6e-6 of the largest result where 512 channels are
summed, and have no such bound.

By halves of bfloat16 on matrix tiles, products are many in a cycle and coarse: F(2) for 3x3 alone
rounds finely enough in them, by 9e-6 of the largest result. It is taken where channels are many.
All forms in float32 compete with it, and with the direct convolution by halves: F(4) is cheaper
than this one where channels leave much of its steps empty, or threads share the unit for tiles.

Weights that the run transforms take less memory, which is worth a little time.

Which form is taken does not depend on how many threads there are, so that results do not.

With bf16x3 arithmetic, F(4) rounds several times as coarsely as F(2). The transform stores V as
bf16 halves, and M is a contraction on matrix tiles for each component. The direct convolution on
matrix tiles is five times as fast as in float32, so that F(2) pays from some 256 channels on, where
images are large beside their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod

from ncc.compiler.linalg.analysis.block_size import lanes_in
from ncc.compiler.linalg.convolutions.chunks import chunk_size
from ncc.compiler.linalg.convolutions.forms import BOTH, F2, F4_5, forms_of
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.linalg.data_types.product_cycles import cycles_on_tiles, sum_cycles
from ncc.compiler.target import Target

FEWEST_CHANNELS = 16
"""Channels that a convolution in tiles reads, and makes, at the least."""

FEW_SUMMED = 64
"""The most channels, times taps along the depth, that F(4) for 5x5 sums: so many round by 8e-6 of
the largest result."""

MANY_WEIGHTS = 12 << 20
"""Bytes of transformed weights from which on the run transforms them: fewer stay in caches."""

FEWER_BYTES = 0.9
"""The run transforms weights if this part of the cycles is less than by transformed ones: memory is
worth the rest."""

ROW_WORTH = 0.85
"""Tiles of windows of one row, or one column, take at most this part of the cycles of the direct
convolution: what they read is written into frames of its own.
"""

HALVES_WORTH = 0.97
"""Tiles by halves take at most this part of the cycles of the direct convolution by halves: the
model is no finer, and V and M take memory.
"""


@cache
def tiling_of(
    outputs: int,
    inputs: int,
    height: int,
    width: int,
    target: Target,
    groups: int = 1,
    depth: Depth = IMAGE,
    dilation: int = 1,
    axes: tuple[bool, bool] = BOTH,
    taps: int = 3,
    stride: int = 1,
    halves: bool = False,
) -> Tiling | None:
    """The cheapest tiles of a convolution with windows of so many taps along each of some axes, and
    one along others; None where it is cheaper as it is.

    halves: whether sums over channels, in tiles or not, may be those of halves of bfloat16.
    """
    fine = axes != BOTH or inputs * depth.taps <= FEW_SUMMED
    forms = [form for form in forms_of(taps, stride, axes) if fine or form is not F4_5]
    if not forms:
        return None
    sizes = outputs, inputs, height, width, target, groups, depth, dilation, axes
    tilings = [Tiling(form, *sizes) for form in forms]
    best = _best(tilings)
    formed = [replace(tiling, formed=True) for tiling in tilings if _may_be_formed(tiling)]
    if formed and _cost(least := _best(formed)) * FEWER_BYTES < _cost(best):
        best = least
    window, points = taps ** sum(axes) * depth.taps, height * width
    plain = sum_cycles(window * outputs * inputs, points * depth.slices, target)
    if halves:
        read = groups * inputs * depth.reach * points * stride ** sum(axes)
        rows = depth.slices * height, width, (stride - 1) * width + (taps - 1) * dilation
        direct = cycles_on_tiles(outputs // groups, inputs, window, rows, target, groups, read)
        plain = min(plain, direct)
        halved = [Tiling(form, *sizes, halves=True) for form in forms if form is F2]
        best = _best([best, *(one for one in halved if _cost(one) < HALVES_WORTH * direct)])
    return best if _cost(best) < (1.0 if axes == BOTH else ROW_WORTH) * plain else None


def cycles_of(
    outputs: int,
    inputs: int,
    cells: Sequence[int],
    window: Sequence[int],
    target: Target,
    groups: int = 1,
) -> float:
    """The cost of a convolution of an image, of stride 1, in tiles where these are cheaper; of
    several groups, by the outputs of all and the inputs of one.
    """
    plain = plain_cycles(outputs, inputs, cells, window, target)
    taps, axes = max(window), (window[0] > 1, window[1] > 1)
    few = min(outputs // groups, inputs) < FEWEST_CHANNELS
    if few or min(window) not in (1, taps) or taps == 1:
        return plain
    rows, columns = cells
    tiling = tiling_of(outputs, inputs, rows, columns, target, groups, axes=axes, taps=taps)
    return plain if tiling is None else _cost(tiling)


def plain_cycles(
    outputs: int, inputs: int, cells: Sequence[int], window: Sequence[int], target: Target
) -> float:
    """The cost of a convolution as it is, which fills whole blocks of outputs."""
    return sum_cycles(prod(window) * lanes_in(outputs) * inputs, prod(cells), target)


def _may_be_formed(tiling: Tiling) -> bool:
    """Whether weights are many, and the run can transform them."""
    weights = 4 * tiling.form.window**2 * tiling.outputs * tiling.inputs
    return weights >= MANY_WEIGHTS and tiling.can_form()


def _best(tilings: Sequence[Tiling]) -> Tiling:
    """The first that costs least."""
    return min(tilings, key=_cost)


def _cost(tiling: Tiling) -> float:
    return tiling.cycles(chunk_size(tiling))
