"""Convolutions of inputs without a padded copy: the same numbers, and what is still padded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.cost_model import Convolutions, CostModel
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.convolutions.peel_borders import PeelBorders
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg import operations
from tests.compiler.linalg.operations import ELSEWHERE, add_from_elsewhere, every_other, ones
from tests.crossed import crossed
from tests.structured.evaluate import evaluate

Array = NDArray[np.float32]
MakeNetwork = Callable[..., ModuleOp]
Sides = tuple[int, int, int, int]
"""Cells of padding above, below, on the left and on the right."""

ANY_WORK = CostModel(convolutions=Convolutions(most_peeled_work=1 << 20))
SMALL = replace(AVX512, core=replace(AVX512.core, l1_bytes=0), costs=ANY_WORK)
"""A target for which no input is small, and peeling pays however much work it is."""


def convolve(
    b: Builder, x: Tensor, window: int, stride: int, outputs: int = 32, other: Tensor | None = None
) -> Tensor:
    """A convolution with bias and activation, and, where there is one, another image added."""
    height, width = ((n - window) // stride + 1 for n in x.shape[1:])
    w = b.weight(WeightAttr(Weights((outputs, x.shape[0], window, window), Random(7, 0, 0.2))))
    bias = b.weight(WeightAttr(Weights((outputs,), Random(7, 1, 1.0))))
    start = b.spread(bias, (outputs, height, width), axis=0)
    o, p, q, i, k, m = b.loops(f"o p:{height} q:{width} i k m")
    term = x[i, p * stride + k, q * stride + m] * w[o, i, k, m]
    y = b.sum((o, p, q), (i, k, m), term, start)
    at = b.loops_of(y.shape)
    y = b.map(at, maximum(y[at], 0.0))
    return y if other is None else b.map(at, y[at] + other[at])


def convolution(window: int, stride: int, sides: Sides, outputs: int = 32) -> Callable[..., Tensor]:
    """A convolution of a padded input."""
    top, bottom, left, right = sides

    def write(b: Builder, x: Tensor, other: Tensor | None = None) -> Tensor:
        padded = b.pad(x, [0, top, left], [0, bottom, right], 0.5)
        return convolve(b, padded, window, stride, outputs, other)

    return write


def pads(module: ModuleOp) -> list[tensor.PadOp]:
    return [op for op in network_of(module).body.block.ops if isinstance(op, tensor.PadOp)]


def check_peeled(module: ModuleOp, shapes: Sequence[Shape]) -> tuple[list[Array], Array]:
    """That borders are peeled, and numbers stay; inputs of these shapes, and the result."""
    rng = np.random.default_rng(1)
    x = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    PeelBorders(SMALL).apply(Context(), module)
    module.verify()
    assert any(isinstance(op, tensor.ConcatOp) for op in network_of(module).body.block.ops)
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
    return x, before


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("window", "sides"),
    [(3, (1, 1, 1, 1)), (3, (0, 1, 0, 1)), (5, (2, 0, 3, 1)), (7, (3, 3, 3, 3)), (2, (1, 1, 0, 0))],
)
def test_numbers(
    make_network: MakeNetwork,
    monkeypatch: pytest.MonkeyPatch,
    window: int,
    sides: Sides,
    stride: int,
) -> None:
    """Borders on any side, whole and in blocks; what follows is computed with each part."""
    size = (26 + sides[0] + sides[1], 23 + sides[2] + sides[3])
    shapes = [(3, 26, 23), (32, *((n - window) // stride + 1 for n in size))]
    module = make_network(shapes, convolution(window, stride, sides))
    x, before = check_peeled(module, shapes)
    PackChannels().apply(Context(), module)
    (packed,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(packed, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", ELSEWHERE)
def test_what_is_read_elsewhere(
    make_network: MakeNetwork, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """What follows a convolution is computed with its parts where all that it reads has such."""
    write = convolution(3, 1, (1, 1, 1, 1))
    shapes = [(3, 24, 24), ELSEWHERE[how]]
    module = make_network(shapes, lambda b, x, y: add_from_elsewhere(b, write(b, x), y, how))
    check_peeled(module, shapes)


def test_what_takes_every_other_cell(
    make_network: MakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the concat: it needs more elements of a part than it makes."""
    write = convolution(3, 1, (1, 1, 1, 1))
    module = make_network([(3, 24, 24)], lambda b, x: every_other(b, write(b, x)))
    check_peeled(module, [(3, 24, 24)])


def test_only_what_lies_beside_the_border_is_padded(make_network: MakeNetwork) -> None:
    """One row above and one column on the left: at stride 2 nothing reads the other sides."""
    module = make_network([(3, 64, 64)], convolution(3, 2, (1, 1, 1, 1), outputs=16))
    PeelBorders(SMALL).apply(Context(), module)
    sources = sorted(shape_of(pad.source) for pad in pads(module))
    assert sources == [(3, 2, 64), (3, 63, 2)]


def test_a_slice_of_an_input_is_read_where_it_lies(make_network: MakeNetwork) -> None:
    """Its rows would fit a cache, but come from as far away as the others."""
    write = convolution(3, 2, (1, 0, 1, 0))
    module = make_network([(3, 128, 64)], lambda b, x: write(b, b.cut(x, 1, 40, 49)))
    PeelBorders(AVX512).apply(Context(), module)
    sources = sorted(shape_of(pad.source) for pad in pads(module))
    assert sources == [(3, 2, 64), (3, 7, 2)]


def check_whole(module: ModuleOp) -> None:
    """That nothing is peeled."""
    text = str(module)
    PeelBorders(AVX512).apply(Context(), module)
    assert str(module) == text


