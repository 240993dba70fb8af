"""Windows that reach beyond the image, without what they see there.

    %p = pad %x by 12              %a = conv(rows and columns that the first cells see, their taps)
    %y = relu(conv(%p))    ->      ...
                                   %y = concat rows (concat columns (relu %a, ..), ..)

With a dilation of 12 on an image of 17 x 17, a window of 3 x 3 has 2.5 cells in the image: along an
axis, the first cells see it through two of their taps, those amid through one. Cells that see the
image through the same taps are computed together, by these taps, and read it where it lies.

Needs: the structured level before layouts and groups.  Breaks: the order of floating-point sums,
and what an infinite weight makes of a border of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.convolutions.parts import (
    Span,
    following,
    image_loops,
    is_image,
    part,
    stands_or_moves,
    window_of,
)
from ncc.compiler.linalg.insert import erase_dead, put_for, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.tensors import is_constant, pad_sides, pad_value, weights_of
from ncc.compiler.linalg.view import Access, View, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.weight import WeightAttr

WORTH = 0.8
"""The most products that are left, of all: parts are a kernel each, of less to share a load."""

FEWEST_POINTS = 12
"""Cells of the smallest of several parts: those of a register tile, for which weights are read."""


@dataclass(frozen=True)
class TrimWindows(ModulePass):
    """Leave out products with zeros of borders where they are many; see the head of this file."""

    name = "trim-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for inner in generics_of(block):
            found = _Trimming.of(inner)
            if found is not None:
                found.rewrite()
        erase_dead(block)


@dataclass(frozen=True)
class _Run:
    """Neighbouring cells of the result along an axis, and the taps through which all of these, and
    no others, see the image.
    """

    cells: Span
    taps: Span

    @property
    def count(self) -> int:
        return self.cells[1] - self.cells[0]


@dataclass(frozen=True)
class _Axis:
    """Where windows lie along an axis: tap k of cell p sees step * p + dilation * k - low.

    weights: the axis of the weights that has the taps.
    """

    step: int
    dilation: int
    low: int
    weights: int
    runs: tuple[_Run, ...]

    @staticmethod
    def of(view: View, data: Access, weights: Access, pad: tensor.PadOp, axis: int) -> _Axis | None:
        """Those of an image's axis; None where windows do not lie so, or cells see nothing."""
        loop, form = view.write.index[axis].bare, data.index[axis]
        taps = [d for d in form.loops() if d in view.reduced]
        if loop is None or form.constant or form.loops() != {loop, *taps} or len(taps) != 1:
            return None
        found = [k for k, index in enumerate(weights.index) if index.bare == taps[0]]
        if len(found) != 1 or sum(access.uses(taps[0]) for access in view.reads) != 2:
            return None
        step, dilation = form.coefficient(loop), form.coefficient(taps[0])
        if min(step, dilation) < 1:
            return None
        low, extent = pad_sides(pad)[0][axis], shape_of(pad.source)[axis]
        runs: list[_Run] = []
        for p in range(view.extents[loop]):
            first = max(0, -((step * p - low) // dilation))
            last = min(view.extents[taps[0]], (extent - 1 + low - step * p) // dilation + 1)
            if first >= last:
                return None
            if runs and runs[-1].taps == (first, last):
                runs[-1] = _Run((runs[-1].cells[0], p + 1), (first, last))
            else:
                runs.append(_Run((p, p + 1), (first, last)))
        return _Axis(step, dilation, low, found[0], tuple(runs))

    def seen(self, run: _Run) -> Span:
        """The cells of the image that a run sees."""
        first = self.step * run.cells[0] + self.dilation * run.taps[0]
        last = self.step * (run.cells[1] - 1) + self.dilation * (run.taps[1] - 1)
        return first - self.low, last - self.low + 1

    def products(self) -> int:
        return sum(run.count * (run.taps[1] - run.taps[0]) for run in self.runs)


@dataclass(frozen=True)
class _Trimming:
    """A convolution of a padded image, what follows it in place, and where its windows lie."""

    operations: tuple[GenericOp, ...]
    pad: tensor.PadOp
    weights: SSAValue
    rows: _Axis
    columns: _Axis

    @staticmethod
    def of(op: GenericOp) -> _Trimming | None:
        view = View(op)
        pair = view.product()
        if pair is None or len(view.reduced) < 2 or not is_image(view, stands_or_moves):
            return None
        data, weights = (view.reads[k] for k in pair)
        pad = data.value.owner
        if not isinstance(pad, tensor.PadOp) or not is_constant(weights.value) or pad_value(pad):
            return None
        if len(data.index) != 3 or shape_of(pad.source)[0] != shape_of(pad.result)[0]:
            return None
        rows, columns = (_Axis.of(view, data, weights, pad, axis) for axis in (1, 2))
        if rows is None or columns is None:
            return None
        taps = prod(shape_of(weights.value)[axis.weights] for axis in (rows, columns))
        left = rows.products() * columns.products()
        if left > WORTH * taps * prod(shape_of(op.results[0])[1:]):
            return None
        smallest = min(run.count for run in rows.runs) * min(run.count for run in columns.runs)
        if len(rows.runs) * len(columns.runs) > 1 and smallest < FEWEST_POINTS:
            return None
        return _Trimming((op, *following(op)), pad, weights.value, rows, columns)

    def rewrite(self) -> None:
        """Put the parts and their joint in place of the last operation."""
        block = Block()
        b = Builder(block)
        rows = [
            b.concat([self._part(b, row, column) for column in self.columns.runs], 2)
            for row in self.rows.runs
        ]
        put_for(self.operations[-1], block, b.concat(rows, 1).value)

    def _part(self, b: Builder, row: _Run, column: _Run) -> Tensor:
        """A box of the last result, by the taps through which it sees the image."""
        made: dict[SSAValue, Tensor] = {}

        def operand(access: Access, view: View) -> SSAValue:
            if access.value in made:
                return made[access.value].value
            if access.value is self.pad.result:
                spans = [self.rows.seen(row), self.columns.seen(column)]
                return window_of(b, tensor_of(self.pad.source), spans).value
            if access.value is self.weights:
                kept = weights_of(self.weights)
                for axis, run in ((self.rows, row), (self.columns, column)):
                    kept = kept.taken(tuple(range(*run.taps)), axis.weights)
                return b.weight(WeightAttr(kept)).value
            if not any(map(access.uses, image_loops(view))):
                return access.value
            return window_of(b, tensor_of(access.value), [row.cells, column.cells]).value

        for op in self.operations:
            shape = (shape_of(op.results[0])[0], row.count, column.count)
            made[op.results[0]] = part(b, op, shape, operand)
        return made[self.operations[-1].results[0]]
