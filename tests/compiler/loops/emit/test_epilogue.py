"""An epilogue gives the same bits in a loop over the tile as in line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import math, memref
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.data_types.pack_vnni import PackVnni
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import AVX512, BASELINE, NEON, NEON_DOT, NEON_I8MM, Target
from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert, exp
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.convolutions.layers import convolution
from tests.compiler.linalg.operations import add
from tests.compiler.loops.emit.layers import KernelOf, depthwise_of_blocks
from tests.crossed import crossed
from tests.runnable import RUNNABLE
from tests.structured.evaluate import evaluate


def swish(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] / (exp(-x[at]) + 1.0))


def two_convolutions(window: int) -> Callable[[Builder, Tensor], Tensor]:
    """One with its swish, and another one that is added to it."""

    def made(b: Builder, x: Tensor) -> Tensor:
        first = swish(b, convolution(b, x, 40, pad=window // 2, window=window))
        return add(b, first, convolution(b, x, 40, pad=0, window=1))

    return made


@pytest.mark.parametrize(
    ("target", "sizes"),
    crossed(RUNNABLE, [(5, 3), (14, 1), (7, 1)]),
    ids=lambda value: value.name if isinstance(value, Target) else str(value),
)
def test_a_loop_computes_the_same_bits(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    sizes: tuple[int, int],
) -> None:
    """Also with a residual sum after the function, and with remainders of the tile."""
    height, window = sizes
    data = np.random.default_rng(1).normal(0, 3, (24, height, 9)).astype(np.float32)
    found = []
    for most in (0, 1000):

        def schedule_of(kernel: Kernel, most: int = most) -> Schedule:
            return replace(choose(kernel, target), in_line=most)

        module = make_network([data.shape], two_convolutions(window))
        PackChannels().apply(Context(), module)
        ((result,),), _ = run_networks([(module, [data])], schedule_of, target)
        found.append(result)
    in_a_loop, in_line = found
    assert np.array_equal(in_a_loop, in_line)


def written(kernel: Kernel, **fields: int) -> list[Operation]:
    """The operations of a kernel, with these fields in the schedule that is chosen."""
    return list(write(kernel, replace(choose(kernel, AVX512), **fields), "k").walk())  # type: ignore[arg-type]


def test_a_function_is_written_for_two_points_in_a_loop(kernel: KernelOf) -> None:
    """Not once for each of the accumulators of a tile, unless they are few: there are 12 to 27."""
    found = kernel(lambda b, x: swish(b, convolution(b, x, 40, pad=0, window=1)), (24, 14, 17))

    def functions(**fields: int) -> int:
        return sum(isinstance(op, math.ExpOp) for op in written(found, **fields))

    assert 0 < 2 * functions(in_line=0) < functions(in_line=1000)
    assert functions(in_line=0) < functions() < functions(in_line=1000)


def test_a_window_is_finished_where_it_was_summed(kernel: KernelOf) -> None:
    """Its few accumulators stay in registers: nothing waits in memory."""
    ops = written(kernel(lambda b, x: swish(b, depthwise_of_blocks(b, x)), (32, 18, 18)))
    assert any(isinstance(op, math.ExpOp) for op in ops)
    assert not any(isinstance(op, memref.AllocaOp) for op in ops)


def bytes_of(x: Tensor, b: Builder) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, saturated_int8(convert(x[at], f32) * 0.01))


def convolutions_of_bytes(b: Builder, x: Tensor) -> Tensor:
    """A convolution, and one of each channel by itself; results are bytes."""
    draw = np.random.default_rng(2)
    x = bytes_of(convolution(b, x, 32, pad=0, window=1), b)
    w = b.weight(WeightAttr.of(draw.integers(-128, 128, (32, 32, 3, 3)).astype(np.int8)))
    o, y, z, i, k, m = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    term = convert(x[i, y + k, z + m], i32) * convert(w[o, i, k, m], i32)
    x = bytes_of(b.sum((o, y, z), (i, k, m), term), b)
    w = b.weight(WeightAttr.of(draw.integers(-128, 128, (32, 3, 3)).astype(np.int8)))
    c, y, z, k, m = b.loops(f"c y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m")
    term = convert(x[c, y + k, z + m], i32) * convert(w[c, k, m], i32)
    x = bytes_of(b.sum((c, y, z), (k, m), term), b)
    at = b.loops_of(x.shape)
    return b.map(at, convert(x[at], f32))


@pytest.mark.parametrize("target", [NEON, NEON_DOT, NEON_I8MM], ids=lambda target: target.name)
def test_bytes_of_neighbours_are_stored_together(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], target: Target
) -> None:
    """Where stores are instructions; a window has longer vectors instead. Here it is lowered for a
    target that runs here.
    """
    module = make_network([(24, 11, 9)], convolutions_of_bytes)
    data = (np.random.default_rng(1).integers(-99, 99, (24, 11, 9)) * 64).astype(np.float32)
    [expected] = evaluate(network_of(module), [data])
    PackChannels().apply(Context(), module)
    PackVnni(target).apply(Context(), module)
    [[got]], [program] = run_networks([(module, [data])], lambda k: choose(k, target), BASELINE)
    joined = {schedule.joined for schedule in program.schedules if schedule.quad is not None}
    assert max(joined, default=4) > 1 and np.abs(expected).max() > 1
    assert any(schedule.vector == 8 for schedule in program.schedules)
    np.testing.assert_array_equal(got, expected)
