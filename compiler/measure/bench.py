"""Measures how fast a network runs, where its time goes, and what bounds it.

Three things run in turns: the network, the same network with timestamps between its steps, and the
kernels that measure the peaks of the machine (`roofline.py`). So a change of the machine's clock
meets all three. The bound of a step is the longer of two times:

    arithmetic    operations / GFLOP/s of the machine. Vectors, matrix tiles and products of bytes
                  each have a peak of their own, and tiles work beside the others
    memory        bytes that no nearer level of memory holds / GB/s, of the level that takes longest

The step before has just made the values, so that caches hold as many of them as fit. The weights
were last read one run ago.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from ncc.compiler.driver.compile import compile_with
from ncc.compiler.driver.specialise import settled, sharing_weights
from ncc.compiler.feeds import Range, all_feeds
from ncc.compiler.measure.roofline import Roofline, RooflineMeter
from ncc.compiler.measure.timestamped import Feeds, TimestampedRun, ticks_per_ms
from ncc.compiler.measure.timing import BURST_MILLISECONDS, ROUNDS, Timing, burst, rounds_of
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.multiply_adds import multiply_adds
from ncc.compiler.ncnn.unroll_batches import unroll_batches
from ncc.compiler.network_files import read_network
from ncc.compiler.onnx.convert_to_ncnn import convert_to_ncnn
from ncc.compiler.options import Compiling, Options
from ncc.compiler.progress import counted
from ncc.runtime.memory_files import FileLike, file_of, shown_path
from ncc.runtime.session import Model

EXPLAINED = 0.1
"""A bound explains a step if it is at least this part of the step's time."""


@dataclass(frozen=True)
class StepCost:
    """The work and the time of one step, or of all steps of one layer.

    flops: None if nobody counts them. tile_flops, byte_flops: the part of flops on matrix tiles,
    and the part in dot products of bytes. arithmetic_ms, memory_ms: the two bounds.
    """

    layers: tuple[str, ...]
    kernels: tuple[str, ...]
    ms: float
    flops: int | None
    tile_flops: int
    byte_flops: int
    weight_bytes: int
    data_bytes: int
    arithmetic_ms: float
    memory_ms: float

    @property
    def bytes(self) -> int:
        return self.weight_bytes + self.data_bytes

    @property
    def bound(self) -> str:
        """The larger bound, "compute" or "memory"; "latency" if neither explains the time."""
        if self.bound_ms < self.ms * EXPLAINED:
            return "latency"
        return "compute" if self.arithmetic_ms >= self.memory_ms else "memory"

    @property
    def bound_ms(self) -> float:
        return max(self.arithmetic_ms, self.memory_ms)

    def plus(self, other: StepCost) -> StepCost:
        """The cost of both steps, one after the other."""
        known = self.flops is not None and other.flops is not None
        return StepCost(
            self.layers,
            tuple(dict.fromkeys((*self.kernels, *other.kernels))),
            self.ms + other.ms,
            (self.flops or 0) + (other.flops or 0) if known else None,
            self.tile_flops + other.tile_flops,
            self.byte_flops + other.byte_flops,
            self.weight_bytes + other.weight_bytes,
            self.data_bytes + other.data_bytes,
            self.arithmetic_ms + other.arithmetic_ms,
            self.memory_ms + other.memory_ms,
        )


@dataclass(frozen=True)
class Benchmark:
    """One network on one number of threads.

    multiply_adds: those of the network in its file, which make networks comparable; Winograd does
    fewer. footprint: the bytes of memory that a run touches between two readings of one weight.
    feeds: the arrays of the runs. outputs: the names of the outputs.
    """

    model: str
    target: str
    threads: int
    time: Timing
    multiply_adds: int
    roofline: Roofline
    footprint: int
    steps: tuple[StepCost, ...]
    feeds: Feeds
    outputs: tuple[str, ...]

    @property
    def gigaflops(self) -> float:
        """GFLOP/s of the network in its file, at its least time."""
        return 2e-6 * self.multiply_adds / self.time.min

    @property
    def gigabytes(self) -> float:
        """GB/s of the bytes that its steps must read and write, at its least time."""
        return 1e-6 * sum(step.bytes for step in self.steps) / self.time.min

    @property
    def bandwidth(self) -> float:
        """GB/s at which this machine reads memory as large as the footprint."""
        return self.roofline.bandwidth(self.footprint)

    @property
    def bound_ms(self) -> float:
        """The least time that the peaks of the machine allow for these steps."""
        return sum(step.bound_ms for step in self.steps)

    @property
    def layers(self) -> tuple[StepCost, ...]:
        """The steps of each layer together, in the order of their first steps."""
        costs: dict[tuple[str, ...], StepCost] = {}
        for step in self.steps:
            known = costs.get(step.layers)
            costs[step.layers] = step if known is None else known.plus(step)
        return tuple(costs.values())


