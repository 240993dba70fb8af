"""Maxima, minima and sums over large windows are reduced along one axis after the other.

    %p = pad %x by 2                                  %p = pad %x by 2 along rows
    y[c, u, v] = max over k, m of             ->      t[c, u, v] = max over m of p[c, u, v + m]
                 p[c, u + k, v + m]                   %q = pad %t by 2 along columns
                                                      y[c, u, v] = max over k of q[c, u + k, v]

A window of 13 x 13 has 169 elements; both axes together have 26. Spatial pyramid pooling has such
windows. A border can follow the first reduction only if its reduction is the same number again; or
else the first reduction reads the whole border.

Needs: the linalg level before layouts and groups.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    generic_of,
    rebuilt_without,
    replace_op,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import by_hint, hint
from ncc.dialects.structured import pad_sides

_FOLDED: dict[type[Operation], Callable[..., Tensor]] = {
    arith.AddfOp: Builder.sum,
    arith.MaxnumfOp: Builder.max,
    arith.MinnumfOp: Builder.min,
}
"""The builder's method for a reduction by an operation."""


class SeparateWindows(LinalgPattern["_Separating"], CostedPass):
    """Reduce windows along one axis after the other."""

    name = "separate-windows"

    def match(self, op: GenericOp) -> _Separating | str | None:
        linalg_op = LinalgOp(op)
        plain = linalg_op.reduced and linalg_op.may_be_rebuilt
        folded = linalg_op.combiner if plain else None
        bare = len(linalg_op.live) == 1 and len(linalg_op.body.ops) == 2
        if folded is None or type(folded[0]) not in _FOLDED or not bare:
            return None
        data = linalg_op.reads[linalg_op.live[0]]
        windows = _windows(linalg_op, data)
        several = [axis for axis, taps in enumerate(windows) if taps is not None]
        if len(several) < 2:
            return None
        if element_of(data.value) != f32:
            return "it is not of float32"
        if not isinstance(outs_of(op).owner, FillOp):
            return "its initial value is no single number"
        last = several[-1]
        return _Separating(
            linalg_op, type(folded[0]), data, last, windows[last] or 0, tuple(several[:-1])
        )

    @by_hint()
    def check(self, found: _Separating) -> str | None:
        elements, left = found.elements(self.costs)
        if left <= self.costs.convolutions.separate_windows_worth * elements:
            return None
        return f"its windows of {elements} elements are too small, or overlap too little"

    def describe(self, found: _Separating) -> str:
        return f"windows of {found.elements(self.costs)[0]} elements"

    def rewrite(self, found: _Separating) -> None:
        left: _Separating | None = found
        while left is not None:
            left = self.decide(left.rewrite())


@dataclass(frozen=True)
class _Separating:
    """A reduction over windows. axis: the last axis along which windows have several elements.
    taps: the loop over these.

    others: the earlier axes with several elements.
    """

    linalg_op: LinalgOp
    combine: type[Operation]
    data: TensorAccess
    axis: int
    taps: int
    others: tuple[int, ...]

    def elements(self, costs: CostModel) -> tuple[int, float]:
        """The elements of a window, and how many take as long as reductions along single axes.

        A reduction along one axis serves all windows of the other axes.
        """
        extents, taps = self.linalg_op.extents, self.linalg_op.extents[self.taps]
        read, written = shape_of(self._source), shape_of(self.linalg_op.op.results[0])
        every = prod(extents[d] for d in self.linalg_op.reduced)
        again = prod(hint(read[axis]) / hint(written[axis]) for axis in self.others)
        return every, taps * again + every / taps + costs.convolutions.between_windows

    @property
    def _pad(self) -> tensor.PadOp | None:
        """The pad of the input, if the reduction of its border is the same number."""
        pad = self.data.value.owner
        if not isinstance(pad, tensor.PadOp):
            return None
        return pad if self.combine is not arith.AddfOp or pad_value(pad) == 0.0 else None

    @property
    def _source(self) -> SSAValue:
        """The input without such a pad."""
        return self.data.value if self._pad is None else self._pad.source

    def rewrite(self) -> GenericOp:
        """Replace it by two reductions; returns the second, which may have several axes left."""
        linalg_op, op = self.linalg_op, self.linalg_op.op
        b = builder_for(op)
        between = self._along_the_axis(b)
        column = AffineForm.of({self._column: 1})
        reads: list[tuple[SSAValue, list[AffineForm]]] = []
        for access in linalg_op.reads:
            index = list(access.index)
            if access is self.data:
                reads.append(
                    (between.value, [*index[: self.axis], column, *index[self.axis + 1 :]])
                )
                continue
            kept = [form for form in index if not form.coefficient(self.taps)]
            extents = [linalg_op.extents[d] for form in kept for d in form.loops()]
            value = access.value if len(kept) == len(index) else b.empty(extents).value
            reads.append((value, kept))
        outs = tensor_of(outs_of(op))
        made = rebuilt_without(b, op, self.taps, reads, linalg_op.write.index, outs)
        replace_op(op, b, made)
        return generic_of(made)

    @property
    def _column(self) -> int:
        """The loop over the result along the axis."""
        (column,) = self.data.index[self.axis].loops() - {self.taps}
        return column

    def _along_the_axis(self, b: Builder) -> Tensor:
        """The reduction along the axis, with the border of the other axes."""
        x, axis, form = tensor_of(self._source), self.axis, self.data.index[self.axis]
        pad = self._pad
        low, high = ([0] * x.rank, [0] * x.rank) if pad is None else pad_sides(pad)
        border = 0.0 if pad is None else pad_value(pad)

        def padded(y: Tensor, axes: Collection[int]) -> Tensor:
            front, back = ([n * (k in axes) for k, n in enumerate(side)] for side in (low, high))
            return b.pad(y, front, back, border) if any(front + back) else y

        x = padded(x, {axis})
        shape = list(x.shape)
        shape[axis] = shape_of(self.linalg_op.op.results[0])[axis]
        *at, tap = b.loops_of([*shape, self.linalg_op.extents[self.taps]])
        column, step = form.coefficient(self._column), form.coefficient(self.taps)
        read = [*at[:axis], at[axis] * column + tap * step, *at[axis + 1 :]]
        y = _FOLDED[self.combine](b, at, (tap,), x[tuple(read)])
        return padded(y, set(range(x.rank)) - {axis})


def _windows(linalg_op: LinalgOp, data: TensorAccess) -> list[int | None]:
    """For each axis, the loop over the elements of a window, or None if a window has one element.

    An empty list, if the axes of the result are not those of the input.
    """
    axes, found = linalg_op.write.axes, list[int | None]()
    if axes is None or len(axes) != len(data.index):
        return []
    for loop, form in zip(axes, data.index, strict=True):
        taps = form.loops() - {loop}
        if loop not in form.loops() or len(taps) > 1 or form.constant or taps & set(axes):
            return []
        found.append(next((d for d in taps if linalg_op.extents[d] != 1), None))
    reads = [form for access in linalg_op.reads if access is not data for form in access.index]
    bare = all(form.bare is not None for form in reads)
    once = sum(len(form.loops()) for form in data.index) == len(axes) + len(linalg_op.reduced)
    return found if bare and once else []
