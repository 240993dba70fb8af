"""Sums over images that windows see all of: the same numbers by fewer products, in blocks, too."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.convolutions.sum_over_images import SumOverImages
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.same_numbers import after, marked
from tests.crossed import crossed
from tests.runnable import NAMES

MakeNetwork = Callable[..., ModuleOp]
Pair = tuple[int, int]
CHANNELS = 20


def depthwise(
    window: Pair, low: Pair, high: Pair, stride: int = 1, border: float = 0.0, dilation: int = 1
) -> Callable[[Builder, Tensor], Tensor]:
    """A depthwise convolution of a padded image, with a stride and a dilation along the rows."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, [0, *low], [0, *high], border)
        height = (x.shape[1] - dilation * (window[0] - 1) - 1) // stride + 1
        width = x.shape[2] - window[1] + 1
        w = whole_numbers(b, x.shape[0], *window)
        c, p, q, k, m = b.loops(f"c p:{height} q:{width} k m")
        term = x[c, p * stride + k * dilation, q + m] * w[c, k, m]
        return b.sum((c, p, q), (k, m), term, 1.0)

    return write


def products(module: ModuleOp, *passes: SumOverImages | PackChannels) -> int:
    """Those for a channel that are left of the convolution behind passes, which change no number;
    of all that packing puts in place of it, too.
    """
    return sum(
        prod(linalg_op.extents[d] for d in (*linalg_op.parallel[1:3], *linalg_op.reduced))
        for linalg_op in after(module, *passes)
        if linalg_op.reduced
    )


@pytest.mark.parametrize(
    ("shape", "write", "left"),
    [
        ((5, 4), depthwise((9, 7), (4, 3), (4, 3)), 20 * 20),
        ((5, 4), depthwise((11, 9), (5, 4), (5, 4)), 20 * 20),
        ((5, 4), depthwise((9, 7), (6, 3), (2, 3)), 5 * 4 * 9 * 4),
        ((5, 4), depthwise((9, 7), (3, 3), (4, 3)), 4 * 4 * 5 * 4),
        ((5, 9), depthwise((9, 3), (4, 1), (4, 1)), 5 * 9 * 5 * 3),
        ((5, 9), depthwise((9, 3), (4, 0), (4, 0)), 5 * 7 * 5 * 3),
        ((5, 4), depthwise((9, 7), (4, 3), (4, 3), stride=2), 3 * 4 * 5 * 4),
        ((1, 4), depthwise((3, 7), (1, 3), (1, 3)), 4 * 4),
    ],
)
def test_numbers(
    make_network: MakeNetwork,
    shape: Pair,
    write: Callable[[Builder, Tensor], Tensor],
    left: int,
) -> None:
    """Along each axis that all windows see, there is a product for each element, and no border."""
    module = make_network([(CHANNELS, *shape)], write)
    assert products(module, SumOverImages()) == left
    assert products(module, PackChannels()) == left


def test_nothing_is_padded(make_network: MakeNetwork) -> None:
    """Nor is a border left where both axes are summed over the image."""
    module = make_network([(CHANNELS, 5, 4)], depthwise((9, 7), (4, 3), (4, 3)))
    after(module, SumOverImages())
    assert not any(isinstance(op, tensor.PadOp) for op in network_of(module).body.block.ops)


@pytest.mark.parametrize(
    ("shape", "write"),
    [
        ((5, 4), depthwise((8, 6), (4, 3), (4, 3))),  # the first and the last see less
        ((5, 4), depthwise((5, 4), (0, 0), (0, 0))),  # no larger than the image
        ((5, 4), depthwise((9, 7), (4, 3), (4, 3), border=2.0)),
        ((5, 9), depthwise((5, 3), (8, 1), (8, 1), dilation=4)),
    ],
)
def test_stays(
    make_network: MakeNetwork, shape: Pair, write: Callable[[Builder, Tensor], Tensor]
) -> None:
    """Windows that see less than the whole image, or no border."""
    module = make_network([(CHANNELS, *shape)], write)
    before = products(module)
    assert products(module, SumOverImages()) == before


def test_channels_that_are_summed_stay(make_network: MakeNetwork) -> None:
    """Each element would have another matrix."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, [0, 1, 1], [0, 1, 1])
        w = whole_numbers(b, 6, 20, 3, 3)
        o, p, q, i, k, m = b.loops("o p:2 q:2 i k m")
        return b.sum((o, p, q), (i, k, m), x[i, p + k, q + m] * w[o, i, k, m])

    module = make_network([(CHANNELS, 2, 2)], write)
    before = products(module)
    assert products(module, SumOverImages()) == before


def test_weights_of_the_run_stay(make_network: MakeNetwork) -> None:
    """Their values would be read in an order that nobody packed them in."""

    def write(b: Builder, x: Tensor, w: Tensor) -> Tensor:
        x = b.pad(x, [0, 4, 3], [0, 4, 3])
        c, p, q, k, m = b.loops("c p:5 q:4 k m")
        return b.sum((c, p, q), (k, m), x[c, p + k, q + m] * w[c, k, m])

    module = make_network([(CHANNELS, 5, 4), (CHANNELS, 9, 7)], write)
    before = products(module)
    assert products(module, SumOverImages()) == before


def test_attributes_stay(make_network: MakeNetwork) -> None:
    """What they say holds of the loops that are there."""
    module = marked(make_network([(CHANNELS, 5, 4)], depthwise((9, 7), (4, 3), (4, 3))))
    before = products(module)
    assert products(module, SumOverImages()) == before


LAYERS = [
    ((20, 7, 7), "1=13 4=6"),
    ((33, 6, 5), "1=13 4=6 3=2"),
    ((16, 2, 2), "1=3 4=1"),
    ((20, 4, 30), "1=9 4=4"),
]


@pytest.mark.parametrize(("layer", "target"), crossed(LAYERS, NAMES))
def test_compiled(tmp_path: Path, layer: tuple[tuple[int, ...], str], target: str) -> None:
    """Compiled, a layer has the numbers of -O0, and the same bits by any number of threads."""
    shape, params = layer
    channels, height, width = shape
    kernel = int(params.split()[0].partition("=")[2])
    param = tmp_path / "net.param"
    param.write_text(
        f"7767517\n2 2\nInput data 0 1 data 0={width} 1={height} 2={channels}\n"
        f"ConvolutionDepthWise y 1 1 data y 0={channels} {params} 5=1 6={channels * kernel**2}"
        f" 7={channels} 9=1\n"
    )
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    plain = ncc.compile(param, random_weights=3, target=target, opt_level=0)(x)
    one, two = (
        ncc.compile(param, random_weights=3, target=target, num_threads=threads)(x)
        for threads in (1, 2)
    )
    np.testing.assert_allclose(one, plain, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(one, two)
