"""Finds the operations that become the body of a loop over tiles, and how it cuts their results.

    %v = transform %x  {tile = t by 6}     first: each iteration makes 6 rows of %v
    %m = sum of products of %v, %w         it reads %v, and makes 6 rows, too
    %y = transform %m back                 it reads %m
    %p = max2x2 (collapse %y)              a pool makes 12 rows of 24

A chain begins with the operation that has a `TILE`. It takes in the sum of products that reads the
first value, then operations that read sums element by element, and a reduction whose windows do not
overlap, as in most pools. It ends at the values that other operations read.

    %s = sum of products of %q, %k  {tile = rows by 128}
    %e = exp(%s - its largest of each row)                  reads %s, and the largest of its rows
    %y = sum of products of %e, %v

If the first operation is itself a sum of products, those are the scores of attention. Then the
chain takes in softmax, however its operations read each other, and the second sum.

The sizes of an iteration follow backwards from these results: each operation makes as many rows as
the next one reads. Two iterations may both make a row of the first value, and of no other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeAlias, TypeGuard

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import TILE
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import RESHAPES, groups_of, unshaped
from ncc.compiler.linalg.rewrite.parts import loop_along, reach
from ncc.dialects.size import is_open, largest
from ncc.dialects.structured import offsets_of, pad_sides

Sizes: TypeAlias = Mapping[SSAValue, int]
"""The number of elements of each value that an iteration makes, along the axis that is tiled."""


class Along(NamedTuple):
    """How a value is tiled: iteration i makes its elements from step * i on, along an axis."""

    axis: int
    step: int


@dataclass
class TileChain:
    """The operations of a loop's body in order, and how their results are tiled.

    reached: these operations, and all other operations behind the first one that depend on them.
    between: of attention, the scores and what is made of them in front of the second product.
    """

    first: GenericOp
    ops: list[Operation] = field(default_factory=list)
    along: dict[SSAValue, Along] = field(default_factory=dict)
    reached: list[Operation] = field(default_factory=list)
    between: set[SSAValue] = field(default_factory=set)

    @staticmethod
    def of(first: GenericOp, loop: int, step: int) -> TileChain:
        """The chain behind an operation that runs `step` iterations of a loop at once."""
        (axis,) = (k for k, form in enumerate(LinalgOp(first).write.index) if form.bare == loop)
        chain = TileChain(first, reached=[first])
        chain._take(first, Along(axis, step))
        readers, behind = set(_readers(first)), set[Operation]()
        op = first.next_op
        while readers and op is not None:
            if op in readers or op in behind:
                along = None if op in behind else chain._along(op)
                (behind if along is None else readers).update(_readers(op))
                chain.reached.append(op)
                if along is not None:
                    chain._take(op, along)
                readers.discard(op)
            op = op.next_op
        chain._leave_views()
        return chain

    @cached_property
    def results(self) -> list[SSAValue]:
        """The values that other operations read."""
        inside = set(self.ops)
        made = (op.results[0] for op in self.ops)
        return [v for v in made if any(use.operation not in inside for use in v.uses)]

    @property
    def others(self) -> list[Operation]:
        """Operations that depend on the chain and stand in front of its last operation."""
        inside = set(self.ops)
        before = self.reached[: self.reached.index(self.ops[-1])]
        return [op for op in before if op not in inside]

    def _take(self, op: Operation, along: Along) -> None:
        self.ops.append(op)
        self.along[op.results[0]] = along
        if _is_product(self.first) and sum(map(_is_product, self.ops)) == 1:
            self.between.add(op.results[0])

    def _leave_views(self) -> None:
        """Drop views at the end, which are no work."""
        read: set[Operation] = set()
        for op in reversed(self.ops):
            if isinstance(op, GenericOp) or any(
                use.operation in read for use in op.results[0].uses
            ):
                read.add(op)
        self.ops = [op for op in self.ops if op in read]

    def _along(self, op: Operation) -> Along | None:
        """How the chain tiles the result of an operation that reads one of its values; None if the
        operation cannot join, or had better run on whole values.
        """
        match op:
            case GenericOp():
                return self._along_reads(op)
            case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
                return _along_reshape(op, self.along[op.src])
            case tensor.ExtractSliceOp():
                along = self.along[op.source]
                return None if offsets_of(op)[along.axis] else along
            case tensor.PadOp():
                along = self.along[op.source]
                return None if any(side[along.axis] for side in pad_sides(op)) else along
        return None

    def _along_reads(self, op: GenericOp) -> Along | None:
        """The same for a generic, by all its reads of the chain."""
        linalg_op = LinalgOp(op)
        if linalg_op.write.axes is None or linalg_op.captured or TILE.of(op) is not None:
            return None
        found = {self._along_read(linalg_op, a) for a in linalg_op.reads if a.value in self.along}
        along = found.pop() if len(found) == 1 else None
        return along if along is not None and self._has_windows(linalg_op, along.axis) else None

    def _has_windows(self, linalg_op: LinalgOp, axis: int) -> bool:
        """Whether neighbouring elements along an axis of a result read a window of every operand
        from outside, and of the initial value.
        """
        loop = loop_along(linalg_op, axis)
        others = (access for access in linalg_op.reads if access.value not in self.along)
        start = outs_of(linalg_op.op)
        windows = all(_is_window(access, loop) for access in others)
        if not windows or start in self.along or loop in linalg_op.indexed:
            return False
        if not isinstance(start.owner, GenericOp):
            return isinstance(start.owner, FillOp | tensor.EmptyOp)
        first = LinalgOp(start.owner)
        if first.write.axes is None or not first.is_pointwise or first.captured:
            return False
        made = any(access.value in self.along for access in first.reads)
        return not made and self._has_windows(first, axis)

    def _along_read(self, linalg_op: LinalgOp, access: TensorAccess) -> Along | None:
        """The same by one read: a loop of its own has to step along the axis of the value."""
        along = self.along[access.value]
        form = access.index[along.axis]
        loops = [loop for loop, _ in form.terms if loop in linalg_op.parallel]
        if len(loops) != 1 or form.constant:
            return None
        (loop,) = loops
        factor = form.coefficient(loop)
        step, rest = divmod(along.step, factor)
        alone = not any(f.coefficient(loop) for k, f in enumerate(access.index) if k != along.axis)
        if rest or not step or not alone:
            return None
        if not self._is_first(access.value):
            apart = reach(linalg_op, form, loop, 1) <= factor
            in_softmax = any(read.value in self.between for read in linalg_op.reads)
            if not apart or not (in_softmax or _goes_on(linalg_op, access)):
                return None
        (axis,) = (k for k, f in enumerate(linalg_op.write.index) if f.bare == loop)
        return Along(axis, step)

    def _is_first(self, value: SSAValue) -> bool:
        """Whether a value is the first one, in another shape or split into bf16 numbers."""
        source = value.owner
        while isinstance(source, (*RESHAPES, tensor.PadOp)) or _is_split(source):
            source = source.operands[0].owner
        return source is self.first

    # --- iterations -------------------------------------------------------------------------

    def sizes(self, wanted: Sizes) -> dict[SSAValue, int]:
        """The sizes of all values in an iteration that makes these sizes of some results."""
        found = dict(wanted)

        def needs(value: SSAValue, size: int) -> None:
            if value in self.along:
                found[value] = largest(size, found.get(value, size))

        for op in reversed(self.ops):
            (result,) = op.results
            if result not in found:
                continue
            axis, size = self.along[result].axis, found[result]
            match op:
                case GenericOp():
                    linalg_op = LinalgOp(op)
                    loop = loop_along(linalg_op, axis)
                    for access in linalg_op.reads:
                        if access.value in self.along:
                            form = access.index[self.along[access.value].axis]
                            needs(access.value, reach(linalg_op, form, loop, size))
                case tensor.CollapseShapeOp():
                    inside = _inside(op, self.along[op.src].axis)
                    found[result] = -(-size // inside) * inside
                    needs(op.src, found[result] // inside)
                case tensor.ExpandShapeOp():
                    needs(op.src, size * _inside(op, axis))
                case tensor.ExtractSliceOp() | tensor.PadOp():
                    needs(op.source, size)
        return found

    def whole(self) -> int:
        """The number of equal iterations: they read nothing beyond the end of a value, and all that
        they make is valid. If inputs decide it, one more stands behind them, which makes no more.
        """
        steps = {value: self.along[value].step for value in self.results}
        extents = {value: shape_of(value)[self.along[value].axis] for value in steps}
        counts = [extents[value] // step for value, step in steps.items()]
        for value, size in self.sizes(steps).items():
            along = self.along[value]
            counts.append((shape_of(value)[along.axis] - size) // along.step + 1)
            counts += [valid // (along.step * inside) for valid, inside in self._valid(value)]
        if not is_open(*extents.values(), *steps.values()):
            return max(min(counts), 0)
        whole = [(extents[value] - 1) // step for value, step in steps.items()]
        # Nearly always provable: each value has what the results are made of.
        if any(count < one for count in counts for one in whole):
            raise CompilerBug("a tile ends beyond a value, and is not the last one")
        return largest(*whole, 0)

    def _valid(self, value: SSAValue) -> Iterator[tuple[int, int]]:
        """Valid extents along the axis of a value: the number of valid elements, and how many lie
        inside each element along the axis.
        """
        if isinstance(value.owner, GenericOp):
            linalg_op = LinalgOp(value.owner)
            for outer, inner, valid in linalg_op.valid_extents:
                if outer == loop_along(linalg_op, self.along[value].axis):
                    yield valid, linalg_op.extents[inner]


def _is_split(source: Operation | Block) -> TypeGuard[GenericOp]:
    """Whether an operation splits its first operand into bf16 numbers."""
    return isinstance(source, GenericOp) and LinalgOp(source).bf16_split


def _readers(op: Operation) -> Iterator[Operation]:
    """The operations of the same block that read a result of op, directly or in their bodies."""
    for use in (use for result in op.results for use in result.uses):
        reader: Operation | None = use.operation
        while reader is not None and reader.parent is not op.parent:
            reader = reader.parent_op()
        if reader is not None:
            yield reader


def _is_product(op: Operation) -> bool:
    """Whether an operation sums products."""
    return isinstance(op, GenericOp) and LinalgOp(op).product is not None


def _is_window(access: TensorAccess, loop: int) -> bool:
    """Whether neighbouring iterations of a loop read a window along one axis, forwards."""
    moved = [form for form in access.index if form.coefficient(loop)]
    return len(moved) <= 1 and all(factor > 0 for form in moved for _, factor in form.terms)


def _is_sum(value: SSAValue) -> bool:
    """Whether a value is a sum over channels, in any shape; a transform has two reduced loops."""
    source = unshaped(value).owner
    linalg_op = LinalgOp(source) if isinstance(source, GenericOp) else None
    return linalg_op is not None and (linalg_op.product is not None or len(linalg_op.reduced) > 2)


def _goes_on(linalg_op: LinalgOp, access: TensorAccess) -> bool:
    """Whether an operation pays in the loop: its operand is still in a cache there."""
    if linalg_op.bf16_split:
        return True
    if linalg_op.separable is not None:
        return _is_sum(access.value)
    if linalg_op.is_pointwise:
        made = isinstance(access.value.owner, GenericOp)
        return made and access.value.has_one_use() and access.index == linalg_op.write.index
    return bool(linalg_op.reduced) and linalg_op.product is None and access.value.has_one_use()


def _along_reshape(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, along: Along) -> Along | None:
    """How the result of a reshape is tiled; None if the axis is not the outermost of its group."""
    for axis, group in enumerate(groups_of(op)):
        if isinstance(op, tensor.ExpandShapeOp) and axis == along.axis:
            step, rest = divmod(along.step, _inside(op, group[0]))
            return None if rest else Along(group[0], step)
        if isinstance(op, tensor.CollapseShapeOp) and group[0] == along.axis:
            return Along(axis, along.step * _inside(op, along.axis))
    return None


def _inside(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, axis: int) -> int:
    """The number of elements that the inner axes of a group have for each one along the axis."""
    split = shape_of(op.src if isinstance(op, tensor.CollapseShapeOp) else op.result)
    (group,) = (group for group in groups_of(op) if axis in group)
    return prod(split[other] for other in group if other != axis)
