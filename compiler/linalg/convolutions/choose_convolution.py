"""Chooses the algorithm of each convolution: Winograd's for small windows, if it pays.

    %p = pad %x  low 1 high 1                         %p = pad %x  low 1 high 1 + up to 3
    %c = conv(%p, %w) outs(bias)                      %v, %m = generics of `winograd`
    %y = pointwise(%c, %r)                    ->      %t = generic of `winograd`
                                                      %e = pointwise(%t, expand %r)   on the tiles
                                                      %y = extract_slice (collapse %e)

The pass rewrites pointwise operations after a convolution on its tiles, so that the kernel which
stores an element also computes them. It cuts the rows of tiles, or the columns of a single row,
into chunks. Each chunk has its own generics, and a concat joins their results: V and M of a chunk
fit a cache, and all chunks use the same memory. A reduction over windows whose rows do not overlap,
as in most pools, runs chunk by chunk, too, while the result of the chunk is still in a cache:

    max2x2 (slice (collapse (concat %t0, %t1, ..)))
                                        ->      concat (max2x2 (collapse %t0)), ..

Several convolutions of one image with the same tiles, as detectors have for boxes and classes, run
together, chunk by chunk: they share V.

Needs: the linalg level before layouts and groups.
Breaks: the order and rounding of floating-point sums. With normal random numbers, errors are some
7e-6 of the largest result for 64 channels, and 1.7e-5 for 512.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from ncc.compiler.linalg.convolutions.chunks import chunk_size, least_held
from ncc.compiler.linalg.convolutions.convolution import Convolution, match
from ncc.compiler.linalg.convolutions.on_tiles import Followers, TiledImage
from ncc.compiler.linalg.convolutions.pools import Pool, pool_of
from ncc.compiler.linalg.convolutions.tiling import DOWN, Chunk
from ncc.compiler.linalg.convolutions.winograd import TransformConstants, tiled, transformed
from ncc.compiler.linalg.memory.room import Room, rooms
from ncc.compiler.linalg.rewrite.decisions import Decisions
from ncc.compiler.linalg.rewrite.insert import builder_for, erase_dead, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.padded import padded
from ncc.compiler.linalg.rewrite.parts import ROWS
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import ConstantOp


@dataclass(frozen=True)
class ChooseConvolution(LinalgChoice[Convolution]):
    """Rewrite the convolutions that are cheaper in tiles.

    threads: the threads that share a chunk: more threads allow larger chunks.
    halves: whether `SplitBf16` follows. Then the sums of tiles get a type for their products:
    float32 for forms that would round too coarsely with halves of bfloat16.
    """

    name = "choose-convolution"

    target: Target = AVX512
    threads: int = 1
    halves: bool = False

    def match(self, op: GenericOp) -> Convolution | str | None:
        linalg_op = LinalgOp(op)
        if linalg_op.product is None or not linalg_op.reduced:
            return None
        return match(op, self.target, self.halves)

    def describe(self, found: Convolution) -> str:
        return f"by {name_of(found.tiling)}; {found.costs}"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        free = rooms(block)
        found = [self.decide(op, decisions) for op in generics_of(block)]
        tilings = [one.tiling for one in found if one is not None]
        least = least_held(tilings, self.threads, self.target.costs.most_chunks)
        done: set[Operation] = set()
        for inner in generics_of(block):
            convolution = None if inner in done else self.decide(inner)
            if convolution is not None:
                first = self._rewriting(convolution, least)
                others = [
                    self._rewriting(one, least)
                    for one in map(self.decide, convolution.siblings())
                    if one is not None and one.has_tiles_of(convolution)
                ]
                others = [one for one in others if one.can_join(first)]
                first.run(free[inner], others)
                done.update(one.convolution.op for one in others)
        if done:
            erase_dead(block)

    def _rewriting(self, convolution: Convolution, least: int) -> _Rewrite:
        by_halves = bf16 if convolution.tiling.halves else f32
        return _Rewrite(convolution, self.threads, least, by_halves if self.halves else None)


class _Rewrite:
    """The rewrite of one convolution and its pointwise followers.

    least: bytes of V and M of a chunk. factors: the type of the products of sums over channels.
    """

    def __init__(
        self, convolution: Convolution, threads: int, least: int, factors: AnyFloat | None
    ) -> None:
        self.convolution = convolution
        self.threads = threads
        self.least = least
        self.factors = factors
        self.tiling = convolution.tiling
        self.tiles = TiledImage(convolution)
        self.followers = Followers(convolution)
        self.plane = self.tiling.plane
        self.builder = builder_for(convolution.op)

    def can_join(self, first: _Rewrite) -> bool:
        """Whether it can run together with an earlier one: its other operands are constant vectors.

        A convolution with a pool cannot: the pool needs its chunks.
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
        """Rewrite it, and others of the same image and tiles, which share V, chunk by chunk.

        room: the memory that is free at the convolution.
        """
        for other in others:
            other._join(self)
        outputs = sum(one.tiling.outputs for one in (self, *others))
        given = self.tiling.target.costs.given_tiles
        if given is None or given.rows is None:
            whole = replace(self.tiling, outputs=outputs)
            size = chunk_size(whole, self.threads, room, self.least)
        else:
            size = min(given.rows, self.tiling.length)
        tiles = self.tiling.rows, self.tiling.columns
        reach = [
            n * step + more
            for n, step, more in zip(tiles, self.plane.steps, self.plane.overlap, strict=True)
        ]
        x = tensor_of(padded(self.convolution.x, reach[0], reach[1]))
        together = [(one, one._constants()) for one in (self, *others)]
        beside: list[list[Tensor]] = [[] for _ in others]

        def chunks() -> Iterator[Tensor]:
            """The chunks of this one; those of the others go to their lists."""
            for chunk in self.tiling.chunks(size):
                v = self._transformed(x, together[0][1], chunk)
                mine, *rest = (one._chunk(v, own, chunk) for one, own in together)
                for made, other in zip(beside, rest, strict=True):
                    made.append(other)
                yield mine

        self._replace(chunks(), size)
        for other, made in zip(others, beside, strict=True):
            other._replace(made, size)

    def _constants(self) -> TransformConstants:
        weights = weights_of(self.convolution.weights)
        channels = weights.shape[: 3 if self.tiles.grouped else 2]
        taps: tuple[int, ...] = ()
        if self.tiles.slices:
            taps = () if self.tiling.formed else (self.tiling.depth.taps,)
        window = (form.taps for form in self.plane.forms)
        weights = replace(weights, shape=(*channels, *taps, *window))
        return TransformConstants.of(self.builder, self.plane, weights, self.tiling.formed)

    def _replace(self, chunks: Iterable[Tensor], size: int) -> None:
        """Replace the convolution and its followers by chunks, or by pools of chunks.

        size: rows of tiles in a chunk, or columns.
        """
        b, dead = self.builder, [*reversed(self.followers.ops), self.convolution.op]
        made, pool = self.followers.last.results[0], None
        if self.tiling.along == DOWN:
            pool = pool_of(made, self.tiles.spans[0] * size, -(-self.tiling.rows // size))
        if pool is None:
            tiles = b.concat(list(chunks), axis=self.tiles.along)
            result = self.tiles.image(b, tiles, self.tiling.height)
        else:
            dead = [*reversed(pool.ops), *dead]
            pooled = [self._pooled(pool, chunk, n, size) for n, chunk in enumerate(chunks)]
            result = b.concat(pooled, axis=ROWS)
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

    def _pooled(self, pool: Pool, chunk: Tensor, number: int, rows: int) -> Tensor:
        """The pool of a chunk. rows: rows of tiles in each chunk before it."""
        height = self.tiling.height - number * rows * self.tiles.spans[0]
        return pool.of_chunk(self.builder, self.tiles.image(self.builder, chunk, height), number)

    def _transformed(self, x: Tensor, constants: TransformConstants, chunk: Chunk) -> Tensor:
        """V of a chunk."""
        axis = self.tiling.along
        step, overlap = self.plane.steps[axis], self.plane.overlap[axis]
        first, last = chunk.first[axis], chunk.first[axis] + chunk.tiles[axis]
        x = self.builder.cut(x, x.rank - 2 + axis, step * first, step * last + overlap)
        return transformed(self.builder, x, constants, self.plane.read(chunk.tiles))

    def _chunk(self, v: Tensor, constants: TransformConstants, chunk: Chunk) -> Tensor:
        """The tiles of a chunk, made of V, with the followers of the convolution."""
        extents = self.tiling.height, self.tiling.width
        axes = zip(extents, chunk.first, chunk.tiles, self.tiles.spans, strict=True)
        down, across = (min(n - span * k, span * count) for n, k, count, span in axes)
        keep, phases = (down, across), self.plane.dilations
        if self.tiles.covered == extents or any(n % d for n, d in zip(keep, phases, strict=True)):
            down, across = (n * span for n, span in zip(chunk.tiles, self.tiles.spans, strict=True))
            keep = down, across
        init = self.convolution.init
        start = init if isinstance(init, float) else self.tiles.by_channel(self.builder, init)
        y = tiled(self.builder, v, constants, start, keep, self.tiling.depth, self.factors)
        return self.followers.on_tiles(self.builder, y, chunk)
