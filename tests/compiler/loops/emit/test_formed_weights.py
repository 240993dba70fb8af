"""Contractions that transform their own weights: they are right on every target.

The tests watch the memory around every buffer; elements that no kernel writes are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.convolutions.forms import F2, F4
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.convolutions.layers import weights
from tests.compiler.linalg.convolutions.tiled import in_tiles
from tests.compiler.linalg.operations import relu
from tests.compiler.loops.emit.tiled import FLOATS, check
from tests.crossed import crossed

LARGEST = 1 << 20
"""Rows of tiles that no image has."""


@pytest.fixture(params=[pytest.param(F2, marks=pytest.mark.slow), F4], ids=["F2", "F4"])
def tiles(request: pytest.FixtureRequest) -> Target:
    """For which convolutions take tiles of one form, in one chunk, and form weights at run time."""
    return in_tiles(request.param, rows=LARGEST, formed=True)


def formed(kernels: list[Kernel]) -> list[Kernel]:
    return [kernel for kernel in kernels if kernel.forms_weights]


@pytest.mark.parametrize(("target", "size"), crossed(FLOATS, [(13, 14), (4, 4), (19, 31)], usual=2))
def test_on_every_target(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    size: tuple[int, int],
    tiles: Target,
) -> None:
    """One tile, few and many; blocks of outputs by twos and one by one."""
    kernels = formed(
        check(make_network, run_networks, [(16, *size), (32, *size)], target, tiles=tiles)
    )
    assert len(kernels) == 4
    for kernel in kernels:
        schedule = choose(kernel, target)
        assert schedule.panel is not None and schedule.vector == target.lanes


def test_plain_layout(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], tiles: Target
) -> None:
    """If channels are not in blocks it is a sum like any other: slow, and right."""
    kernels = formed(
        check(make_network, run_networks, [(16, 13, 5)], FLOATS[0], pack=False, tiles=tiles)
    )
    assert kernels
    assert all(choose(kernel, FLOATS[0]).panel is None for kernel in kernels)


def test_channels_that_fill_no_block(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], tiles: Target
) -> None:
    """Sums over a part of a block are no panels."""
    kernels = formed(check(make_network, run_networks, [(20, 13, 8)], FLOATS[0], tiles=tiles))
    assert kernels
    assert all(choose(kernel, FLOATS[0]).panel is None for kernel in kernels)


@pytest.mark.parametrize("taps", ["", "d:1"], ids=["image", "one tap"])
def test_one_slice_of_a_volume(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    taps: str,
    tiles: Target,
) -> None:
    """A window along one slice: weights have an axis for its only tap, or none."""
    shape = (32, 1, 13, 14)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = b.pad(relu(b, x), [0, 0, 1, 1], [0, 0, 1, 1])
        w = weights(b, (32, 32, *[1] * len(taps[:1]), 3, 3))
        bias = b.spread(weights(b, (32,), 1), shape, axis=0)
        o, z, p, q, i, *d, k, m = b.loops(f"o z:1 p:13 q:14 i {taps} k m")
        data = y[i, z + d[0] if d else z, p + k, q + m]
        return b.sum((o, z, p, q), (i, *d, k, m), data * w[(o, i, *d, k, m)], bias)

    (kernel,) = formed(
        check(make_network, run_networks, [shape], FLOATS[0], write=write, tiles=tiles)
    )
    assert choose(kernel, FLOATS[0]).panel is not None
