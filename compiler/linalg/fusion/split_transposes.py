"""Splits transposes that carry a few channels to or from the last axis, past rows, in two.

    y[q, p, c] = x[c, p, q]     ->     t[c, q, p] = x[c, p, q],  y[q, p, c] = t[c, q, p]
    y[c, q, p] = x[p, q, c]     ->     t[c, p, q] = x[p, q, c],  y[c, q, p] = t[c, p, q]

A few channels are neighbours on one side, too few for a vector; on the other side rows lie along an
axis that is not the next one of the first. One kernel would move each element alone. With two, the
first transposes squares of rows and columns within each channel. The other reads and stores whole
rows, and interleaves the channels in registers, or takes them apart.

Needs: the linalg level before groups, as they will be.  Breaks: nothing; results are equal bit
by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation

from ncc.compiler.linalg.analysis.attributes import may_be_rebuilt
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.fusion.fusion_groups import find_groups
from ncc.compiler.linalg.layout.fold_transposes import Move
from ncc.compiler.linalg.rewrite.decisions import Decisions, TargetPass
from ncc.compiler.linalg.rewrite.insert import builder_for, erase_dead, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.target import MOST_INTERLEAVED
from ncc.dialects.element import element_of
from ncc.dialects.size import hint, is_open


class SplitTransposes(LinalgChoice["_Split"], TargetPass):
    """Split transposes that would move elements one by one."""

    name = "split-transposes"

    def match(self, op: GenericOp) -> _Split | str | None:
        move, lanes = Move.of(op), self.target.lanes
        if move is None or not may_be_rebuilt(op) or element_of(move.source) != f32:
            return None
        source = _axes(move)
        result = [axis for axis, extent in enumerate(move.shape) if extent != 1]
        if source is None or len(result) < 3:
            return None
        for whole, last in ((result, source[-1]), (source, result[-1])):
            *rest, channels = whole
            square = {rest[-1], last}
            count = move.shape[channels]
            few = not is_open(count) and count <= MOST_INTERLEAVED and count < lanes
            apart = len(square) == 2 and channels not in square
            if few and apart and all(hint(move.shape[axis]) >= lanes for axis in square):
                return _Split(op, move, (channels, *rest))
        return "it does not carry a few channels past rows that fill vectors"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        matched = {op: self.match(op) for op in generics_of(block)}
        kernels: set[Operation] = set()
        if any(isinstance(split, _Split) for split in matched.values()):
            groups = find_groups(block, self.target.costs.fusion.most_in_epilogue)
            kernels |= {group.anchor for group in groups}
        for op, split in matched.items():
            if isinstance(split, _Split) and op not in kernels:
                split = "a kernel computes it with its operand, or its reader"
            found = self.decide_on(op, split, decisions)
            if found is not None:
                found.rewrite()
        erase_dead(block)


@dataclass(frozen=True)
class _Split:
    """A move, and the axes of its result in their order between both that it becomes."""

    op: GenericOp
    move: Move
    between: tuple[int, ...]

    def rewrite(self) -> None:
        b, shape = builder_for(self.op), self.move.shape
        loops = b.loops_of([shape[axis] for axis in self.between])
        at = dict(zip(self.between, loops, strict=True))
        source = tensor_of(self.move.source)
        index = [0 if form.bare is None else at[form.bare] for form in self.move.index]
        first = b.map(loops, source[index])
        to = b.loops_of(shape)
        replace_op(self.op, b, b.map(to, first[[to[axis] for axis in self.between]]))


def _axes(move: Move) -> list[int] | None:
    """The axes of the result in the order of the source, if the move only permutes them."""
    pairs = [
        (form.bare, extent)
        for form, extent in zip(move.index, shape_of(move.source), strict=True)
        if extent != 1
    ]
    axes = [axis for axis, _ in pairs if axis is not None]
    whole = all(axis is not None and move.shape[axis] == extent for axis, extent in pairs)
    every = sorted(axes) == [axis for axis, extent in enumerate(move.shape) if extent != 1]
    return axes if whole and every else None
