"""What this machine can do at most, measured by kernels of our own: the roofs of a roofline.

    fma     registers of accumulators, each multiplied and added to on every turn
    read    every cell of a block of memory added up, for blocks that fit into nearer or farther
            memory

They are made as networks are, by the loops level, for the same target and number of threads, and
are run between the runs of a network: on a machine whose clock changes, only these roofs compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import IndexType, ModuleOp, f32
from xdsl.ir import Block, Region, SSAValue

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.build import LoopBuilder, memory_type, vector_type
from ncc.compiler.loops.entry import Argument, Launch, bytes_of, write_run
from ncc.compiler.measure.timing import timed
from ncc.compiler.target import Target
from ncc.runtime.artifact import FIRST_BUFFER, Artifact, Binding
from ncc.runtime.memory import Memory
from ncc.runtime.session import Model

BLOCKS = (16 << 10, 256 << 10, 768 << 10, 8 << 20, 64 << 20)
"""Bytes a thread reads again and again: in the first cache, in the second (half and nearly full, as
they are on most machines), in the last, and in none."""

TURNS = 200_000
"""Iterations of the loop of multiply-adds: a few milliseconds, beside which the call is nothing."""

READ_AT_ONCE = 8
"""Vectors that a turn of the reading loop adds to as many sums."""

READ_BYTES = 64 << 20
"""Bytes that a burst reads, however small its block is."""


@dataclass(frozen=True)
class Ceilings:
    """The best of all bursts. gigaflops: fp32 with multiply-adds. gigabytes: read a second, by the
    bytes of the block that each thread walks."""

    threads: int
    gigaflops: float
    gigabytes: dict[int, float]

    def bandwidth(self, bytes: int) -> float:
        """GB/s for memory of which all threads walk so many bytes before they come back."""
        share = bytes / self.threads
        fitting = (rate for size, rate in self.gigabytes.items() if size >= share)
        return next(fitting, self.gigabytes[max(self.gigabytes)])


class CeilingMeter:
    """The kernels that measure ceilings; every `sample` makes what is known better."""

    def __init__(self, target: Target, threads: int) -> None:
        self.threads = threads
        self._flops = _Kernel(*_multiply_add(target, threads))
        self._reads = {size: _Kernel(*_reading(target, threads, size)) for size in BLOCKS}
        self._gigaflops = 0.0
        self._gigabytes = dict.fromkeys(BLOCKS, 0.0)

    def sample(self) -> None:
        """A burst of each kernel; of arithmetic some, since threads must not lose the CPU there."""
        rates = [self._flops.rate() for _ in range(3)]
        self._gigaflops = max(self._gigaflops, *rates)
        for size, kernel in self._reads.items():
            self._gigabytes[size] = max(self._gigabytes[size], kernel.rate())

    def ceilings(self) -> Ceilings:
        """The best so far. Nearer memory is as fast as farther, whatever a disturbed burst said."""
        rising = accumulate(reversed(self._gigabytes.values()), max)
        rates = dict(zip(reversed(BLOCKS), rising, strict=True))
        return Ceilings(self.threads, self._gigaflops, {size: rates[size] for size in BLOCKS})


class _Kernel:
    """A compiled kernel, the memory that it reads, and the work of one run."""

    def __init__(self, artifact: Artifact, data: NDArray[np.float32], work: int) -> None:
        self.model = Model(artifact, artifact.threads)
        # No vector straddles two lines of a cache.
        aligned = np.frombuffer(Memory(data.nbytes).bytes, np.float32, data.size)
        aligned[:] = data
        self.feeds = {artifact.inputs[0].name: aligned}
        self.work = work
        self.rate()  # the first one pays for pages and threads

    def rate(self) -> float:
        """Work per nanosecond: GFLOP/s, or GB/s."""
        return self.work / timed(lambda: self.model.run(self.feeds)) * 1e-6


def _multiply_add(target: Target, threads: int) -> tuple[Artifact, NDArray[np.float32], int]:
    """acc = acc * x + y, for as many acc as leave some registers free."""
    writer = _Writer(target, threads, 2 * target.lanes)
    b, count = writer.loops, target.registers * 3 // 4
    vectors = vector_type(f32, target.lanes)

    def sums(_: SSAValue) -> Sequence[SSAValue]:
        x, y = (writer.load(b.constant(k * target.lanes)) for k in range(2))

        def turn(_: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            return [b.add(vector.FMAOp, [total, x, y], vectors) for total in sums]

        return b.loop(b.constant(0), b.constant(TURNS), 1, [y] * count, turn)

    data = np.full(2 * target.lanes, 0.5, np.float32)
    return writer.artifact(sums), data, 2 * target.lanes * count * TURNS * threads


def _reading(target: Target, threads: int, size: int) -> tuple[Artifact, NDArray[np.float32], int]:
    """sums += block[...], from end to end, until READ_BYTES are read."""
    cells, step = size // 4, READ_AT_ONCE * target.lanes
    rounds = max(1, READ_BYTES // size)
    writer = _Writer(target, threads, cells * threads)
    b = writer.loops
    vectors = vector_type(f32, target.lanes)

    def sums(share: SSAValue) -> Sequence[SSAValue]:
        def turn(at: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            places = [
                b.linear([(share, cells), (at, 1)], k * target.lanes) for k in range(READ_AT_ONCE)
            ]
            return [
                b.add(arith.AddfOp, [total, writer.load(place)], vectors)
                for total, place in zip(sums, places, strict=True)
            ]

        def walk(_: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(b.constant(0), b.constant(cells), step, sums, turn)

        zero = b.splat(b.constant(0.0, f32), target.lanes)
        return b.loop(b.constant(0), b.constant(rounds), 1, [zero] * READ_AT_ONCE, walk)

    data = np.ones(cells * threads, np.float32)
    return writer.artifact(sums), data, size * rounds * threads


class _Writer:
    """A kernel that reads one input, and stores a vector a chunk: one chunk for each thread."""

    def __init__(self, target: Target, threads: int, cells: int) -> None:
        self.target, self.threads, self.cells = target, threads, cells
        self.types = [memory_type(f32, size) for size in (cells, threads * target.lanes)]
        self.entry = Block(arg_types=[*self.types, IndexType(), IndexType()])
        self.source = self.entry.args[0]
        self.loops = LoopBuilder(self.entry)

    def load(self, at: SSAValue) -> SSAValue:
        return self.loops.load(self.source, at, self.target.lanes)

    def artifact(self, sums: Callable[[SSAValue], Sequence[SSAValue]]) -> Artifact:
        """The model that hands out all sums of a chunk as one, so that none of them is in vain."""
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
        types = [argument.type for argument in self.entry.args]
        kernel = func.FuncOp("measure", (types, []), Region(self.entry), visibility="private")
        arguments = tuple(
            Argument(FIRST_BUFFER + number, 0, type, bytes_of(type))
            for number, type in enumerate(self.types)
        )
        run = write_run((Launch("measure", self.threads, arguments),))
        text = emit_llvm(lower(ModuleOp([kernel, run]), self.target), self.target)
        return Artifact(
            objects=tuple(emit_object(t, self.target) for t in (text, threads_text())),
            weights=b"",
            arena_bytes=0,
            inputs=(Binding("block", (self.cells,)),),
            outputs=(Binding("sums", (self.threads * lanes,)),),
            features=self.target.features,
            target=self.target.name,
            threads=self.threads,
        )
