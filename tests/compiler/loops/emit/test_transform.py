"""Winograd's convolutions as machine code: right on every target, without stores outside.

The tests watch the memory around every buffer; elements that no kernel writes are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.forms import Form
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.convolutions.layers import convolution
from tests.compiler.linalg.convolutions.tiled import in_tiles
from tests.compiler.linalg.operations import add, relu
from tests.compiler.loops.emit.tiled import FLOATS, block, check
from tests.crossed import crossed, some


def bf16_split(b: Builder, x: Tensor) -> Tensor:
    """Two convolutions of stride 2, with an activation between them."""
    y = relu(b, convolution(b, x, x.shape[0] + 16, stride=2))
    return convolution(b, y, x.shape[0], stride=2)


def along_one_axis(b: Builder, x: Tensor) -> Tensor:
    """Seven rows, then three columns at stride 2, each with an activation after it."""
    channels, height, width = x.shape
    held = b.weight(WeightAttr(Weights((channels,), Random(4, 1))))
    bias = b.spread(held, x.shape, axis=0)
    w, u = (
        b.weight(WeightAttr(Weights((channels, channels, taps), Random(3, taps, 0.1))))
        for taps in (7, 3)
    )
    rows = b.pad(x, [0, 3, 0], [0, 3, 0])
    o, p, q, i, k = b.loops(f"o p:{height} q:{width} i k")
    y = b.sum((o, p, q), (i, k), rows[i, p + k, q] * w[o, i, k], bias)
    columns = b.pad(relu(b, y), [0, 0, 2], [0, 0, 2])
    o, p, q, i, k = b.loops(f"o p:{height} q:{width} i k")
    y = b.sum((o, p, q), (i, k), columns[i, p, q + k * 2] * u[o, i, k], bias)
    return relu(b, add(b, y, x))


def down_a_column(b: Builder, x: Tensor) -> Tensor:
    """Three rows of a window, without padding."""
    channels, height, width = x.shape
    w = b.weight(WeightAttr(Weights((channels, channels, 3), Random(3, 3, 0.1))))
    o, p, q, i, k = b.loops(f"o:{channels} p:{height - 2} q:{width} i k")
    return relu(b, b.sum((o, p, q), (i, k), x[i, p + k, q] * w[o, i, k]))


def transforms(kernels: list[Kernel]) -> list[Kernel]:
    return [kernel for kernel in kernels if kernel.matrices is not None]


@pytest.mark.parametrize(("target", "layout"), crossed(FLOATS, ["blocks", "plain"], usual=2))
def test_along_one_axis(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    layout: str,
    always_tiled: Form,
) -> None:
    """Windows that are a column, in parts, and a row, with phases: a matrix that is a one."""
    shapes = [(16, 13, 22), (32, 9, 16)]
    pack = layout == "blocks"
    kernels = check(
        make_network,
        run_networks,
        shapes,
        target,
        pack=pack,
        write=along_one_axis,
        tiles=in_tiles(always_tiled),
    )
    ones = [m for kernel in transforms(kernels) for m in kernel.matrices or () if m == ((1.0,),)]
    assert len(ones) == len(transforms(kernels)) > 0


@pytest.mark.parametrize(("target", "layout"), crossed(FLOATS, ["blocks", "plain"], usual=2))
def test_rows_of_a_partial_tile(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    layout: str,
    always_tiled: Form,
) -> None:
    """Vectors along a row of tiles of one column, the last of which is no whole vector, where the
    last tile has rows that nobody reads.
    """
    shapes = [(16, 7, 11), (16, 7, 19), (16, 9, 7)]
    pack = layout == "blocks"
    kernels = check(
        make_network,
        run_networks,
        shapes,
        target,
        pack=pack,
        write=down_a_column,
        tiles=in_tiles(always_tiled),
    )
    assert any(kernel.valid_extents for kernel in transforms(kernels))


@pytest.mark.parametrize("target", FLOATS, ids=lambda target: target.name)
def test_on_every_target(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    always_tiled: Form,
) -> None:
    """Whole and partial tiles, bias, activations and a residual, in blocks of channels."""
    shapes = [(16, 13, 14)]
    kernels = transforms(
        check(make_network, run_networks, shapes, target, tiles=in_tiles(always_tiled))
    )
    assert kernels
    for kernel in kernels:
        schedule = choose(kernel, target)
        assert schedule.lane is not None and schedule.vector == target.lanes


@pytest.mark.parametrize("target", some(FLOATS, usual=1), ids=lambda target: target.name)
def test_at_stride_2(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    always_tiled_at_stride: Form,
) -> None:
    """Whole and partial tiles, of images of odd sizes, in blocks that need not be full."""
    shapes = [(20, 13, 15)]
    assert transforms(
        check(
            make_network,
            run_networks,
            shapes,
            target,
            write=bf16_split,
            tiles=in_tiles(always_tiled_at_stride),
        )
    )


def test_plain_layout(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], always_tiled: Form
) -> None:
    """If channels are not in blocks there is no lane: slow, and right."""
    kernels = transforms(
        check(
            make_network,
            run_networks,
            [(16, 13, 5)],
            FLOATS[0],
            pack=False,
            tiles=in_tiles(always_tiled),
        )
    )
    assert kernels
    assert all(choose(kernel, FLOATS[0]).lane is None for kernel in kernels)


def test_channels_that_fill_no_block(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], always_tiled: Form
) -> None:
    """The rest of a block is computed on and never read."""
    assert transforms(
        check(make_network, run_networks, [(20, 13, 8)], FLOATS[0], tiles=in_tiles(always_tiled))
    )


def test_rows_stay_in_registers(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[..., list[Kernel]],
    always_tiled: Form,
) -> None:
    """All columns of a row of results at once, and some registers for operands."""
    module = make_network([(16, 8, 8)], block)
    ChooseConvolution(in_tiles(always_tiled)).apply(Context(), module)
    PackChannels().apply(Context(), module)
    for kernel in transforms(kernels_of(module)):
        (_, rows), _ = choose(kernel, AVX512).tile
        assert always_tiled.window * rows <= AVX512.registers - 4
