"""Schedules for extents that the run tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.open_extents import LONG, SHORT, for_the_hint
from ncc.compiler.target import AVX512, TWO_UNITS
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size
from tests.compiler.linalg.computations import ones
from tests.compiler.loops.emit.layers import KernelOf


def convolution(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(128, x.shape[0]))
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])


@pytest.fixture
def opened(kernel: KernelOf) -> Callable[[int], Kernel]:
    """A convolution of images of which the run tells how many points they have, by the hint."""

    def of(hint: int) -> Kernel:
        points, found = Size.symbol("n", hint), kernel(convolution, (64, 14, 14))
        extents = tuple(points if n == 14 * 14 else n for n in found.extents)
        return replace(found, extents=extents)

    return of


def test_costs_are_those_of_the_hint(opened: Callable[[int], Kernel]) -> None:
    """Loops are long for all else, and a tiny hint counts as SHORT."""
    for hint, likely in ((2, SHORT), (20, 20), (100, 100)):
        kernel = opened(hint)
        hinted = for_the_hint(kernel)
        told = [d for d, n in enumerate(kernel.extents) if isinstance(n, Size)]
        assert told
        assert {hinted.likely[d] for d in told} == {likely}
        assert {hinted.extents[d] for d in told} == {max(hint, LONG)}


def test_tiles_of_short_rows_have_few_points(opened: Callable[[int], Kernel]) -> None:
    """Of twelve points or so, a large tile would leave many to a second one."""
    target = replace(AVX512, core=TWO_UNITS)
    schedules = {hint: choose(for_the_hint(opened(hint)), target) for hint in (12, 400)}
    (loop,) = (d for d, n in enumerate(opened(12).extents) if isinstance(n, Size))
    assert schedules[12].points(loop) < schedules[400].points(loop)