def test_what_stays_whole(make_network: MakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that fit a cache, values that are computed, few channels, border, and much work."""

    def computed(b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return convolution(3, 1, (1, 1, 1, 1))(b, b.map(at, x[at] * 2.0))

    def twice(b: Builder, x: Tensor) -> Tensor:
        padded = b.pad(x, [0, 1, 1], [0, 1, 1])
        return b.concat([convolve(b, padded, 3, 1), convolve(b, padded, 3, 1)], 0)

    def framed(b: Builder, x: Tensor) -> Tensor:
        return convolve(b, b.pad(x, [1, 1, 1], [0, 1, 1]), 3, 1)

    def whole(write: Callable[[Builder, Tensor], Tensor], shape: Shape) -> None:
        check_whole(make_network([shape], write))

    whole(convolution(7, 1, (3, 3, 3, 3)), (3, 96, 96))
    assert 4 * prod((3, 64, 64)) == AVX512.core.l1_bytes
    whole(convolution(3, 1, (1, 1, 1, 1)), (3, 64, 64))
    for write in (computed, twice, framed):
        whole(write, (3, 96, 96))
    whole(convolution(3, 1, (1, 1, 1, 1), outputs=8), (3, 96, 96))
    whole(convolution(9, 1, (80, 80, 0, 0), outputs=16), (3, 96, 96))
    whole(convolution(65, 1, (64, 0, 0, 0), outputs=16), (3, 96, 96))
    whole(convolution(1, 1, (2, 0, 0, 0)), (3, 96, 96))
    whole(convolution(3, 3, (0, 0, 0, 5)), (3, 96, 96))
    whole(convolution(3, 3, (0, 0, 0, 2)), (3, 96, 96))


@pytest.mark.parametrize(("window", "peeled"), [(3, True), (5, False)])
def test_bf16x3_reads_copies(make_network: MakeNetwork, window: int, peeled: bool) -> None:
    """With their border, so that there is nothing to be peeled."""
    border = window // 2
    write = convolution(window, 2, (border, border, border, border))
    module = make_network([(3, 96, 96)], write)
    text = str(module)
    PeelBorders(SMALL, bf16x3=True).apply(Context(), module)
    assert (str(module) != text) == peeled


def unpadded(b: Builder, x: Tensor) -> Tensor:
    return convolve(b, x, 3, 1)


def depthwise(b: Builder, x: Tensor) -> Tensor:
    return operations.depthwise(b, b.pad(x, [0, 1, 1], [0, 1, 1]))


def largest(b: Builder, x: Tensor) -> Tensor:
    x = b.pad(x, [0, 1, 1], [0, 1, 1])
    c, p, q, k = b.loops(f"c p:{x.shape[1] - 1} q k:2")
    return b.max((c, p, q), (k,), x[c, p + k, q])


def one_window(b: Builder, x: Tensor) -> Tensor:
    """Sums that are the same for all elements."""
    x, w = b.pad(x, [0, 1, 1], [0, 1, 1]), b.weight(ones(16, *x.shape[:1], 98, 98))
    o, p, q, i, k, m = b.loops("o p:96 q:96 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, k, m] * w[o, i, k, m])


def sequence(b: Builder, x: Tensor) -> Tensor:
    x, w = b.pad(x, [0, 1], [0, 1]), b.weight(ones(16, 3, 3))
    o, p, i, k = b.loops(f"o p:{x.shape[1] - 2} i k")
    return b.sum((o, p), (i, k), x[i, p + k] * w[o, i, k])


def volume(b: Builder, x: Tensor) -> Tensor:
    x, w = b.pad(x, [0, 0, 1, 1], [0, 0, 1, 1]), ones(16, 3, 3, 3)
    o, z, p, q, i, k, m = b.loops("o z p:48 q:96 i k m")
    term = x[i, z, p + k, q + m] * b.weight(w)[o, i, k, m]
    return b.sum((o, z, p, q), (i, k, m), term)


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (unpadded, (3, 96, 96)),
        (largest, (3, 96, 96)),
        (one_window, (3, 96, 96)),
        (depthwise, (32, 96, 96)),
        (sequence, (3, 96 * 96)),
        (volume, (3, 2, 48, 96)),
    ],
)
def test_what_is_no_convolution_of_a_padded_image(
    make_network: MakeNetwork,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Builder, Tensor], Tensor],
    shape: Shape,
) -> None:
    """It stays as it is, whatever it costs."""
    check_whole(make_network([shape], write))


NETWORK = """7767517
3 3
Input data 0 1 data 0=80 1=80 2=3
Convolution first 1 1 data a 0=16 1=3 3={stride} 4=1 5=1 6=432 9=1
ConvolutionDepthWise second 1 1 a b 0=16 1=3 4=1 5=1 6=144 7=16 9=1
"""


@pytest.mark.parametrize(("stride", "threads"), crossed([1, 2], [1, 2]))
def test_compiled_results_are_equal_bit_by_bit(tmp_path: Path, stride: int, threads: int) -> None:
    """Borders that are computed apart change neither the sums nor their order."""
    param = tmp_path / "net.param"
    param.write_text(NETWORK.format(stride=stride))
    x = np.random.default_rng(2).standard_normal((3, 80, 80)).astype(np.float32)

    def compiled(target: Target) -> ncc.Model:
        options = Options(num_threads=threads, target=target, random_weights=1, tuned=False)
        return ncc.Model(artifact_of(Compilation(param, None, options)), threads)

    host = Target.of("host")
    peeled = compiled(host)
    whole = compiled(
        replace(
            host,
            costs=host.costs._replace(
                convolutions=host.costs.convolutions._replace(most_peeled_work=0)
            ),
        )
    )
    assert len(peeled.artifact.info["steps"]) > len(whole.artifact.info["steps"])
    np.testing.assert_array_equal(peeled(x), whole(x))
