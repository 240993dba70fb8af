"""Windows beyond the image: the same numbers by fewer products, and what stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir.affine import AffineExpr

import ncc
from ncc.compiler.cost_model import Convolutions, CostModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.convolutions.trim_windows import TrimWindows
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.size import Size, assuming
from ncc.dialects.structured import pad_sides
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.compiled import compiled
from tests.compiler.linalg.operations import ELSEWHERE, add_from_elsewhere, relu, whole_numbers
from tests.compiler.linalg.same_numbers import after, marked
from tests.crossed import some
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

MakeNetwork = Callable[..., ModuleOp]
Sides = tuple[int, int, int, int]
"""Cells of padding above, below, on the left and on the right."""


def convolution(
    window: tuple[int, int], dilation: int, stride: int, sides: Sides, border: float = 0.0
) -> Callable[[Builder, Tensor], Tensor]:
    """A convolution of a padded image with bias and activation, and its channels in reverse."""
    top, bottom, left, right = sides

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, [0, top, left], [0, bottom, right], border)
        height, width = (
            (n - dilation * (k - 1) - 1) // stride + 1
            for n, k in zip(x.shape[1:], window, strict=True)
        )
        w = b.weight(WeightAttr(Weights((32, x.shape[0], *window), Random(7, 0, 0.2))))
        bias = b.weight(WeightAttr(Weights((32,), Random(7, 1, 1.0))))
        start = b.spread(bias, (32, height, width), axis=0)
        o, p, q, i, k, m = b.loops("o p q i k m", p=height, q=width)
        term = x[i, p * stride + k * dilation, q * stride + m * dilation] * w[o, i, k, m]
        y = b.sum((o, p, q), (i, k, m), term, start)
        at = b.loops_of(y.shape)
        return b.map(at, maximum(y[at], 0.0))

    return write


def sums(module: ModuleOp) -> list[LinalgOp]:
    """The convolutions of a network."""
    views = [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    return [linalg_op for linalg_op in views if linalg_op.reduced]


def concats(module: ModuleOp) -> list[tensor.ConcatOp]:
    """Where parts are joined."""
    return [op for op in network_of(module).body.block.ops if isinstance(op, tensor.ConcatOp)]


@pytest.mark.parametrize(
    ("shape", "window", "dilation", "stride", "sides", "parts", "left"),
    [
        ((17, 17), (3, 3), 12, 1, (12, 12, 12, 12), 9, 27 * 27),
        ((17, 20), (3, 3), 24, 1, (24, 24, 24, 24), 1, 17 * 20),
        ((9, 13), (5, 1), 4, 1, (8, 8, 0, 0), 5, 21 * 13),
        ((32, 34), (3, 3), 21, 2, (21, 21, 21, 21), 9, 27 * 30),
        ((18, 15), (2, 3), 10, 1, (0, 10, 0, 20), 4, 26 * 20),
        ((1, 1), (3, 3), 1, 1, (1, 1, 1, 1), 1, 1),
        ((2, 2), (3, 3), 1, 2, (1, 0, 1, 0), 1, 4),
        ((17, 17), (3, 3), 12, 1, (40, 12, 12, 12), 12, 39 * 27),
        ((14, 13), (1, 1), 1, 1, (1, 1, 1, 1), 1, 14 * 13),
        ((5, 6), (1, 1), 1, 2, (2, 0, 0, 3), 1, 3 * 3),
        ((8, 8), (2, 2), 12, 1, (6, 6, 6, 6), 4, 4 * 4),
        ((3, 4), (2, 2), 12, 1, (6, 6, 6, 6), 0, 0),
        ((17, 4), (3, 2), 12, 1, (12, 12, 6, 6), 0, 0),
    ],
)
def test_numbers(
    make_network: MakeNetwork,
    shape: tuple[int, int],
    window: tuple[int, int],
    dilation: int,
    stride: int,
    sides: Sides,
    parts: int,
    left: int,
) -> None:
    """Products of what windows see are left, and nothing is padded; in blocks, too."""
    module = make_network([(3, *shape)], convolution(window, dilation, stride, sides))
    x = [np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    TrimWindows().apply(Context(), module)
    module.verify()
    assert len(sums(module)) == parts
    assert sum(prod(linalg_op.extents) for linalg_op in sums(module)) == 3 * 32 * left
    assert not any(isinstance(op, tensor.PadOp) for op in network_of(module).body.block.ops)
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
    PackChannels().apply(Context(), module)
    (packed,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(packed, before, rtol=0, atol=1e-12)


def test_cells_are_not_gone_through_one_by_one(make_network: MakeNetwork) -> None:
    """A border may be as wide as a number of the file, and is known by its ends."""
    module = make_network([(3, 8, 8)], convolution((3, 3), 1, 1, (1, 1, 1, 2**31 - 1)))
    TrimWindows().apply(Context(), module)
    module.verify()
    assert [linalg_op.extents[1:3] for linalg_op in sums(module)] == [(8, 9)]


WINDOWS: dict[str, Callable[..., tuple[tuple[int, ...], tuple[AffineExpr, ...]]]] = {
    "taps of rows and columns together": lambda o, p, q, i, k, m: (
        (4, 4, 3, 3),
        (i, p + 6 * k + 6 * m, q),
    ),
    "a diagonal": lambda o, p, q, i, k, m: ((4, 4, 3), (i, p + 12 * k, q + 12 * k)),
    "further down in each channel": lambda o, p, q, i, k, m: (
        (4, 4, 3, 3),
        (i, p + 12 * k + o, q + 12 * m),
    ),
    "of channels with a border": lambda o, p, q, i, k, m: (
        (4, 6, 3, 3),
        (i, p + 12 * k, q + 12 * m),
    ),
}
"""Windows of other kinds: the shapes of their weights, and what they see."""


@pytest.mark.parametrize("window", WINDOWS)
def test_other_windows_stay(make_network: MakeNetwork, window: str) -> None:
    """Where taps of an axis are no axis of the weights by themselves, or channels have a border."""
    framed, beside = "border" in window, 0 if "together" in window else 12

    def write(b: Builder, x: Tensor) -> Tensor:
        loops = b.loops("o:4 p:17 q:17 i:6 k:3 m:3" if framed else "o:4 p:17 q:17 i:4 k:3 m:3")
        shape, seen = WINDOWS[window](*loops)
        w = b.weight(WeightAttr(Weights(shape, Random(7, 0, 0.2))))
        x = b.pad(x, [framed, 12, beside], [framed, 16, beside])
        o, p, q, *taps = loops
        taps = taps[: len(shape) - 1]
        return b.sum((o, p, q), taps, x[seen] * w[(o, *taps)])

    module = make_network([(4, 17, 17)], write)
    before = str(module)
    TrimWindows(CostModel(convolutions=Convolutions(fewest_trimmed_elements=1))).apply(
        Context(), module
    )
    assert str(module) == before


@pytest.mark.parametrize("how", ELSEWHERE)
def test_what_is_read_elsewhere(make_network: MakeNetwork, how: str) -> None:
    """What follows a convolution is computed with its parts where all that it reads has such."""
    write = convolution((3, 3), 16, 1, (16, 16, 16, 16))
    shapes = [(3, 24, 24), ELSEWHERE[how]]
    module = make_network(shapes, lambda b, x, y: add_from_elsewhere(b, write(b, x), y, how))
    rng = np.random.default_rng(1)
    x = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    TrimWindows().apply(Context(), module)
    module.verify()
    assert len(sums(module)) == 9
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "window", "dilation", "sides", "border"),
    [
        ((17, 17), (3, 3), 12, (12, 12, 12, 12), 0.5),
        ((28, 28), (3, 3), 2, (2, 2, 2, 2), 0.0),
        ((5, 5), (5, 5), 1, (2, 2, 2, 2), 0.0),
        ((9, 9), (1, 1), 1, (1, 1, 1, 1), 0.5),
    ],
    ids=["border", "few", "small", "blind border"],
)
def test_what_stays(
    make_network: MakeNetwork,
    shape: tuple[int, int],
    window: tuple[int, int],
    dilation: int,
    sides: Sides,
    border: float,
) -> None:
    """Borders that are no zeros, few products to save, parts of few elements."""
    module = make_network([(3, *shape)], convolution(window, dilation, 1, sides, border))
    text = str(module)
    TrimWindows().apply(Context(), module)
    assert str(module) == text


def plain(b: Builder, x: Tensor) -> Tensor:
    """A convolution alone, of windows that see less than they have taps."""
    x, w = b.pad(x, [0, 12, 12], [0, 12, 12]), whole_numbers(b, 4, 3, 3, 3)
    o, p, q, i, k, m = b.loops("o p:17 q:17 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, p + 12 * k, q + 12 * m] * w[o, i, k, m])


def unpadded(b: Builder, x: Tensor) -> Tensor:
    w, (o, p, q, i, k, m) = whole_numbers(b, 4, 3, 3, 3), b.loops("o:4 p:9 q:9 i:3 k:3 m:3")
    return b.sum((o, p, q), (i, k, m), x[i, p + 4 * k, q + 4 * m] * w[o, i, k, m])


def weights_of_a_run(b: Builder, x: Tensor) -> Tensor:
    w, x = relu(b, whole_numbers(b, 4, 3, 3, 3)), b.pad(x, [0, 12, 12], [0, 12, 12])
    o, p, q, i, k, m = b.loops("o p:17 q:17 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, p + 12 * k, q + 12 * m] * w[o, i, k, m])


def largest(b: Builder, x: Tensor) -> Tensor:
    x, (c, p, q, k) = b.pad(x, [0, 12, 0], [0, 12, 0]), b.loops("c:3 p:17 q:17 k:3")
    return b.max((c, p, q), (k,), x[c, p + 12 * k, q])


def one_weight_for_all_taps(b: Builder, x: Tensor) -> Tensor:
    x, w = b.pad(x, [0, 12, 12], [0, 12, 12]), whole_numbers(b, 4, 3)
    o, p, q, i, k, m = b.loops("o p:17 q:17 i k:3 m:3")
    return b.sum((o, p, q), (i, k, m), x[i, p + 12 * k, q + 12 * m] * w[o, i])


def one_row(b: Builder, x: Tensor) -> Tensor:
    """All results read the same elements."""
    i, k = b.loops("i:3 k:17")
    x, w = b.pad(b.map((i, k), x[i, 0, k]), [0, 1], [0, 1]), whole_numbers(b, 4, 3, 19)
    o, p, q, i, k = b.loops("o p:17 q:17 i k")
    return b.sum((o, p, q), (i, k), x[i, k] * w[o, i, k])


def slice_by_slice(b: Builder, x: Tensor) -> Tensor:
    """A volume without taps along its depth."""
    x = b.pad(b.reshape(x, (3, 1, 17, 17)), [0, 0, 12, 12], [0, 0, 12, 12])
    w = whole_numbers(b, 4, 3, 3, 3)
    o, z, p, q, i, k, m = b.loops("o z p:17 q:17 i k m")
    term = x[i, z, p + 12 * k, q + 12 * m] * w[o, i, k, m]
    return b.sum((o, z, p, q), (i, k, m), term)


def sequence(b: Builder, x: Tensor) -> Tensor:
    x = b.pad(b.collapse(x, [[0], [1, 2]]), [0, 240], [0, 240])
    w, (o, p, i, k) = whole_numbers(b, 4, 3, 3), b.loops("o:4 p:289 i:3 k:3")
    return b.sum((o, p), (i, k), x[i, p + 240 * k] * w[o, i, k])


def blind(b: Builder, x: Tensor) -> Tensor:
    """Windows that all look past the image: what sums start from is a number."""
    x, w = b.pad(b.cut(x, 1, 0, 3), [0, 6, 0], [0, 6, 0]), whole_numbers(b, 4, 3, 2)
    o, p, q, i, k = b.loops("o p:3 q:17 i k")
    return b.sum((o, p, q), (i, k), x[i, p + 12 * k, q] * w[o, i, k])


def from_numbers(b: Builder, x: Tensor) -> Tensor:
    x, w = b.pad(b.cut(x, 1, 0, 3), [0, 6, 0], [0, 6, 0]), whole_numbers(b, 4, 3, 2)
    start = b.spread(whole_numbers(b, 4), (4, 3, 17), axis=0)
    o, p, q, i, k = b.loops("o p:3 q:17 i k")
    return b.sum((o, p, q), (i, k), x[i, p + 12 * k, q] * w[o, i, k], start)


@pytest.mark.parametrize(
    ("write", "parts"),
    [
        (plain, 9),
        (slice_by_slice, 9),
        (unpadded, None),
        (weights_of_a_run, None),
        (largest, None),
        (one_weight_for_all_taps, None),
        (one_row, None),
        (sequence, None),
        (blind, None),
        (lambda b, x: relu(b, blind(b, x)), 0),
        (from_numbers, 0),
    ],
)
def test_which(
    make_network: MakeNetwork, write: Callable[[Builder, Tensor], Tensor], parts: int | None
) -> None:
    """Convolutions of padded images that are values in memory; others stay as they are."""
    module = make_network([(3, 17, 17)], write)
    before = str(module)
    after(module, TrimWindows())
    assert str(module) == before if parts is None else len(sums(module)) == parts


def test_what_says_more_of_itself_stays(make_network: MakeNetwork) -> None:
    """Attributes of an operation hold of it alone."""
    module = marked(make_network([(3, 17, 17)], plain))
    assert len(after(module, TrimWindows())) == 1


@pytest.mark.parametrize(("side", "halo"), [(10, (4, 9)), (9, (9, 4))])
def test_taps_that_are_seen_together_and_alone(
    make_network: MakeNetwork, side: int, halo: tuple[int, int]
) -> None:
    """At stride 2 nothing lies between the elements of two taps, and a blind one between these and
    those of the third. So the border is as wide as the former ask for.
    """
    sides = (side, 10, side, 10)
    module = make_network([(3, 4, 4)], convolution((3, 3), 5, 2, sides))
    x = [np.random.default_rng(1).standard_normal((3, 4, 4)).astype(np.float32)]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    TrimWindows().apply(Context(), module)
    module.verify()
    (pad,) = (op for op in network_of(module).body.block.ops if isinstance(op, tensor.PadOp))
    assert pad_sides(pad) == ([0, *halo[:1] * 2], [0, *halo[1:] * 2])
    assert len(sums(module)) == 4
    (found,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(found, before, rtol=0, atol=1e-12)


def test_border_of_what_sees(make_network: MakeNetwork) -> None:
    """If parts would be small, elements that see something keep the border that they see."""
    module = make_network([(3, 10, 12)], convolution((3, 3), 1, 1, (4, 3, 2, 5)))
    x = [np.random.default_rng(1).standard_normal((3, 10, 12)).astype(np.float32)]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    TrimWindows().apply(Context(), module)
    module.verify()
    (pad,) = (op for op in network_of(module).body.block.ops if isinstance(op, tensor.PadOp))
    assert pad_sides(pad) == ([0, 2, 2], [0, 2, 2])
    (one,) = sums(module)
    assert prod(one.extents) == 3 * 32 * (12 * 14) * 9
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "taps", "parts", "left"),
    [
        ((1, 4, 5), 3, 1, 4 * 5 * 9),
        ((2, 4, 5), 3, 2, 2 * 2 * 4 * 5 * 9),
        ((1, 4, 1), 3, 1, 4 * 3),
        ((1, 3, 4), 1, 1, 3 * 4 * 9),
    ],
    ids=["slice", "slices", "column", "flat"],
)
def test_slices(
    make_network: MakeNetwork, shape: tuple[int, int, int], taps: int, parts: int, left: int
) -> None:
    """Few slices are cut alone, and rows and columns keep their border; those that all elements see
    alike are trimmed whatever becomes of the others. Taps that are one have no loop.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        sides = [0, taps // 2, 1, 1]
        x = b.pad(x, sides, sides)
        depth, height, width = shape
        over = "" if taps == 1 else f"d:{taps}"
        size = (32, 3, *[taps] * len(over[:1]), 3, 3)
        w = b.weight(WeightAttr(Weights(size, Random(7, 0, 0.2))))
        o, z, p, q, i, *d, k, m = b.loops(f"o z:{depth} p:{height} q:{width} i {over} k m")
        data = x[i, z + d[0] if d else z, p + k, q + m]
        y = b.sum((o, z, p, q), (i, *d, k, m), data * w[(o, i, *d, k, m)])
        at = b.loops_of(y.shape)
        return b.map(at, maximum(y[at], 0.0))

    module = make_network([(3, *shape)], write)
    x = [np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    TrimWindows().apply(Context(), module)
    module.verify()
    assert len(sums(module)) == parts
    assert sum(prod(linalg_op.extents) for linalg_op in sums(module)) == 3 * 32 * left
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("window", "dilation", "stride", "sides", "joined"),
    [
        ((1, 1), 1, 1, (1, 1, 1, 1), 2),
        ((1, 5), 1, 1, (2, 2, 2, 2), 1),
        ((3, 3), 2, 1, (5, 5, 4, 6), 2),
        ((3, 3), 1, 2, (4, 1, 1, 1), 1),
        ((1, 1), 1, 2, (1, 1, 1, 1), 0),
        ((2, 2), 1, 3, (2, 2, 2, 2), 0),
    ],
    ids=["border", "row", "dilated", "above", "remainder", "remainders"],
)
def test_open_images(
    make_network: MakeNetwork,
    window: tuple[int, int],
    dilation: int,
    stride: int,
    sides: Sides,
    joined: int,
) -> None:
    """One code is right for all images, those of one row or column, too. At a stride, the last
    window sees nothing of some images, and windows stay whole.
    """
    with assuming() as assumed:
        shape = (3, Size.symbol("h", 224), Size.symbol("w", 256))
        module = make_network([shape], convolution(window, dilation, stride, sides))
        whole = module.clone()
        TrimWindows().apply(Context(), module)
        module.verify()
    assert not assumed and len(sums(module)) == 1
    assert len(concats(module)) == joined
    for h, w in ((1, 1), (1, 9), (2, 1), (7, 3), (8, 12)):
        x = [np.random.default_rng(1).standard_normal((3, h, w)).astype(np.float32)]
        before, after = (
            evaluate(network_of(with_extents(one, {"h": h, "w": w})), x, dtype=np.float64)[0]
            for one in (whole, module)
        )
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


NETWORK = """7767517
4 5
Input data 0 1 data 0=17 1=16 2=24
Convolution near 1 1 data a 0=40 1=3 2=9 4=9 5=1 6=8640 9=1
Convolution far 1 1 data b 0=20 1=3 2=18 4=18 5=1 6=4320
Concat concat 2 1 a b c
"""
SLICES = """7767517
4 4
Input data 0 1 data
Convolution3D one 1 1 data a 0=16 1=3 4=1 5=1 6=10368
ReLU two 1 1 a b
Convolution3D three 1 1 b c 0=24 1=3 4=1 5=1 6=10368
"""


BLIND = """7767517
6 6
Input data 0 1 data 0=9 1=7 2=24
Convolution one 1 1 data a 0=40 1=1 4=2 5=1 6=960 9=6 -23310=2,0.1,0.6
Convolution bare 1 1 data b 0=40 1=1 3=2 4=4 14=5 15=8 16=6 6=960
Convolution far 1 1 data c 0=40 1=3 4=3 5=1 6=8640 9=1
ConvolutionDepthWise each 1 1 data d 0=24 1=1 4=2 5=1 6=24 7=24
Convolution none 1 1 data e 0=8 1=2 2=20 4=15 6=768 5=1
"""


@pytest.mark.parametrize("target", some(["avx512", "avx2", "baseline"], usual=1))
def test_compiled(tmp_path: Path, target: str) -> None:
    """The numbers of windows that are whole; NaN goes as far as it did."""
    param = tmp_path / "net.param"
    param.write_text(NETWORK)
    x = np.random.default_rng(3).standard_normal((24, 16, 17)).astype(np.float32)
    x[3, 2, 11] = np.nan
    whole, trimmed = compiled(param, x, target)
    assert 0 < np.isnan(whole).sum() < whole.size // 10
    np.testing.assert_allclose(trimmed, whole, rtol=0, atol=2e-5 * np.nanmax(np.abs(whole)))


@pytest.mark.parametrize("target", some(["avx2", "avx512", "baseline"], usual=1))
def test_compiled_blind(tmp_path: Path, target: str) -> None:
    """Elements that see nothing have the initial value of their channel, with any followers."""
    param = tmp_path / "net.param"
    param.write_text(BLIND)
    x = np.random.default_rng(3).standard_normal((24, 7, 9)).astype(np.float32)
    models = [
        ncc.compile(param, random_weights=1, target=target, num_threads=threads, opt_level=level)
        for threads, level in ((1, 1), (1, 3), (2, 3))
    ]
    whole, one, two = (model.run({"data": x}) for model in models)
    assert whole.keys() == set("abcde")
    for name, expected in whole.items():
        np.testing.assert_array_equal(one[name], two[name])
        atol = 2e-5 * np.abs(expected).max()
        np.testing.assert_allclose(one[name], expected, rtol=0, atol=atol, err_msg=name)


NOTHING_SEEN = """7767517
3 3
Input data 0 1 data 0=1 1=1 2=8
Convolution far 1 1 data far 0=16 1=2 2=2 4=1 6=512
Convolution next 1 1 far next 0=8 1=1 5=1 6=128
"""
"""Two taps, two elements apart, on both sides of the only element."""


def test_compiled_where_nothing_is_seen(tmp_path: Path) -> None:
    """Zeros of a convolution that sees nothing are a computed tensor, which sums can read."""
    param = tmp_path / "net.param"
    param.write_text(NOTHING_SEEN)
    x = np.full((8, 1, 1), 2.0, np.float32)
    plain, found = (ncc.compile(param, random_weights=1, opt_level=level)(x) for level in (1, 2))
    assert np.abs(plain).max() > 0
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("depth", some([2, 5], usual=1))
@pytest.mark.parametrize("target", some(["avx512", "avx2", "baseline"], usual=1))
@pytest.mark.slow
def test_compiled_slices(tmp_path: Path, target: str, depth: int) -> None:
    """The numbers of volumes, of slices that are cut and of others, in tiles."""
    param = tmp_path / "net.param"
    param.write_text(SLICES)
    x = np.random.default_rng(3).standard_normal((24, depth, 16, 17)).astype(np.float32)
    whole, trimmed = compiled(param, x, target)
    np.testing.assert_allclose(trimmed, whole, rtol=0, atol=2e-5 * np.abs(whole).max())
