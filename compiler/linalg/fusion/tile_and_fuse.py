"""Makes a loop over tiles of computations that are to be done some iterations at a time.

    %v = transform %x  {tile = t by 6}         %y = tiled.loop of windows of 26 rows of %x {
    %m = sum of products of %v, %w       ->      %v = transform %window
    %y = transform %m back                       %m = sum of products of %v, %w
                                                 %y = transform %m back
                                               }

What one iteration hands on stays in a cache. The loop begins with the computation that says `TILE`.
It takes in the sum of products that reads it, then what reads the sums element by element, and a
reduction over windows that lie apart, as most pools are, while its image is still near. It ends at
values that others read. Backwards from these, each computation makes as many rows as the next one
needs; two iterations may both make rows of the first one.

Iterations are equal. What is left, with fewer rows or some that are cut off, stands behind the
loop, and a concat puts both together.

Needs: the layout of all values. Breaks: nothing; results are equal bit by bit as long as kernels
sum in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod
from typing import TypeAlias, TypeGuard

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import TILE, VALID_EXTENTS
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import RESHAPES, groups_of, pad_sides, pad_value
from ncc.compiler.linalg.rewrite.insert import (
    erase_dead,
    generic_of,
    move_before,
    rebuilt,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.parts import start
from ncc.dialects.attributes import tensor_type
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.tiled import TiledLoopOp, Window, YieldOp

Sizes: TypeAlias = Mapping[SSAValue, int]
"""How many elements of each value an iteration makes, along the axis that is tiled."""

WindowOf: TypeAlias = Callable[[Window], SSAValue]
"""What an iteration reads of a value that is not computed in it."""


@dataclass(frozen=True)
class TileAndFuse(ModulePass):
    """Make the loops that computations ask for; see the head of this file."""

    name = "tile-and-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for generic in generics_of(block):
            tile = TILE.of(generic)
            if tile is not None:
                TILE.drop(generic)
                _cut(_Chain.of(generic, *tile))
        erase_dead(block)


@dataclass(frozen=True)
class _Along:
    """How a value is tiled: each iteration makes `step` elements more along an axis."""

    axis: int
    step: int


@dataclass
class _Chain:
    """What becomes the body of a loop: operations in order, and how their results are tiled.

    reached: these operations and all others that read what they make, up to the last one.
    """

    first: GenericOp
    ops: list[Operation] = field(default_factory=list)
    along: dict[SSAValue, _Along] = field(default_factory=dict)
    reached: list[Operation] = field(default_factory=list)

    @staticmethod
    def of(first: GenericOp, loop: int, step: int) -> _Chain:
        """All that follows a computation, which does so many iterations of a loop at once."""
        (axis,) = (k for k, form in enumerate(LinalgOp(first).write.index) if form.bare == loop)
        chain = _Chain(first, reached=[first])
        chain._take(first, _Along(axis, step))
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
        """What others read."""
        inside = set(self.ops)
        made = (op.results[0] for op in self.ops)
        return [v for v in made if any(use.operation not in inside for use in v.uses)]

    @property
    def others(self) -> list[Operation]:
        """What reads a value of the chain, and stands in front of its last operation."""
        inside = set(self.ops)
        before = self.reached[: self.reached.index(self.ops[-1])]
        return [op for op in before if op not in inside]

    def _take(self, op: Operation, along: _Along) -> None:
        self.ops.append(op)
        self.along[op.results[0]] = along

    def _leave_views(self) -> None:
        """Leave views at the end to others: they are no work."""
        read: set[Operation] = set()
        for op in reversed(self.ops):
            if isinstance(op, GenericOp) or any(
                use.operation in read for use in op.results[0].uses
            ):
                read.add(op)
        self.ops = [op for op in self.ops if op in read]

    def _along(self, op: Operation) -> _Along | None:
        """How the result of an operation is tiled that reads a value of the chain; None where it
        cannot be, or is not computed beside the value.
        """
        match op:
            case GenericOp():
                return self._along_reads(op)
            case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
                return _along_reshape(op, self.along[op.src])
            case tensor.ExtractSliceOp():
                along = self.along[op.source]
                return None if op.static_offsets.get_values()[along.axis] else along
            case tensor.PadOp():
                along = self.along[op.source]
                return None if any(side[along.axis] for side in pad_sides(op)) else along
        return None

    def _along_reads(self, op: GenericOp) -> _Along | None:
        linalg_op = LinalgOp(op)
        if linalg_op.write.axes is None or linalg_op.captured or TILE.of(op) is not None:
            return None
        found = {self._along_read(linalg_op, a) for a in linalg_op.reads if a.value in self.along}
        along = found.pop() if len(found) == 1 else None
        return along if along is not None and self._has_windows(linalg_op, along.axis) else None

    def _has_windows(self, linalg_op: LinalgOp, axis: int) -> bool:
        """Whether some elements of a result along an axis need a window of each other value that
        the computation reads, and of what it starts from.
        """
        loop = _loop_along(linalg_op, axis)
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

    def _along_read(self, linalg_op: LinalgOp, access: TensorAccess) -> _Along | None:
        along = self.along[access.value]
        form = access.index[along.axis]
        loops = [loop for loop, _ in form.terms if loop in linalg_op.parallel]
        if len(loops) != 1 or form.constant:
            return None
        (loop,) = loops
        factor = form.coefficient(loop)
        step, rest = divmod(along.step, factor)
        alone = not any(f.coefficient(loop) for k, f in enumerate(access.index) if k != along.axis)
        if rest or not step or not alone or loop in linalg_op.indexed:
            return None
        if not self._is_first(access.value):
            apart = _reach(linalg_op, access, along.axis, loop, 1) <= factor
            if not apart or not _goes_on(linalg_op, access):
                return None
        (axis,) = (k for k, f in enumerate(linalg_op.write.index) if f.bare == loop)
        return _Along(axis, step)

    def _is_first(self, value: SSAValue) -> bool:
        """Whether a value is what the first computation makes, in whatever shape or halves."""
        source = value.owner
        while isinstance(source, (*RESHAPES, tensor.PadOp)) or _halves(source):
            source = source.operands[0].owner
        return source is self.first

    # --- iterations -------------------------------------------------------------------------

    def sizes(self, wanted: Sizes) -> dict[SSAValue, int]:
        """Those of all values that it takes to make so much of some results."""
        found = dict(wanted)

        def needs(value: SSAValue, size: int) -> None:
            if value in self.along:
                found[value] = max(size, found.get(value, 0))

        for op in reversed(self.ops):
            (result,) = op.results
            if result not in found:
                continue
            axis, size = self.along[result].axis, found[result]
            match op:
                case GenericOp():
                    linalg_op = LinalgOp(op)
                    loop = _loop_along(linalg_op, axis)
                    for access in linalg_op.reads:
                        if access.value in self.along:
                            read = self.along[access.value].axis
                            needs(access.value, _reach(linalg_op, access, read, loop, size))
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
        """How many iterations there are that find all that they need, and make nothing that is cut
        off.
        """
        steps = {value: self.along[value].step for value in self.results}
        count = min(shape_of(v)[self.along[v].axis] // step for v, step in steps.items())
        for value, size in self.sizes(steps).items():
            along = self.along[value]
            count = min(count, (shape_of(value)[along.axis] - size) // along.step + 1)
            for valid, inside in self._valid(value):
                count = min(count, valid // (along.step * inside))
        return max(count, 0)

    def _valid(self, value: SSAValue) -> Iterator[tuple[int, int]]:
        """Valid extents along the axis of a value: how many elements count, and how many there are
        for each one along the axis.
        """
        if isinstance(value.owner, GenericOp):
            linalg_op = LinalgOp(value.owner)
            for outer, inner, valid in linalg_op.valid_extents:
                if outer == _loop_along(linalg_op, self.along[value].axis):
                    yield valid, linalg_op.extents[inner]


def _halves(source: Operation | Block) -> TypeGuard[GenericOp]:
    """Whether a computation makes halves of the first thing that it reads."""
    return isinstance(source, GenericOp) and LinalgOp(source).halves


def _readers(op: Operation) -> Iterator[Operation]:
    """The operations of the same block that read a result, by themselves or in their bodies."""
    for use in (use for result in op.results for use in result.uses):
        reader: Operation | None = use.operation
        while reader is not None and reader.parent is not op.parent:
            reader = reader.parent_op()
        if reader is not None:
            yield reader


def _is_window(access: TensorAccess, loop: int) -> bool:
    """Whether iterations of a loop one behind the other read elements along one axis, forwards."""
    moved = [form for form in access.index if form.coefficient(loop)]
    return len(moved) <= 1 and all(factor > 0 for form in moved for _, factor in form.terms)


def _is_sum(value: SSAValue) -> bool:
    """Whether a value is a sum over channels, in any shape; a transform has two reduced loops."""
    source = value.owner
    while isinstance(source, RESHAPES):
        source = source.operands[0].owner
    linalg_op = LinalgOp(source) if isinstance(source, GenericOp) else None
    return linalg_op is not None and (linalg_op.product is not None or len(linalg_op.reduced) > 2)


def _goes_on(linalg_op: LinalgOp, access: TensorAccess) -> bool:
    """Whether a computation that reads a value of the chain is done while that is near."""
    if linalg_op.separable is not None or linalg_op.halves:
        return linalg_op.halves or _is_sum(access.value)
    if linalg_op.is_pointwise:
        made = isinstance(access.value.owner, GenericOp)
        return made and access.value.has_one_use() and access.index == linalg_op.write.index
    return bool(linalg_op.reduced) and linalg_op.product is None and access.value.has_one_use()


def _along_reshape(
    op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, along: _Along
) -> _Along | None:
    """How a reshape is tiled whose source is: the axis has to be the outermost of its group."""
    for axis, group in enumerate(groups_of(op)):
        if isinstance(op, tensor.ExpandShapeOp) and axis == along.axis:
            step, rest = divmod(along.step, _inside(op, group[0]))
            return None if rest else _Along(group[0], step)
        if isinstance(op, tensor.CollapseShapeOp) and group[0] == along.axis:
            return _Along(axis, along.step * _inside(op, along.axis))
    return None


def _inside(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, axis: int) -> int:
    """How many elements the other axes of its group have for each one along the outermost."""
    split = shape_of(op.src if isinstance(op, tensor.CollapseShapeOp) else op.result)
    (group,) = (group for group in groups_of(op) if axis in group)
    return prod(split[other] for other in group if other != axis)


def _loop_along(linalg_op: LinalgOp, axis: int) -> int:
    """The loop that is an axis of the result."""
    loop = linalg_op.write.index[axis].bare
    if loop is None:
        raise CompilerBug("a result whose rows are not a loop")
    return loop


def _reach(linalg_op: LinalgOp, access: TensorAccess, axis: int, loop: int, size: int) -> int:
    """How many elements along an axis are read by so many iterations of a loop."""
    form = access.index[axis]
    extents = {**dict(enumerate(linalg_op.extents)), loop: size}
    return form.constant + 1 + sum(factor * (extents[d] - 1) for d, factor in form.terms)


def _cut(chain: _Chain) -> None:
    """Put a loop, and what is left behind it, in place of a chain."""
    b, last, inside = Builder(Block()), chain.ops[-1], set(chain.ops)
    pieces = list(_pieces(b, chain))
    whole = {
        value: b.concat([piece[value] for piece in pieces if value in piece], along.axis)
        for value, along in ((value, chain.along[value]) for value in chain.results)
    }
    others = chain.others
    move_before(b, last)
    for op in others:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(last))
    for old, new in whole.items():
        new.value.name_hint = old.name_hint
        old.replace_uses_with_if(new.value, lambda use: use.operation not in inside)
    for op in reversed(chain.ops):
        op.detach()
        op.erase()


def _pieces(b: Builder, chain: _Chain) -> Iterator[Mapping[SSAValue, Tensor]]:
    """The results of the loop, then of each iteration that is not like the others."""
    steps = {value: chain.along[value].step for value in chain.results}
    count = chain.whole()
    number = count if count > 1 else 0
    if count > 1:
        yield _loop(b, chain, count, steps)

    def left() -> dict[SSAValue, int]:
        ends = ((v, shape_of(v)[chain.along[v].axis] - number * step) for v, step in steps.items())
        return {value: min(steps[value], end) for value, end in ends if end > 0}

    while wanted := left():
        yield _Iteration(chain, b, number, wanted, partial(_window, b, number)).run()
        number += 1


def _window(b: Builder, number: int, window: Window) -> SSAValue:
    """What one iteration sees of a value."""
    begin = number * window.step
    return b.cut(tensor_of(window.value), window.axis, begin, begin + window.size).value


def _loop(b: Builder, chain: _Chain, count: int, steps: Sizes) -> Mapping[SSAValue, Tensor]:
    inner = Builder(Block())
    windows: dict[Window, SSAValue] = {}

    def window_of(window: Window) -> SSAValue:
        if window not in windows:
            shape = list(shape_of(window.value))
            shape[window.axis] = window.size
            kind = tensor_type(element_of(window.value), shape)
            windows[window] = inner.block.insert_arg(kind, len(inner.block.args))
        return windows[window]

    made = _Iteration(chain, inner, 0, steps, window_of).run()
    inner.block.add_op(YieldOp([one.value for one in made.values()]))
    axes = [chain.along[value].axis for value in made]
    op = TiledLoopOp(count, list(windows), axes, inner.block)
    b.block.add_op(op)
    return dict(zip(made, map(tensor_of, op.results), strict=True))


class _Iteration:
    """The computations of one iteration, written by a builder.

    number: of the iteration, where it stands behind the loop. wanted: sizes of the results.
    """

    def __init__(
        self, chain: _Chain, b: Builder, number: int, wanted: Sizes, window_of: WindowOf
    ) -> None:
        self.chain, self.builder, self.number = chain, b, number
        self.wanted = wanted
        self.sizes = chain.sizes(wanted)
        self.window_of = window_of
        self.made: dict[SSAValue, Tensor] = {}

    def run(self) -> dict[SSAValue, Tensor]:
        """The parts of the results."""
        for op in self.chain.ops:
            if op.results[0] in self.sizes:
                self.made[op.results[0]] = self._one(op)
        return {value: self._part(value, size) for value, size in self.wanted.items()}

    def _part(self, value: SSAValue, size: int) -> Tensor:
        """What is wanted of a value, of which the iteration may need more."""
        made, axis = self.made[value], self.chain.along[value].axis
        return made if self.sizes[value] == size else self.builder.cut(made, axis, 0, size)

    def _one(self, op: Operation) -> Tensor:
        b, (result,) = self.builder, op.results
        shape = list(shape_of(result))
        shape[self.chain.along[result].axis] = self.sizes[result]
        match op:
            case GenericOp():
                return self._generic(op, shape)
            case tensor.CollapseShapeOp():
                return b.collapse(self.made[op.src], groups_of(op))
            case tensor.ExpandShapeOp():
                return b.expand(self.made[op.src], groups_of(op), shape)
            case tensor.ExtractSliceOp():
                begin = list(op.static_offsets.get_values())
                return b.slice(self.made[op.source], begin, shape)
            case tensor.PadOp():
                return b.pad(self.made[op.source], *pad_sides(op), pad_value(op))
        raise CompilerBug(f"{op.name} in a loop over tiles")

    def _generic(self, op: GenericOp, shape: Sequence[int]) -> Tensor:
        along, linalg_op = self.chain.along[op.results[0]], LinalgOp(op)

        def operand(access: TensorAccess, reader: LinalgOp) -> SSAValue:
            return self._operand(access, reader, along, shape[along.axis])

        inputs = [operand(access, linalg_op) for access in linalg_op.reads]
        made = rebuilt(self.builder, op, inputs, start(self.builder, op, shape, operand))
        new = generic_of(made)
        new.attributes.update(op.attributes)
        if linalg_op.valid_extents:
            VALID_EXTENTS.put(new, tuple(self._valid_extents(linalg_op, along)))
        return made

    def _operand(
        self, access: TensorAccess, reader: LinalgOp, along: _Along, size: int
    ) -> SSAValue:
        """What an iteration reads, for so many elements of the reader's result along its axis."""
        value, loop = access.value, _loop_along(reader, along.axis)
        if value in self.made:
            return self.made[value].value
        axes = [k for k, form in enumerate(access.index) if form.coefficient(loop)]
        if not axes:
            return value
        if len(axes) > 1:
            raise CompilerBug(f"{value} is tiled along two axes")
        (axis,) = axes
        reach = _reach(reader, access, axis, loop, size)
        if isinstance(value.owner, tensor.EmptyOp):
            shape = list(shape_of(value))
            shape[axis] = reach
            return self.builder.empty(shape, element_of(value)).value
        step = access.index[axis].coefficient(loop) * along.step
        return self.window_of(Window(value, axis, step, reach))

    def _valid_extents(self, linalg_op: LinalgOp, along: _Along) -> Iterator[tuple[int, int, int]]:
        """Those of the iteration: what counts of it."""
        for outer, inner, valid in linalg_op.valid_extents:
            if outer == _loop_along(linalg_op, along.axis):
                within = linalg_op.extents[inner]
                before = self.number * along.step * within
                valid = min(valid - before, self.sizes[linalg_op.op.results[0]] * within)
            yield outer, inner, valid
