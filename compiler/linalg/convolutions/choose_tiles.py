"""Chooses the tiles of a convolution, if tiles pay.

              products a result   weights   rounding   taken
    3x3              9              1
      F(2)           4              1.8       < 1      where results are few and weights dominate
      F(4)           2.25           4         1        elsewhere
      F(6)           1.8            7.1     1.4 - 1.7  along rows alone, or columns
    5x5             25              1
      F(2)           9              1.4       1        where many channels are summed
      F(4)           4              2.6      up to 2   where at most `few_summed` are

The unit of rounding is that of F(4) for 3x3, the coarsest that sums of many channels may have.
Along rows alone, or columns alone, each form rounds to 6e-6 of the largest result for 512 channels,
so that none is excluded.

With bf16x3 arithmetic on matrix tiles, products are cheap and coarse. Only F(2) for 3x3 rounds
finely enough: by 9e-6 of the largest result. F(4) rounds several times as coarsely. The transform
stores V as pairs of bf16 numbers, and M is a contraction on matrix tiles for each component. Direct
sums on matrix tiles are five times as fast as in float32, so that F(2) pays from some 256 channels
on, if the image is large compared with the weights. All forms in float32 compete with both: F(4) is
cheaper if channels do not fill the k-tiles of matrix tiles, or if threads share the unit for them.

Weights that the run transforms take less memory, which is worth a little time.

The choice does not depend on the number of threads, so that results do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import inf, prod
from typing import NamedTuple

from ncc.compiler.linalg.analysis.block_size import lanes_in
from ncc.compiler.linalg.convolutions.forms import BOTH, F2, F4_5, forms_of
from ncc.compiler.linalg.convolutions.strips import strip_size
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.linalg.data_types.product_cycles import cycles_on_tiles, sum_cycles
from ncc.compiler.target import Target


class Costs(NamedTuple):
    """The algorithms that compete for a convolution, and their cycles.

    direct: in float32. direct_on_tiles: by bf16x3 on matrix tiles, if the target may use them.
    tilings: Winograd's, the best one first; empty if no form fits the window.
    worth: the largest share of the direct cycles that tiles may take.
    """

    direct: float
    direct_on_tiles: float | None
    tilings: tuple[tuple[Tiling, float], ...]
    worth: float

    @property
    def chosen(self) -> Tiling | None:
        """The tiles to use; None if the direct convolution is cheaper."""
        if not self.tilings:
            return None
        tiling, cycles = self.tilings[0]
        direct = self.direct
        if self.direct_on_tiles is not None:
            direct = min(direct, self.direct_on_tiles)
        return tiling if cycles < self.worth * direct else None

    def __str__(self) -> str:
        costs = [f"direct {shown(self.direct)}"]
        if self.direct_on_tiles is not None:
            costs.append(f"direct by bf16x3 on matrix tiles {shown(self.direct_on_tiles)}")
        costs += [f"{name_of(tiling)} {shown(cycles)}" for tiling, cycles in self.tilings]
        worth = f"; Winograd must take less than {self.worth:g} of direct" * (self.worth < 1)
        return f"estimated cycles: {', '.join(costs)}{worth}"


@cache
def costs_of(
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
    bf16x3: bool = False,
    opened: bool = False,
) -> Costs:
    """The costs of a convolution in tiles, and without.

    Its windows have `taps` taps along the axes that `axes` names, and one along the other.
    bf16x3: whether sums over channels, in tiles or not, may use bf16x3. opened: whether the run
    tells how large the image is.
    """
    winograd = target.costs.winograd
    worth = winograd.row_worth if axes != BOTH else winograd.open_worth if opened else 1.0
    window, points = taps ** sum(axes) * depth.taps, height * width
    plain = sum_cycles(window * outputs * inputs, points * depth.slices, target)
    direct = None
    if bf16x3:
        read = groups * inputs * depth.reach * points * stride ** sum(axes)
        rows = depth.slices * height, width, (stride - 1) * width + (taps - 1) * dilation
        direct = cycles_on_tiles(outputs // groups, inputs, window, rows, target, groups, read)
    fine = axes != BOTH or inputs * depth.taps <= winograd.few_summed
    forms = [form for form in forms_of(taps, stride, axes) if fine or form is not F4_5]
    if not forms:
        return Costs(plain, direct, (), worth)
    sizes = outputs, inputs, height, width, target, groups, depth, dilation, axes
    given = winograd.given_tiles
    if given is not None:
        form = min(forms, key=lambda one: one.tile != given.tile)
        tiling = Tiling(form, *sizes, formed=given.formed, bf16x3=bf16x3)
        return Costs(plain, direct, ((tiling, cost_of(tiling)),), inf)
    tilings = [Tiling(form, *sizes) for form in forms]
    best = _best(tilings)
    formed = [replace(one, formed=True) for one in tilings if _may_be_formed(one, opened)]
    if formed and cost_of(least := _best(formed)) * winograd.fewer_bytes < cost_of(best):
        best = least
    split: list[Tiling] = []
    if direct is not None:
        split = [Tiling(form, *sizes, bf16x3=True) for form in forms if form is F2]
        most = winograd.bf16x3_worth * direct
        best = _best([best, *(one for one in split if cost_of(one) < most)])
    others = [one for one in (*tilings, *formed, *split) if one != best]
    ordered = [best, *sorted(others, key=cost_of)]
    return Costs(plain, direct, tuple((one, cost_of(one)) for one in ordered), worth)


def name_of(tiling: Tiling) -> str:
    """The name of tiles in reports."""
    taps = "x".join(str(tiling.form.taps if several else 1) for several in tiling.axes)
    how = [
        " by bf16x3 on matrix tiles" * tiling.bf16x3,
        " with weights formed at run time" * tiling.formed,
    ]
    return f"Winograd F({tiling.form.tile}) of {taps}{''.join(how)}"


def shown(cycles: float) -> str:
    """Cycles as text, in thousands."""
    return f"{cycles / 1e3:,.{1 if cycles < 1e4 else 0}f} k"


def cycles_of(
    outputs: int,
    inputs: int,
    extents: Sequence[int],
    window: Sequence[int],
    target: Target,
    groups: int = 1,
) -> float:
    """The cost of a convolution of an image with stride 1, in tiles if they are cheaper.

    extents: rows and columns of the result. outputs: of all groups. inputs: of one group.
    """
    plain = plain_cycles(outputs, inputs, extents, window, target)
    taps, axes = max(window), (window[0] > 1, window[1] > 1)
    few = min(outputs // groups, inputs) < target.costs.winograd.fewest_tiled_channels
    if few or min(window) not in (1, taps) or taps == 1:
        return plain
    rows, columns = extents
    costs = costs_of(outputs, inputs, rows, columns, target, groups, axes=axes, taps=taps)
    return plain if costs.chosen is None else cost_of(costs.chosen)


def plain_cycles(
    outputs: int, inputs: int, extents: Sequence[int], window: Sequence[int], target: Target
) -> float:
    """The cost of a direct convolution, which computes whole blocks of outputs."""
    return sum_cycles(prod(window) * lanes_in(outputs) * inputs, prod(extents), target)


def _may_be_formed(tiling: Tiling, opened: bool) -> bool:
    """Whether weights are large, the run can transform them, and all tiles are one strip. Of an
    image whose size the run tells, two strips will do: it is compared for a size that is larger
    than most.
    """
    weights = 4 * tiling.form.window**2 * tiling.outputs * tiling.inputs
    few = tiling.length * tiling.across <= (1 + opened) * tiling.most_formed
    return weights >= tiling.target.costs.winograd.many_weights and few and tiling.can_form()


def _best(tilings: Sequence[Tiling]) -> Tiling:
    """The cheapest; of equal ones the first."""
    return min(tilings, key=cost_of)


def cost_of(tiling: Tiling) -> float:
    """The cycles of tiles, in strips that cost least."""
    return tiling.cycles(strip_size(tiling))
