"""Images whose channels go to or come from the last axis across their rows, in two moves.

    y[q, p, c] = x[c, p, q]     ->     t[c, q, p] = x[c, p, q],  y[q, p, c] = t[c, q, p]
    y[c, q, p] = x[p, q, c]     ->     t[c, p, q] = x[p, q, c],  y[c, q, p] = t[c, p, q]

A few channels are neighbours on one side, too few for a vector; on the other side rows lie along an
axis that is not the next one of the first. Each element would go alone. Now one move transposes
squares of rows and columns within each channel; all else lies side by side in what the other reads
and stores, so that it interleaves the channels in registers, or takes them apart.

Needs: the linalg level before groups, as they will be.  Breaks: nothing; results are equal bit
by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.passes import ModulePass

from ncc.compiler.linalg.analysis.attributes import may_be_rebuilt
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.fusion.fusion_groups import find_groups
from ncc.compiler.linalg.layout.fold_transposes import Move
from ncc.compiler.linalg.rewrite.insert import builder_for, erase_dead, replace_op, tensor_of
from ncc.compiler.target import AVX512, Target
from ncc.dialects.element import element_of

MOST_INTERLEAVED = 8
"""The most neighbours that a kernel interleaves, or takes apart, in registers."""


@dataclass(frozen=True)
class SplitTransposes(ModulePass):
    """Split every such move that is a kernel of its own; see the head of this file."""

    name = "split-transposes"

    target: Target = AVX512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        found = [_Split.of(one, self.target.lanes) for one in generics_of(block)]
        if any(found):
            kernels = {group.anchor for group in find_groups(block)}
            for split in found:
                if split is not None and split.op in kernels:
                    split.rewrite()
            erase_dead(block)


@dataclass(frozen=True)
class _Split:
    """A move, and the axes of its result in their order between both that it becomes."""

    op: GenericOp
    move: Move
    between: tuple[int, ...]

    @staticmethod
    def of(op: GenericOp, lanes: int) -> _Split | None:
        """The move, if an operation is one that takes two for vectors of so many lanes."""
        move = Move.of(op)
        if move is None or not may_be_rebuilt(op) or element_of(move.source) != f32:
            return None
        source = _axes(move)
        result = [axis for axis, extent in enumerate(move.shape) if extent > 1]
        if source is None or len(result) < 3:
            return None
        for whole, last in ((result, source[-1]), (source, result[-1])):
            *rest, channels = whole
            square = {rest[-1], last}
            few = move.shape[channels] <= MOST_INTERLEAVED and move.shape[channels] < lanes
            apart = len(square) == 2 and channels not in square
            if few and apart and all(move.shape[axis] >= lanes for axis in square):
                return _Split(op, move, (channels, *rest))
        return None

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
        if extent > 1
    ]
    axes = [axis for axis, _ in pairs if axis is not None]
    whole = all(axis is not None and move.shape[axis] == extent for axis, extent in pairs)
    every = sorted(axes) == [axis for axis, extent in enumerate(move.shape) if extent > 1]
    return axes if whole and every else None