def bench(
    param: FileLike,
    bin: FileLike | None = None,
    *,
    feeds: Feeds | None = None,
    seed: int = 0,
    value_range: Range | None = None,
    rounds: int = ROUNDS,
    **given: Unpack[Compiling],
) -> Benchmark:
    """Compile the network and measure it on `feeds`, with random arrays for all other inputs.

    given: options of `compile`. Raises what reading, compiling and running raise, and InputError if
    a shape is open or an argument has a wrong type.
    """
    options = Options.of(**given)
    rounds = rounds_of(rounds)
    param = file_of(param, "the .param")
    bin = None if bin is None else file_of(bin, "the .bin")
    model = settled(compile_with(param, bin, options))
    inputs = all_feeds(model.inputs, feeds, seed, value_range)
    if any(binding.is_open for binding in model.inputs):
        # A benchmark is about one length of caches.
        options = replace(options, input_shapes={n: x.shape for n, x in inputs.items()})
        model = settled(compile_with(param, bin, options))
    timestamped = settled(compile_with(param, bin, replace(options, timestamps=True)))
    timestamped = Model(sharing_weights(timestamped.artifact, [model]))
    work = timestamped.artifact.info["work"]
    of_bytes = any(step["byte_flops"] for step in work)
    meter = RooflineMeter(options.target, model.num_threads, of_bytes)

    samples: list[float] = []
    steps = [TimestampedRun.of(timestamped, inputs)]
    for _ in counted("measuring", range(rounds), rounds):
        meter.sample()
        samples += burst(lambda: model.run(inputs), BURST_MILLISECONDS)
        steps += [TimestampedRun.of(timestamped, inputs) for _ in range(2)]
    network = read_network(param, bin, random_weights=options.random_weights).module
    unroll_batches(network, options.input_shapes)
    infer_shapes(network, options.input_shapes, options.input_types)
    convert_to_ncnn(network)
    roofline = meter.roofline()
    weights = sum(step["weight_bytes"] for step in work)
    footprint = weights + timestamped.artifact.arena_bytes
    return Benchmark(
        os.path.basename(shown_path(param)),
        options.target.name,
        model.num_threads,
        Timing.of(samples),
        multiply_adds(network),
        roofline,
        footprint,
        tuple(_costs(timestamped, steps, roofline, footprint)),
        inputs,
        tuple(binding.name for binding in model.outputs),
    )


def _costs(
    model: Model, runs: Sequence[TimestampedRun], roofline: Roofline, footprint: int
) -> list[StepCost]:
    """The cost of each step. Its time is the median over the fastest quarter of the runs."""
    ticks = sorted((run.ticks() for run in runs), key=lambda steps: int(steps.sum()))
    middle = np.median(ticks[: -(-len(runs) // 4)], axis=0) / ticks_per_ms(runs)
    info = model.artifact.info
    costs = []
    for (kernel, layers), work, ms in zip(info["steps"], info["work"], middle, strict=True):
        flops, weights = work["flops"], work["weight_bytes"]
        of_tiles, of_bytes = work["tile_flops"], work["byte_flops"]
        reads, writes = work["read_bytes"], work["written_bytes"]
        costs.append(
            StepCost(
                tuple(layers),
                (kernel,),
                float(ms),
                flops,
                of_tiles,
                of_bytes,
                weights,
                reads + writes,
                roofline.arithmetic_ms(flops or 0, of_tiles, of_bytes),
                roofline.memory_ms(reads, writes, weights, footprint),
            )
        )
    return costs
