"""The tiles of a convolution, and what they cost.

The cost is a count of cycles of one core. Arithmetic and the stream of weights overlap: of cycles a
and b, sqrt(a*a + b*b) are left. V and M, which one step writes and the next one reads, come on top.

Transformed weights need not be kept (`formed`): the run can transform them, a few channels at a
time, where these and one row of the components of all tiles fit L1, as late in a network. Then they
come from memory as they are in the file, a quarter of F(4)'s, and are transformed once a strip.

At stride 2, the output transform adds up the phases of the window (`strided`). If the sum over
channels did, M would be smaller; but it would read so many streams that it loses as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, prod

from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.convolutions.forms import BOTH, ONE, Form, Plane
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.linalg.data_types.product_cycles import (
    LINE,
    multiply_adds,
    on_tiles,
    points_on_tiles,
)
from ncc.compiler.target import Target
from ncc.dialects.size import hint, is_open, most_of

DOWN, ACROSS = range(2)
"""How strips of tiles lie: one below the other, or side by side."""

BLOCKS = 2
"""Blocks of outputs whose weights the run transforms at a time."""


def compared_extent(extent: int, other: int, target: Target, many: bool = False) -> int:
    """The extent that costs are compared for. Where the run tells it, it is larger than for the
    hint: of two forms that are nearly alike there, the better one for larger images is taken, since
    these take longer. Small images need no tiles, or other ones (`small_images.py`).

    other: the extent of the other axis. If it is known, as of lines of text and of sequences, the
    image is longer instead, so that it has as many elements.

    many: whether `has_many_weights` holds, so that there are other ones.
    """
    if not is_open(extent):
        return extent
    costs = target.costs.winograd
    least = costs.large_extent if many else costs.least_extent
    larger = max(hint(extent) * 3 // 2, least)
    if not is_open(other):
        larger = max(hint(extent) * 9 // 4, least**2 // other)
    return larger if (most := most_of(extent)) is None else min(larger, most)


def has_many_weights(weights: SSAValue, stride: int, target: Target) -> bool:
    """Whether images between small and large ones may take tiles of their own, where the run tells
    how large they are. At larger strides tiles save little, and their weights are most.
    """
    return stride == 1 and 4 * prod(shape_of(weights)) >= target.costs.winograd.many_open_weights


@dataclass(frozen=True)
class Tiling:
    """The tiles of a convolution `inputs` -> `outputs` channels with a height x width result.

    Of several groups, `outputs` are those of all, and `inputs` those of one.
    formed: whether the run transforms the weights.
    bf16x3: whether V and weights are pairs of bfloat16, for matrix tiles.
    depth: of the result and the image, if they are volumes. Tiles of all phases of a dilation are a
    row of tiles, and a column.
    axes: whether windows have several taps along rows, and along columns; where they have one tap,
    tiles have one element.
    """

    form: Form
    outputs: int
    inputs: int
    height: int
    width: int
    target: Target
    groups: int = 1
    depth: Depth = IMAGE
    dilation: int = 1
    axes: tuple[bool, bool] = BOTH
    formed: bool = False
    bf16x3: bool = False

    def by_hint(self, times: int = 1) -> Tiling:
        """The tiles of the image of the hint, or of one that is so many times as high and wide."""
        extents = self.height, self.width
        height, width = (times * hint(n) if is_open(n) else n for n in extents)
        return replace(self, height=height, width=width)

    def is_like(self, other: Tiling) -> bool:
        """Whether another image has tiles of the same kind."""
        return (self.form, self.formed, self.bf16x3) == (other.form, other.formed, other.bf16x3)

    @cached_property
    def plane(self) -> Plane:
        """The tiles by axis."""
        rows, columns = self.axes
        forms = self.form if rows else ONE, self.form if columns else ONE
        return Plane(forms, (self.dilation if rows else 1, self.dilation if columns else 1))

    @cached_property
    def rows(self) -> int:
        """Rows of tiles."""
        return -(-self.height // self.plane.spans[0])

    @cached_property
    def columns(self) -> int:
        """Tiles of a row."""
        return -(-self.width // self.plane.spans[1])

    @cached_property
    def along(self) -> int:
        """How strips lie: they are rows of tiles, or columns where there is one row."""
        return ACROSS if self.rows == 1 else DOWN

    @cached_property
    def length(self) -> int:
        """Tiles in that direction."""
        return self.columns if self.along == ACROSS else self.rows

    @cached_property
    def components(self) -> int:
        """Of a tile, of one channel and slice."""
        return prod(form.window for form in self.plane.forms)

    def _points(self, size: int) -> float:
        """Components of all tiles, of one channel, in strips of so many rows of tiles, or columns:
        what takes as long in full matrix tiles, where each component has points apart.
        """
        across = self._places(self.columns) // self.components * self.depth.slices
        if not self.bf16x3:
            return self.components * across * self.rows
        across = across * self.rows // self.length
        strips, last = divmod(self.length, size)
        points = strips * points_on_tiles(1, across * size)
        return self.components * (points + (points_on_tiles(1, across * last) if last else 0.0))

    @property
    def across(self) -> int:
        """Tiles side by side in a strip of one."""
        return prod(self.plane.dilations) * (self.columns if self.along == DOWN else self.rows)

    @property
    def places(self) -> int:
        """Components of all tiles in a row of tiles, of one channel and slice."""
        return self._places(self.columns)

    def _places(self, columns: int) -> int:
        return self.components * prod(self.plane.dilations) * columns

    @property
    def _pairs(self) -> int:
        """Of channels, and taps along the depth; on matrix tiles, of those that these compute."""
        outputs, inputs = self.outputs, self.inputs
        if self.bf16x3:
            outputs, inputs = on_tiles(outputs // self.groups, inputs)
            outputs *= self.groups
        return outputs * inputs * self.depth.taps * self.plane.parts

    @property
    def weights(self) -> int:
        """Their bytes, as they are kept."""
        return 4 * (self.form.taps**2 if self.formed else self.components) * self._pairs

    def cycles(self, size: int, threads: int = 1, calls: int | None = None) -> float:
        """The cost in strips of so many rows of tiles, or columns, for each of some threads that
        share them. calls: cycles on top for each strip; None: those of its launches.
        """
        costs = self.target.costs
        strips = -(-self.length // size)
        calls = costs.strips.calls if calls is None else calls
        points = self._points(size)
        work, weights = float(points * self._pairs), self.weights
        if self.formed:
            forming = strips * costs.winograd.forming_weight
            work = work / costs.winograd.full_between + forming * self.components * self._pairs
        again = _again(weights, self.target)
        stream = self.target.core.memory_line + (strips - 1) * again
        last = self.length - (strips - 1) * size
        between = (strips - 1) * sum(self.between(size)) + sum(self.between(last))
        shared = hypot(
            work / multiply_adds(self.target, self.bf16x3),
            weights / LINE * stream,
        )
        held = _held(between / strips / threads, self.target)
        held += costs.data_types.split_line if self.bf16x3 else 0.0
        shared += between / LINE * held
        return shared / threads + strips * calls

    def can_form(self) -> bool:
        """Whether the run can transform the weights on their way: in whole blocks of channels,
        for a few tiles at a time.
        """
        plain = self.groups == 1 and self.depth == IMAGE and self.form.stride == 1
        plain = plain and self.axes == BOTH and not self.bf16x3
        blocks = self.inputs % BLOCK == 0 and self.outputs % (BLOCKS * BLOCK) == 0
        return plain and blocks and self.target.lanes == BLOCK and self.most_formed > 0

    @property
    def most_formed(self) -> int:
        """The most tiles of a strip for which the run transforms weights: one row of their
        components, by what is multiplied there and what comes of it, stays in L1 beside weights.
        """
        weights = BLOCKS * BLOCK * self.form.window
        vectors = self.target.core.l1_bytes // (4 * BLOCK) - weights
        return vectors // ((BLOCKS + 1) * self.form.window)

    def between(self, size: int) -> tuple[int, int]:
        """Bytes of V, and of M, of a strip of so many rows of tiles, or columns."""
        v, m = self.groups * self.inputs * self.depth.reach, self.outputs * self.depth.slices
        rows, columns = (self.rows, size) if self.along == ACROSS else (size, self.columns)
        down, across = self.plane.read((rows, columns))
        return 4 * self._places(across) * down * v, 4 * self._places(columns) * rows * m


def _again(weights: int, target: Target) -> float:
    """Cycles of a line of so many bytes of weights that are read once more."""
    core, costs = target.core, target.costs.winograd
    if weights <= costs.again_near * core.l2_bytes:
        return 0.0
    return core.l3_line if weights <= costs.again_far else core.memory_line


def _held(bytes: float, target: Target) -> float:
    """Cycles of a line of what lies between the steps, if it is so many bytes."""
    core, costs = target.core, target.costs.winograd
    far = min(1.0, bytes / (costs.held_near * core.l2_bytes))
    behind = core.l3_line if bytes <= costs.held_far else core.memory_line
    return (1 - far) * costs.near_line * core.l2_line + far * costs.far_line * behind
