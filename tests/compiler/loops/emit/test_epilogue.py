"""An epilogue gives the same bits in a loop over the tile as in line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import math, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from tests.compiler.linalg.computations import add
from tests.compiler.linalg.convolutions.layers import convolution
from tests.compiler.loops.emit.layers import KernelOf, depthwise_of_blocks
from tests.crossed import crossed
from tests.runnable import RUNNABLE


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
