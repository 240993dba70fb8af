"""Makes loops over tiles of operations that are to run some iterations at a time.

    %v = transform %x  {tile = t by 6}         %y = tiled.loop of windows of 26 rows of %x {
    %m = sum of products of %v, %w       ->      %v = transform %window
    %y = transform %m back                       %m = sum of products of %v, %w
                                                 %y = transform %m back
                                               }

The values inside an iteration stay in a cache. `tile_chain.py` finds the operations of a loop. The
last rows may be fewer, or some of them are cut off. Where the inputs decide how many there are, the
body says what its sizes are in the last iteration (`dialects/tiled.py`), so that it is there once.
Otherwise all iterations are equal. The last rows stand behind the loop, and a concat joins both.

Needs: the layout of all values.
Breaks: nothing. Results are equal bit by bit if kernels sum in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import TILE, VALID_EXTENTS
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of, pad_value
from ncc.compiler.linalg.fusion.tile_chain import Along, Sizes, TileChain
from ncc.compiler.linalg.rewrite.insert import (
    erase_dead,
    generic_of,
    move_before,
    rebuilt,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.parts import loop_along, reach, start
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import in_full_tile, in_last_tile, is_open, smallest, tile_size
from ncc.dialects.structured import offsets_of, pad_sides
from ncc.dialects.tiled import TiledLoopOp, Window, YieldOp

WindowOf: TypeAlias = Callable[[Window], SSAValue]
"""Gives an iteration the part of a value that the loop does not compute."""


class TileAndFuse(ModulePass):
    """Make the loops that operations ask for."""

    name = "tile-and-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for generic in generics_of(block):
            tile = TILE.of(generic)
            if tile is not None:
                TILE.drop(generic)
                _cut(TileChain.of(generic, *tile))
        erase_dead(block)


def _cut(chain: TileChain) -> None:
    """Replace a chain by a loop, and by the iterations behind it."""
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


def _pieces(b: Builder, chain: TileChain) -> Iterator[Mapping[SSAValue, Tensor]]:
    """The results of the loop, then of each iteration behind it."""
    steps = {value: chain.along[value].step for value in chain.results}
    count = chain.whole()
    extents = {value: shape_of(value)[chain.along[value].axis] for value in steps}
    if is_open(*extents.values(), *steps.values()):
        last = {value: extents[value] - count * step for value, step in steps.items()}
        sizes = {value: tile_size(step, last[value]) for value, step in steps.items()}
        if is_open(count) or count > 0:
            yield _loop(b, chain, count + 1, sizes)
        else:
            yield _Iteration(chain, b, 0, last, partial(_window, b, 0)).run()
        return
    number = count if count > 1 else 0
    if count > 1:
        yield _loop(b, chain, count, steps)

    def left() -> dict[SSAValue, int]:
        ends = ((value, extents[value] - number * step) for value, step in steps.items())
        return {value: min(steps[value], end) for value, end in ends if end > 0}

    while wanted := left():
        yield _Iteration(chain, b, number, wanted, partial(_window, b, number)).run()
        number += 1


def _window(b: Builder, number: int, window: Window) -> SSAValue:
    """The window of one iteration."""
    begin = number * window.step
    return b.cut(tensor_of(window.value), window.axis, begin, begin + window.size).value


def _loop(b: Builder, chain: TileChain, count: int, sizes: Sizes) -> Mapping[SSAValue, Tensor]:
    inner = Builder(Block())
    windows: dict[Window, SSAValue] = {}

    def window_of(window: Window) -> SSAValue:
        if window not in windows:
            windows[window] = inner.block.insert_arg(window.type, len(inner.block.args))
        return windows[window]

    made = _Iteration(chain, inner, count - 1, sizes, window_of, in_loop=True).run()
    inner.block.add_op(YieldOp([one.value for one in made.values()]))
    axes = [chain.along[value].axis for value in made]
    op = TiledLoopOp(count, list(windows), axes, inner.block)
    b.block.add_op(op)
    return dict(zip(made, map(tensor_of, op.results), strict=True))


class _Iteration:
    """Writes the operations of one iteration.

    number: the iteration; of a loop, the last one. wanted: the sizes of the results. in_loop:
    whether it is the body of a loop.
    """

    def __init__(
        self,
        chain: TileChain,
        b: Builder,
        number: int,
        wanted: Sizes,
        window_of: WindowOf,
        in_loop: bool = False,
    ) -> None:
        self.chain, self.builder, self.number = chain, b, number
        self.wanted, self.in_loop = wanted, in_loop
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
        """The wanted part of a value, of which the iteration itself may read more."""
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
                begin = list(offsets_of(op))
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

    def _operand(self, access: TensorAccess, reader: LinalgOp, along: Along, size: int) -> SSAValue:
        """An operand, for `size` elements of the reader's result along its axis."""
        value, loop = access.value, loop_along(reader, along.axis)
        if value in self.made:
            return self.made[value].value
        axes = [k for k, form in enumerate(access.index) if form.coefficient(loop)]
        if not axes:
            return value
        if len(axes) > 1:
            raise CompilerBug(f"{value} is tiled along two axes")
        (axis,) = axes
        extent = reach(reader, access.index[axis], loop, size)
        if isinstance(value.owner, tensor.EmptyOp):
            shape = list(shape_of(value))
            shape[axis] = extent
            return self.builder.empty(shape, element_of(value)).value
        step = access.index[axis].coefficient(loop) * along.step
        return self.window_of(Window(value, axis, step, extent))

    def _valid_extents(self, linalg_op: LinalgOp, along: Along) -> Iterator[tuple[int, int, int]]:
        """The valid extents of the iteration: in a loop, only the last one cuts elements off, also
        where each has as many places.
        """
        for outer, inner, valid in linalg_op.valid_extents:
            if outer == loop_along(linalg_op, along.axis):
                within = linalg_op.extents[inner]
                before = self.number * along.step * within
                size = self._kept(linalg_op.op.results[0], within)
                last = smallest(valid - before, in_last_tile(size))
                valid = tile_size(in_full_tile(size), last) if self.in_loop else last
            yield outer, inner, valid

    def _kept(self, value: SSAValue, within: int) -> int:
        """How many elements of a tiled value a slice behind it keeps; each place has `within`.

        These may be fewer than in whole tiles, as where a pool reads every other row. There is no
        room for more.
        """
        view = value
        while (use := view.get_unique_use()) is not None and use.operation in self.chain.ops:
            reader = use.operation
            if isinstance(reader, tensor.ExtractSliceOp):
                return self.sizes.get(reader.result, self.sizes[view])
            is_pointwise = isinstance(reader, GenericOp) and LinalgOp(reader).is_pointwise
            if not is_pointwise and not isinstance(reader, tensor.CollapseShapeOp):
                break
            view = reader.results[0]
        return self.sizes[value] * within
