"""Chooses the algorithm of each convolution: Winograd's for small windows, if it pays.

    %p = pad %x  low 1 high 1                         %p = pad %x  low 1 high 1 + up to 3
    %c = conv(%p, %w) outs(bias)                      %v, %m = generics of `winograd`
    %y = pointwise(%c, %r)                    ->      %t = generic of `winograd`
                                                      %e = pointwise(%t, expand %r)   on the tiles
                                                      %y = extract_slice (collapse %e)

The pass rewrites pointwise operations after a convolution on its tiles, so that the kernel which
stores an element also computes them. %v says how many rows of tiles, or of a single row how many
columns, run at a time (`TILE`): so many that V and M of this strip fit a cache. `tile-and-fuse`
makes the loop over strips later.

Several convolutions of one image with the same tiles, as detectors have for boxes and classes, run
together: they share V.

Needs: the linalg level before layouts and groups.
Breaks: the order and rounding of floating-point sums. With normal random numbers, errors are some
7e-6 of the largest result for 64 channels, and 1.7e-5 for 512.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AnyFloat, bf16, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import OF_GROUPS, groups_of, weights_of
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.choose_tiles import name_of
from ncc.compiler.linalg.convolutions.convolution import Convolution, match
from ncc.compiler.linalg.convolutions.on_tiles import Followers, TiledImage
from ncc.compiler.linalg.convolutions.small_images import part_small_images
from ncc.compiler.linalg.convolutions.strips import strip_of_any_image, strip_size
from ncc.compiler.linalg.convolutions.winograd import TransformConstants, tiled, transformed
from ncc.compiler.linalg.memory.room import Room, rooms
from ncc.compiler.linalg.rewrite.decisions import Decisions
from ncc.compiler.linalg.rewrite.insert import builder_for, erase_dead, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.padded import padded
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import hint, is_open
from ncc.dialects.weights.weight import ConstantOp


@dataclass(frozen=True)
class ChooseConvolution(LinalgChoice[Convolution]):
    """Rewrite the convolutions that are cheaper in tiles.

    threads: the threads that share a strip: more threads allow larger strips.
    bf16x3: whether `SplitBf16` follows. Then the sums of tiles get a type for their products:
    float32 for forms that would round too coarsely in bf16x3.
    """

    name = "choose-convolution"

    target: Target = AVX512
    threads: int = 1
    bf16x3: bool = False

    def match(self, op: GenericOp) -> Convolution | str | None:
        linalg_op = LinalgOp(op)
        if linalg_op.product is None or not linalg_op.reduced:
            return None
        return match(op, self.target, self.bf16x3)

    def describe(self, found: Convolution) -> str:
        return f"by {name_of(found.tiling)}; {found.costs}"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        if decisions is not None:
            for inner in generics_of(block):
                self.decide(inner, decisions)
        small = self._small_images(block)
        if small:
            erase_dead(block)  # what these were parts of
        done: set[Operation] = {op for op, found in small.items() if found is None}
        free = rooms(block, self.target.costs.memory)
        for inner in generics_of(block):
            convolution = None if inner in done else small.get(inner) or self.decide(inner)
            if convolution is not None:
                first = self._rewriting(convolution)
                others = [
                    self._rewriting(one)
                    for one in map(self.decide, convolution.siblings())
                    if one is not None and one.has_tiles_of(convolution)
                ]
                others = [one for one in others if one.can_join(first)]
                first.run(free[inner], others)
                done.update(one.convolution.op for one in others)
        if done:
            erase_dead(block)

    def _small_images(self, block: Block) -> dict[GenericOp, Convolution | None]:
        """The convolutions of small images, which get parts of their own; None: a direct one."""
        parts: dict[GenericOp, Convolution | None] = {}
        if self.target.costs.winograd.given_tiles is not None:
            return parts
        for op in generics_of(block):
            found = self.decide(op) if is_open(*shape_of(op.results[0])) else None
            if found is not None:
                parts |= part_small_images(found)
        return parts

    def _rewriting(self, convolution: Convolution) -> _Rewrite:
        products = bf16 if convolution.tiling.bf16x3 else f32
        return _Rewrite(convolution, self.threads, products if self.bf16x3 else None)


class _Rewrite:
    """The rewrite of one convolution and its pointwise followers.

    factors: the type of the products of sums over channels.
    """

    def __init__(self, convolution: Convolution, threads: int, factors: AnyFloat | None) -> None:
        self.convolution = convolution
        self.threads = threads
        self.factors = factors
        self.tiling = convolution.tiling
        self.tiles = TiledImage(convolution)
        self.followers = Followers(convolution)
        self.plane = self.tiling.plane
        self.builder = builder_for(convolution.op)

    def can_join(self, first: _Rewrite) -> bool:
        """Whether it can run together with an earlier one: its other operands are constant vectors.

        A convolution with a pool cannot: the pool needs its strips.
        """
        end = reader_of(first.followers.last.results[0])
        if end is not None and LinalgOp(end).reduced and LinalgOp(end).product is None:
            return False
        return first.followers.last.is_before_in_block(self.followers.last) and all(
            isinstance(value.owner, ConstantOp) and len(shape_of(value)) == 1
            for value in self._operands()
        )

    def _operands(self) -> list[SSAValue]:
        """Its operands besides the image and the weights."""
        init = self.convolution.init
        made = [op.results[0] for op in (self.convolution.op, *self.followers.ops)]
        reads = [access.value for op in self.followers.ops for access in LinalgOp(op).reads]
        start = [] if isinstance(init, float) else [init]
        return [*start, *(value for value in reads if value not in made)]

    def _join(self, first: _Rewrite) -> None:
        """Write to the builder of another one, and move the constants there."""
        self.builder = Builder(first.builder.block, self.builder.doc)
        last = first.followers.last
        for value in self._operands():
            constant = value.owner
            if isinstance(constant, Operation) and not constant.is_before_in_block(last):
                constant.detach()
                self.builder.block.add_op(constant)

    def run(self, room: Room, others: Sequence[_Rewrite] = ()) -> None:
        """Rewrite it, and others of the same image and tiles, which share V, strip by strip.

        room: the memory that is free at the convolution.
        """
        for other in others:
            other._join(self)
        tiling, together = self.tiling, (self, *others)
        strip = self._strip(room, sum(one.tiling.outputs for one in together))
        tiles = tiling.rows, tiling.columns
        reach = [
            n * step + more
            for n, step, more in zip(tiles, self.plane.steps, self.plane.overlap, strict=True)
        ]
        x = tensor_of(padded(self.convolution.x, reach[0], reach[1]))
        constants = [one._constants() for one in together]
        v = transformed(self.builder, x, constants[0], self.plane.read(tiles), strip)
        made = [one._tiled(v, own) for one, own in zip(together, constants, strict=True)]
        for one, result in zip(together, made, strict=True):
            one._replace(result)

    def _strip(self, room: Room, outputs: int) -> tuple[int, int] | None:
        """How strips of tiles lie, and their size; None where all tiles are one."""
        if self.convolution.whole:
            return None
        size = self._strip_size(room, outputs)
        several = is_open(self.tiling.length, size) or size < self.tiling.length
        return (self.tiling.along, size) if several else None

    def _strip_size(self, room: Room, outputs: int) -> int:
        """Rows of tiles in a strip, or columns, for so many output channels. Rows are a size if the
        run tells how wide the image is.
        """
        given = self.tiling.target.costs.winograd.given_tiles
        if given is None or given.rows is None:
            tiling = replace(self.tiling, outputs=outputs)
            choose = strip_of_any_image if is_open(tiling.length, tiling.columns) else strip_size
            return choose(tiling, self.threads, room)
        return min(given.rows, hint(self.tiling.length))

    def _constants(self) -> TransformConstants:
        weights = weights_of(self.convolution.weights)
        channels = weights.shape[: 3 if self.tiles.grouped else 2]
        taps: tuple[int, ...] = ()
        if self.tiles.slices:
            taps = () if self.tiling.formed else (self.tiling.depth.taps,)
        window = (form.taps for form in self.plane.forms)
        weights = replace(weights, shape=(*channels, *taps, *window))
        return TransformConstants.of(self.builder, self.plane, weights, self.tiling.formed)

    def _replace(self, tiles: Tensor) -> None:
        """Replace the convolution and its followers by the image in these tiles."""
        b, dead = self.builder, [*reversed(self.followers.ops), self.convolution.op]
        result = self.tiles.image(b, tiles)
        last: Operation = dead[0]
        if self.tiles.grouped:
            concat_op = last.results[0].get_user_of_unique_use()
            if isinstance(concat_op, tensor.CollapseShapeOp) and groups_of(concat_op) == OF_GROUPS:
                last = concat_op
            else:
                result = b.expand(result, OF_GROUPS, shape_of(last.results[0]))
        replace_op(last, b, result)
        for op in dict.fromkeys([last, *dead, *(outs_of(op).owner for op in dead)]):
            if isinstance(op, Operation) and not any(value.uses for value in op.results):
                op.detach()
                op.erase()

    def _tiled(self, v: Tensor, constants: TransformConstants) -> Tensor:
        """The tiles, made of V, with the followers of the convolution."""
        keep, covered = (self.tiling.height, self.tiling.width), self.tiles.covered
        if any(n % d != 0 for n, d in zip(keep, self.plane.dilations, strict=True)):
            keep = covered
        init = self.convolution.init
        start = init if isinstance(init, float) else self.tiles.by_channel(self.builder, init)
        y = tiled(self.builder, v, constants, start, keep, self.tiling.depth, self.factors)
        return self.followers.on_tiles(self.builder, y)
