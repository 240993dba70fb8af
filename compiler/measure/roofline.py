"""Measures the peaks of this machine with kernels of our own: the roofs of a roofline.

    fma     each iteration multiplies every accumulator register, and adds to it
    tiles   each iteration adds a product to each of four matrix tiles
    bytes   each iteration adds products of bytes to every accumulator register, four for each lane
    read    adds up every element of a block of memory; blocks fit into nearer or farther memory

The loops level makes these kernels, as it makes those of a network, for the same target and number
of threads. They run between the runs of a network. If the clock of the machine changes, only peaks
that were measured at the same time can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import IndexType, f32, i8, i32
from xdsl.ir import Block, SSAValue

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.emit.loop_builder import LoopBuilder, memory_type, vector_type
from ncc.compiler.loops.launch.entry import write_run
from ncc.compiler.loops.launch.script import Argument, Launch, bytes_of
from ncc.compiler.measure.timing import timed
from ncc.compiler.target import Target
from ncc.dialects import rt, tile
from ncc.dialects.functions import module_of, private_function
from ncc.runtime import cpu
from ncc.runtime.artifact import FIRST_BUFFER, Artifact, Binding
from ncc.runtime.memory import Memory
from ncc.runtime.session import Model

BLOCKS = (16 << 10, 256 << 10, 768 << 10, 8 << 20, 64 << 20)
"""Bytes that a thread reads again and again. On most machines they fit into the first cache, into
the second (half and nearly full), into the last, and into none.
"""

ITERATIONS = 200_000
"""Iterations of the loop of multiply-adds. They take some milliseconds, so that the call costs
nothing.
"""

PRODUCTS = ((0, 4, 6), (1, 4, 7), (2, 5, 6), (3, 5, 7))
"""Products of an iteration on matrix tiles: two tiles of left operands times two of right ones."""

TILE_ELEMENTS = tile.ROWS * tile.ROW_BYTES // 4
"""The number of float32 elements of a tile."""

READ_AT_ONCE = 8
"""Vectors that an iteration of the reading loop adds, each to a sum of its own. They come from as
many parts of a block, because caches fetch ahead in each part.
"""

READ_BYTES = 64 << 20
"""The bytes that a burst reads, for a block of any size."""

_VECTORS, _TILES, _BYTES = range(3)
"""The units of arithmetic: multiply-adds of vectors, matrix tiles, products of bytes."""


@dataclass(frozen=True)
class Roofline:
    """The peaks: the best of all bursts.

    gigaflops: fp32 with multiply-adds. gigabytes: GB/s by the bytes of the block that each thread
    reads. caches: the bytes of a core's own caches, nearest first. tile_gigaflops: bfloat16 on
    matrix tiles; 0 if the target has none. byte_gigaflops: operations on bytes; 0 if not measured.
    """

    threads: int
    gigaflops: float
    gigabytes: dict[int, float]
    caches: tuple[int, ...] = field(default_factory=lambda: (cpu.l1_bytes(), cpu.l2_bytes()))
    tile_gigaflops: float = 0.0
    byte_gigaflops: float = 0.0

    def bandwidth(self, bytes: int) -> float:
        """GB/s of memory, if all threads together read so many bytes before they begin again."""
        share = bytes / self.threads
        rates = [rate for room, rate in self._levels if room < share]
        return rates[-1] if rates else self._levels[0][1]

    def arithmetic_ms(self, flops: int, tile_flops: int, byte_flops: int) -> float:
        """The least time for operations. Matrix tiles work beside the other units."""
        vectors = (flops - tile_flops - byte_flops) / self.gigaflops
        if byte_flops:
            vectors += byte_flops / self.byte_gigaflops
        return 1e-6 * max(vectors, tile_flops / self.tile_gigaflops if tile_flops else 0.0)

    def memory_ms(self, reads: int, writes: int, weights: int, footprint: int) -> float:
        """The least time to move bytes once: the time of the level of memory that takes longest. A
        level moves the bytes that no nearer level can hold.

        A cache holds the values that were made last, before the step and by it. Of a footprint,
        which every run reads again, a cache holds as much as its size, and as much of the weights.
        """
        slowest = 0.0
        for room, rate in self._levels:
            held = room * self.threads
            values = max(0, reads - held) + max(0, writes - held)
            again = weights * max(0.0, 1 - held / footprint) if footprint else 0.0
            slowest = max(slowest, (values + again) / rate)
        return 1e-6 * slowest

    @property
    def _levels(self) -> list[tuple[int, float]]:
        """The bytes that all nearer levels of memory hold for a thread, and the rate of the next.

        A cache is as fast as the largest block that it holds.
        """
        rooms = [0, *self.caches, *(size for size in self.gigabytes if size > self.caches[-1])]
        rates = []
        for nearer, room in pairwise(rooms):
            blocks = [rate for size, rate in self.gigabytes.items() if nearer < size <= room]
            rates += [(nearer, rate) for rate in blocks[-1:]]
        return rates


class RooflineMeter:
    """The kernels that measure peaks. Every call of `sample` makes the peaks more exact."""

    def __init__(self, target: Target, threads: int, with_bytes: bool = False) -> None:
        """with_bytes: whether to measure products of bytes, too."""
        self.threads = threads
        self._arithmetic = {_VECTORS: _Kernel(*multiply_adds(target, threads))}
        if target.tiles:
            self._arithmetic[_TILES] = _Kernel(*tile_products(target, threads))
        if with_bytes:
            self._arithmetic[_BYTES] = _Kernel(*byte_products(target, threads))
        self._reads = {size: _Kernel(*reading(target, threads, size)) for size in BLOCKS}
        self._gigaflops = dict.fromkeys((_VECTORS, _TILES, _BYTES), 0.0)
        self._gigabytes = dict.fromkeys(BLOCKS, 0.0)

    def sample(self) -> None:
        """Run a burst of each kernel. Arithmetic runs several: a burst that loses the CPU is
        worthless.
        """
        for _ in range(3):
            for unit, kernel in self._arithmetic.items():
                self._gigaflops[unit] = max(self._gigaflops[unit], kernel.rate())
        for size, kernel in self._reads.items():
            self._gigabytes[size] = max(self._gigabytes[size], kernel.rate())

    def roofline(self) -> Roofline:
        """The best so far. Nearer memory counts as no slower than farther memory."""
        rising = accumulate(reversed(self._gigabytes.values()), max)
        rates = dict(zip(reversed(BLOCKS), rising, strict=True))
        gigabytes = {size: rates[size] for size in BLOCKS}
        return Roofline(
            self.threads,
            self._gigaflops[_VECTORS],
            gigabytes,
            tile_gigaflops=self._gigaflops[_TILES],
            byte_gigaflops=self._gigaflops[_BYTES],
        )


class _Kernel:
    """A compiled kernel, the memory that it reads, and the work of one run."""

    def __init__(self, artifact: Artifact, data: NDArray[np.float32], work: int) -> None:
        self.model = Model(artifact, artifact.threads)
        # No vector straddles two lines of a cache.
        aligned = np.frombuffer(Memory(data.nbytes).bytes, np.float32, data.size)
        aligned[:] = data
        self.feeds = {artifact.inputs[0].name: aligned}
        self.work = work
        self.rate()  # the first run pays for pages and threads

    def rate(self) -> float:
        """Work per nanosecond: GFLOP/s, or GB/s."""
        return self.work / timed(lambda: self.model.run(self.feeds)) * 1e-6


def multiply_adds(
    target: Target, threads: int, iterations: int = ITERATIONS
) -> tuple[Artifact, NDArray[np.float32], int]:
    """acc = acc * x + y, for as many acc as leave some registers free."""
    writer = _Writer(target, threads, 2 * target.lanes)
    b, count = writer.loops, _accumulators(target)
    vectors = vector_type(f32, target.lanes)

    def sums(_: SSAValue) -> Sequence[SSAValue]:
        x, y = (writer.load(b.constant(k * target.lanes)) for k in range(2))

        def iteration(_: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            return [b.add(vector.FMAOp, [total, x, y], vectors) for total in sums]

        return b.loop(b.constant(0), b.constant(iterations), 1, [y] * count, iteration)

    data = np.full(2 * target.lanes, 0.5, np.float32)
    return writer.artifact(sums), data, 2 * target.lanes * count * iterations * threads


def byte_products(
    target: Target, threads: int, iterations: int = ITERATIONS
) -> tuple[Artifact, NDArray[np.float32], int]:
    """acc += four products of x and y, the bytes of the numbers that are read."""
    writer = _Writer(target, threads, 2 * target.lanes)
    b, count = writer.loops, _accumulators(target)
    fours, lanes = vector_type(i8, 4 * target.lanes), vector_type(i32, target.lanes)

    def sums(_: SSAValue) -> Sequence[SSAValue]:
        x, y = (
            b.add(vector.BitcastOp, [writer.load(b.constant(k * target.lanes))], fours)
            for k in range(2)
        )

        def iteration(_: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            return [b.add(rt.DotBytesOp, [total, x, y], lanes) for total in sums]

        zero = b.splat(b.constant(0, i32), target.lanes)
        made = b.loop(b.constant(0), b.constant(iterations), 1, [zero] * count, iteration)
        return [b.add(arith.SIToFPOp, [total], vector_type(f32, target.lanes)) for total in made]

    data = np.full(2 * target.lanes, 0.5, np.float32)
    return writer.artifact(sums), data, 8 * target.lanes * count * iterations * threads


def _accumulators(target: Target) -> int:
    """The number of accumulators that leaves some registers free."""
    return target.registers * 3 // 4


def tile_products(
    target: Target, threads: int, iterations: int = ITERATIONS
) -> tuple[Artifact, NDArray[np.float32], int]:
    """Four products of tiles an iteration, of the bf16 numbers in what is read."""
    writer = _Writer(target, threads, TILE_ELEMENTS)
    b = writer.loops

    def iteration(_: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
        for product in PRODUCTS:
            b.put(tile.MultiplyOp(*product))
        return sums

    def sums(_: SSAValue) -> Sequence[SSAValue]:
        made = b.scratch(memory_type(f32, len(tile.SUMS) * TILE_ELEMENTS))
        row = b.constant(tile.ROW_BYTES)
        b.put(tile.ConfigureOp(b.constant(tile.ROWS)))
        for number in (*tile.LEFT, *tile.RIGHT):
            b.put(tile.LoadOp(number, writer.source, b.constant(0), row))
        for number in tile.SUMS:
            b.put(tile.ZeroOp(number))
        b.loop(b.constant(0), b.constant(iterations), 1, [], iteration)
        for number in tile.SUMS:
            b.put(tile.StoreOp(number, made, b.constant(number * TILE_ELEMENTS), row))
        b.put(tile.ReleaseOp())
        rows = range(0, len(tile.SUMS) * TILE_ELEMENTS, target.lanes)
        return [b.load(made, b.constant(at), target.lanes) for at in rows]

    data = np.full(TILE_ELEMENTS, 0.5, np.float32)
    flops = 2 * len(PRODUCTS) * tile.ROWS * TILE_ELEMENTS * 2
    return writer.artifact(sums), data, flops * iterations * threads


def reading(
    target: Target, threads: int, size: int, count: int = READ_BYTES
) -> tuple[Artifact, NDArray[np.float32], int]:
    """sums += block[...], over all parts of the block, until `count` bytes are read."""
    elements, part = size // 4, size // 4 // READ_AT_ONCE
    rounds = max(1, count // size)
    writer = _Writer(target, threads, elements * threads)
    b = writer.loops
    vectors = vector_type(f32, target.lanes)

    def sums(share: SSAValue) -> Sequence[SSAValue]:
        def iteration(at: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            places = [b.linear([(share, elements), (at, 1)], k * part) for k in range(READ_AT_ONCE)]
            return [
                b.add(arith.AddfOp, [total, writer.load(place)], vectors)
                for total, place in zip(sums, places, strict=True)
            ]

        def walk(_: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(b.constant(0), b.constant(part), target.lanes, sums, iteration)

        zero = b.splat(b.constant(0.0, f32), target.lanes)
        return b.loop(b.constant(0), b.constant(rounds), 1, [zero] * READ_AT_ONCE, walk)

    data = np.ones(elements * threads, np.float32)
    return writer.artifact(sums), data, size * rounds * threads


class _Writer:
    """A kernel that reads one input. Each thread has one chunk, and stores one vector."""

    def __init__(self, target: Target, threads: int, elements: int) -> None:
        self.target, self.threads, self.elements = target, threads, elements
        self.types = [memory_type(f32, size) for size in (elements, threads * target.lanes)]
        self.entry = Block(arg_types=[*self.types, IndexType(), IndexType()])
        self.source = self.entry.args[0]
        self.loops = LoopBuilder(self.entry)

    def load(self, at: SSAValue) -> SSAValue:
        return self.loops.load(self.source, at, self.target.lanes)

    def artifact(self, sums: Callable[[SSAValue], Sequence[SSAValue]]) -> Artifact:
        """The model that returns one sum for each chunk, so that LLVM drops no addition."""
        b, lanes = self.loops, self.target.lanes
        _, result, first, last = self.entry.args

        def chunk(share: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            total, *others = sums(share)
            for other in others:
                total = b.add(arith.AddfOp, [total, other], vector_type(f32, lanes))
            b.store(total, result, b.linear([(share, lanes)], 0))
            return []

        b.loop(first, last, 1, [], chunk)
        self.entry.add_op(func.ReturnOp())
        kernel = private_function("measure", self.entry)
        arguments = tuple(
            Argument(FIRST_BUFFER + number, 0, type, bytes_of(type))
            for number, type in enumerate(self.types)
        )
        run = write_run((Launch("measure", self.threads, arguments),))
        text = emit_llvm(lower(module_of([kernel, run]), self.target), self.target)
        return Artifact(
            objects=tuple(emit_object(t, self.target) for t in (text, threads_text(self.target))),
            weights=b"",
            arena_bytes=0,
            inputs=(Binding("block", (self.elements,)),),
            outputs=(Binding("sums", (self.threads * lanes,)),),
            features=self.target.features,
            target=self.target.name,
            threads=self.threads,
        )
