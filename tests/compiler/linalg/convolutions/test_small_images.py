"""Small images are convolved directly where the run tells how large an image is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

import ncc
from ncc.compiler.linalg.analysis.attributes import SEPARABLE
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, assuming, hint
from tests.compiler.linalg.convolutions.layers import block, convolution
from tests.compiler.linalg.operations import relu
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

MakeNetwork = Callable[..., ModuleOp]
Write = Callable[[Builder, Tensor], Tensor]

HEIGHT, WIDTH = Size.symbol("h", 224), Size.symbol("w", 256)
SIZES = ((1, 9), (9, 1), (3, 3), (7, 6), (15, 13), (17, 21))

OWN_TILES = replace(
    AVX512,
    costs=AVX512.costs._replace(
        winograd=AVX512.costs.winograd._replace(many_open_weights=0, own_worth=1.0)
    ),
)
"""Each convolution has tiles of their own for images between small and large ones."""


def activated(b: Builder, x: Tensor) -> Tensor:
    return relu(b, convolution(b, x, 16))


def pooled(b: Builder, x: Tensor) -> Tensor:
    x = activated(b, x)
    c, p, q, k, m = b.loops("c p q k:2 m:2", p=x.shape[1] // 2, q=x.shape[2] // 2)
    return b.max((c, p, q), (k, m), x[c, p * 2 + k, q * 2 + m])


def generics(module: ModuleOp) -> list[LinalgOp]:
    return [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]


def direct(module: ModuleOp) -> list[LinalgOp]:
    """The convolutions without tiles."""
    return [one for one in generics(module) if len(one.reduced) == 3 and not SEPARABLE.of(one.op)]


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((16, HEIGHT, WIDTH), SIZES),
        ((16, HEIGHT // 2 + 1, WIDTH // 2 + 1), ((3, 9),)),
        ((16, 2, WIDTH), ((2, 1), (2, 30))),
        ((16, HEIGHT, 20), ((1, 20), (5, 20))),
    ],
)
@pytest.mark.parametrize("write", [activated, block])
@pytest.mark.parametrize("target", [AVX512, OWN_TILES], ids=["two", "three"])
def test_numbers(
    make_network: MakeNetwork,
    shape: tuple[int, ...],
    sizes: Sequence[tuple[int, int]],
    write: Write,
    target: Target,
) -> None:
    """They are the same for images of any size, and nothing is assumed of it."""
    with assuming() as assumed:
        whole, module = (make_network([shape], write) for _ in range(2))
        before = dict(assumed)
        ChooseConvolution(target).apply(Context(), module)
    assert assumed == before
    assert len(direct(module)) == len(direct(whole))
    rng = np.random.default_rng(1)
    for height, width in sizes:
        at = {"h": height, "w": width}
        given = [with_extents(one, at) for one in (whole, module)]
        extents = shape_of(network_of(given[0]).body.block.args[0])
        x = [rng.standard_normal(extents).astype(np.float32)]
        one, other = (evaluate(network_of(it), x, dtype=np.float64) for it in given)
        np.testing.assert_allclose(other[0], one[0], rtol=0, atol=1e-5)


def test_which_are_small(make_network: MakeNetwork) -> None:
    """Those of one row or column, and of few elements: they have all rows, and others none."""
    with assuming():
        module = make_network([(64, HEIGHT, WIDTH)], lambda b, x: convolution(b, x, 64))
        ChooseConvolution(AVX512).apply(Context(), module)
    for height, width in ((1, 1), (1, 900), (900, 1), (4, 4), (2, 8)):
        (one,) = direct(with_extents(module, {"h": height, "w": width}))
        assert one.extents[1:3] == (height, width)
    for height, width in ((2, 200), (9, 9), (224, 256)):
        (one,) = direct(with_extents(module, {"h": height, "w": width}))
        assert one.extents[1:3] == (0, width)


def test_images_between_have_tiles_of_their_own(make_network: MakeNetwork) -> None:
    """Smaller ones, which read fewer weights. All parts read one pad, so that nothing copies it."""
    with assuming():
        module = make_network([(128, HEIGHT, WIDTH)], lambda b, x: convolution(b, x, 128))
        ChooseConvolution(AVX512).apply(Context(), module)
    ops = list(network_of(module).body.block.ops)
    assert len([op for op in ops if isinstance(op, tensor.PadOp)]) == 1
    for height, width, found in ((4, 4, 0), (10, 10, 1), (13, 14, 1), (20, 20, 2), (2, 900, 2)):
        given = with_extents(module, {"h": height, "w": width})
        (after,) = (op for op in network_of(given).body.block.ops if op.name == "tensor.concat")
        rows = [shape_of(part)[1] for part in after.operands]
        assert rows == [height * (n == found) for n in range(3)]
    forms = [SEPARABLE.of(op) for op in ops if isinstance(op, GenericOp)]
    assert {len(matrices[0]) for matrices in forms if matrices} == {2, 4, 6}


@pytest.mark.parametrize(("channels", "most"), [(256, 5), (512, 3)])
def test_a_few_elements_of_many_channels_are_direct(
    make_network: MakeNetwork, channels: int, most: int
) -> None:
    """They wait for their weights in either way, so that register tiles may be half empty."""
    with assuming():
        module = make_network([(channels, HEIGHT, WIDTH)], lambda b, x: convolution(b, x, channels))
        ChooseConvolution(AVX512).apply(Context(), module)
    for side in (1, 2, 3, 5, 6, 9):
        (one,) = direct(with_extents(module, {"h": side, "w": side}))
        assert one.extents[1:3] == (side * (side <= most), side)


def test_few_weights_have_no_tiles_of_their_own(make_network: MakeNetwork) -> None:
    """They cost more time of the compiler than they save, and do so at strides."""
    for channels, stride in ((64, 1), (128, 2)):
        with assuming():
            module = make_network(
                [(channels, HEIGHT, WIDTH)],
                lambda b, x, n=channels, s=stride: convolution(b, x, n, stride=s),
            )
            ChooseConvolution(AVX512).apply(Context(), module)
        (after,) = (op for op in network_of(module).body.block.ops if op.name == "tensor.concat")
        assert len(after.operands) == 2


def test_decisions_are_taken_for_the_image_of_the_hint(make_network: MakeNetwork) -> None:
    """All of its rows are in tiles, also of a small one. One row counts for images that are
    convolved directly, and the largest one with tiles of its own for such images.
    """
    for rows in (224, 4, 1):
        height, width = Size.symbol("h", rows), Size.symbol("w", rows)
        with assuming():
            module = make_network([(256, height, width)], lambda b, x: convolution(b, x, 256))
            ChooseConvolution(AVX512).apply(Context(), module)
        (after,) = (op for op in network_of(module).body.block.ops if op.name == "tensor.concat")
        small, own, others = (shape_of(part)[1] for part in after.operands)
        assert (hint(small), hint(own), hint(others)) == (1, min(rows, 14), rows)


@pytest.mark.parametrize("limits", [(1, 8), (1, 10), (9, 14)])
def test_there_is_no_part_for_images_that_do_not_exist(
    make_network: MakeNetwork, limits: tuple[int, int]
) -> None:
    """Where all images within the limits are small, or between small and large ones."""
    height, width = (Size.symbol(name, limits[1], *limits) for name in "hw")

    def write(b: Builder, x: Tensor) -> Tensor:
        return relu(b, convolution(b, x, 128))

    with assuming():
        whole, module = (make_network([(128, height, width)], write) for _ in range(2))
        ChooseConvolution(AVX512).apply(Context(), module)
    one, other = (with_extents(it, dict.fromkeys("hw", limits[0])) for it in (whole, module))
    x = [np.random.default_rng(1).standard_normal((128, *limits[:1] * 2)).astype(np.float32)]
    wanted, found = (evaluate(network_of(it), x, dtype=np.float64) for it in (one, other))
    np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-4)


def test_a_residual_is_added_on_the_tiles(make_network: MakeNetwork) -> None:
    """No operation follows the concats of both parts."""
    with assuming():
        module = make_network([(64, HEIGHT, WIDTH)], lambda b, x: block(b, relu(b, x)))
        ChooseConvolution(AVX512).apply(Context(), module)
    (after,) = (op for op in network_of(module).body.block.ops if op.name == "func.return")
    assert after.operands[0].owner.name == "tensor.concat"


@pytest.mark.parametrize(
    ("shape", "write"),
    [
        ((32, 14, 16), activated),
        ((32, Size.symbol("h", 224, 32), Size.symbol("w", 256, 32)), activated),
        ((32, HEIGHT, WIDTH), pooled),
    ],
)
def test_others_have_no_small_images(
    make_network: MakeNetwork, shape: tuple[int, ...], write: Write
) -> None:
    """Those of known extents, and of large ones; where a pool reads strips."""
    with assuming():
        module = make_network([shape], write)
        ChooseConvolution(AVX512).apply(Context(), module)
    assert not [op for op in network_of(module).body.block.ops if op.name == "tensor.concat"]


SHORT = """7767517
4 4
Input data 0 1 data
Pooling less 1 1 data less 0=1 1=8 2=8 5=1
Convolution one 1 1 less one 0=32 1=3 4=1 5=1 6=4608 9=1
Convolution two 1 1 one two 0=32 1=3 4=1 5=1 6=9216
"""


@pytest.mark.slow
def test_compiled_images_of_any_size(tmp_path: Path) -> None:
    """One version is for all, and the memory of a part without rows is no other part's."""
    param = tmp_path / "net.param"
    param.write_text(SHORT)
    shapes = {"data": (16, None, None)}
    model, exact = (
        ncc.compile(param, random_weights=1, input_shapes=shapes, opt_level=level, num_threads=2)
        for level in (2, 0)
    )
    rng = np.random.default_rng(3)
    for height, width in ((112, 96), (8, 96), (96, 8), (16, 8), (8, 8), (40, 72), (8, 200)):
        x = rng.standard_normal((16, height, width)).astype(np.float32)
        expected = exact(x)
        np.testing.assert_allclose(model(x), expected, rtol=0, atol=2e-5 * np.abs(expected).max())
    assert "for all shapes: 1" in repr(model)
