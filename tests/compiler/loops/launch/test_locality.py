"""Which rows or channels a thread does, beside those of the layer in front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.build_network import NetworkLoops, build
from ncc.compiler.loops.launch.locality import Sharing, handed_out_along
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.plan import Plan
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr

CHANNELS, ROWS, COLUMNS = 64, 30, 22


def convolved(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(WeightAttr.of(np.ones((CHANNELS, x.shape[0], 3, 3), np.float32)))
    o, y, z, i, k, m = b.loops(f"o y:{ROWS} z:{COLUMNS} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def depthwise(b: Builder, x: Tensor) -> Tensor:
    x = convolved(b, x)
    w = b.weight(WeightAttr.of(np.ones((CHANNELS, 3, 3), np.float32)))
    c, y, z, k, m = b.loops(f"c y:{ROWS - 2} z:{COLUMNS - 2} k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y + k, z + m] * w[c, k, m])


def pooled(b: Builder, x: Tensor) -> Tensor:
    x = convolved(b, x)
    c, y, z, k, m = b.loops(f"c y:{ROWS // 2 - 1} z:{COLUMNS // 2 - 1} k:3 m:3")
    return b.max((c, y, z), over=(k, m), of=x[c, y * 2 + k, z * 2 + m])


def narrowed(b: Builder, x: Tensor) -> Tensor:
    """Windows behind a convolution with few weights, whose points are one loop."""
    w = b.weight(WeightAttr.of(np.ones((32, x.shape[0]), np.float32)))
    o, y, z, i = b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i")
    x = b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])
    c, y, z, k, m = b.loops(f"c y:{ROWS // 2} z:{COLUMNS // 2} k:3 m:3")
    return b.max((c, y, z), over=(k, m), of=x[c, y * 2 + k, z * 2 + m])


def summed(b: Builder, x: Tensor) -> Tensor:
    return convolved(b, b.pad(convolved(b, x), [0, 1, 1], [0, 1, 1], 0.0))


@pytest.fixture
def loops(
    make_network: Callable[..., ModuleOp], make_plan: Callable[..., Plan]
) -> Callable[..., NetworkLoops]:
    """loops(write, threads): two layers in blocks of channels, the first one a convolution."""

    def written(write: Any, threads: int = 1) -> NetworkLoops:
        module = make_network([(CHANNELS, ROWS + 2, COLUMNS + 2)], write)
        PackChannels().apply(Context(), module)
        return build(make_plan(module), AVX512, 1, threads=threads)

    return written


def second_behind(loops: NetworkLoops, order: Callable[[Schedule], tuple[int, ...]]) -> Schedule:
    """How the second reduction is handed out where the first one is in that order."""
    first, second = [s for s in loops.steps if s.only_kernel and s.only_kernel.reduced]
    assert first.only_kernel is not None and second.only_kernel is not None
    sharing, schedule = Sharing(), choose(first.only_kernel, AVX512)
    ordered = replace(schedule, order=order(schedule))
    sharing.note(first.only_kernel, list(first.subviews), ordered)
    along = sharing.outermost(second.only_kernel, list(second.subviews))
    schedule = choose(second.only_kernel, AVX512)
    return handed_out_along(second.only_kernel, schedule, along, AVX512.costs.threads)


def channels_first(schedule: Schedule) -> tuple[int, ...]:
    return (0, 1, *(d for d in schedule.order if d > 1))


def rows_first(schedule: Schedule) -> tuple[int, ...]:
    return (1, 0, *(d for d in schedule.order if d > 1))


@pytest.mark.parametrize("write", [depthwise, pooled])
def test_a_window_is_shared_as_what_it_reads(
    loops: Callable[..., NetworkLoops], write: Any
) -> None:
    """By rows behind rows, by channels behind channels; its tiles stay the same."""
    found = loops(write)
    by_rows, by_channels = (second_behind(found, order) for order in (rows_first, channels_first))
    assert by_rows.order[:2] == (1, 0) and by_channels.order[:2] == (0, 1)
    assert by_rows.chunks > 0 and sorted(by_rows.order) == sorted(by_channels.order)
    assert replace(by_rows, order=(), chunks=0) == replace(by_channels, order=(), chunks=0)


@pytest.mark.parametrize(("rows", "loop"), [(1, 1), (4, 1), (ROWS, 0)])
def test_parts_of_several_rows(loops: Callable[..., NetworkLoops], rows: int, loop: int) -> None:
    """Who makes four rows at a time hands out rows; who makes all of them hands out blocks."""
    first, second = [s for s in loops(depthwise).steps if s.only_kernel and s.only_kernel.reduced]
    assert first.only_kernel is not None and second.only_kernel is not None
    store = first.only_kernel.store
    sharing = Sharing({first.subviews[store.argument].buffer: rows * store.coefficients[1]})
    assert sharing.outermost(second.only_kernel, list(second.subviews)) == loop


def test_a_contraction_has_an_order_of_its_own(loops: Callable[..., NetworkLoops]) -> None:
    """What it reads is read many times: weights decide."""
    found = loops(summed)
    last = [s.only_kernel for s in found.steps if s.only_kernel and s.only_kernel.reduced][-1]
    for order in (rows_first, channels_first):
        assert second_behind(found, order) == choose(last, AVX512)


def test_only_several_threads_share(loops: Callable[..., NetworkLoops]) -> None:
    """One thread finds all that it made: it has the order that reads the fewest lines twice."""
    alone, together = (
        [s.kernel for s in loops(narrowed, n).steps if s.only_kernel and s.only_kernel.reduced]
        for n in (1, 2)
    )
    schedule = second_behind(loops(narrowed), lambda schedule: schedule.order)
    assert schedule.order[:3] == (1, 0, 2)
    assert alone[0] == together[0] and alone[1] != together[1]
