"""Strided convolutions of few channels as those of phases: the same numbers, at a stride of 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.convolutions.space_to_depth import SpaceToDepth
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, assuming
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.same_numbers import after
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

MakeNetwork = Callable[..., ModuleOp]
Write = Callable[[Builder, Tensor], Tensor]


def strided(
    outputs: int,
    window: int,
    stride: int,
    low: int = 0,
    high: int = 0,
    *,
    dilation: int = 1,
    wide: int | None = None,
    border: float = 0.0,
) -> Write:
    """A convolution of a padded image, with a bias; `wide` if windows have
    another width.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, [0, low, low], [0, high, high], border)
        windows = window, window if wide is None else wide
        w = whole_numbers(b, outputs, x.shape[0], *windows)
        rows, columns = (
            (n - dilation * (k - 1) - 1) // stride + 1
            for n, k in zip(x.shape[1:], windows, strict=True)
        )
        bias = b.spread(whole_numbers(b, outputs), (outputs, rows, columns), axis=0)
        o, p, q, i, k, m = b.loops("o p q i k m", p=rows, q=columns)
        data = x[i, p * stride + k * dilation, q * stride + m * dilation]
        return b.sum((o, p, q), (i, k, m), data * w[o, i, k, m], bias)

    return write


def sums(views: list[LinalgOp]) -> list[tuple[int, ...]]:
    """The extents of what is summed over."""
    return [
        tuple(linalg_op.extents[d] for d in linalg_op.reduced)
        for linalg_op in views
        if linalg_op.reduced
    ]


@pytest.mark.parametrize(
    ("shape", "write", "summed"),
    [
        ((3, 115, 119), strided(64, 11, 4), (48, 3, 3)),
        ((3, 112, 112), strided(64, 11, 4, 2, 2), (48, 3, 3)),
        ((3, 113, 111), strided(64, 11, 4, 2, 1), (48, 3, 3)),
        ((3, 112, 112), strided(64, 11, 4, 2, 2, border=2.0), (48, 3, 3)),
        ((4, 64, 67), strided(64, 9, 3, 4, 4), (36, 3, 3)),
    ],
)
def test_numbers(
    make_network: MakeNetwork, shape: tuple[int, ...], write: Write, summed: tuple[int, ...]
) -> None:
    """Phases are channels, whether or not the image ends with a whole one of each."""
    assert sums(after(make_network([shape], write), SpaceToDepth())) == [summed]


@pytest.mark.parametrize(
    ("shape", "write"),
    [
        ((3, 64, 64), strided(64, 11, 1, 5, 5)),
        ((3, 64, 64), strided(64, 5, 4)),  # tiles are not worth it
        ((3, 64, 64), strided(64, 7, 2, 3, 3)),  # twelve channels
        ((3, 64, 64), strided(64, 4, 4)),  # each cell is read once
        ((3, 112, 112), strided(64, 11, 4, wide=9)),
        ((3, 112, 112), strided(64, 11, 4, dilation=2)),
        ((16, 112, 112), strided(64, 11, 4)),  # channels enough as they are
    ],
)
def test_stays(make_network: MakeNetwork, shape: tuple[int, ...], write: Write) -> None:
    """What has no stride, is no cheaper, or has no square window."""
    before = make_network([shape], write)
    text = str(before)
    after(before, SpaceToDepth())
    assert str(before) == text


def test_two_readers_of_a_padded_image(make_network: MakeNetwork) -> None:
    """The other one reads the pad as before."""

    def write(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
        x = b.pad(x, [0, 2, 2], [0, 2, 2])
        y, at = strided(64, 11, 4)(b, x), b.loops_of(x.shape)
        return y, b.map(at, x[at] * 2.0)

    views = after(make_network([(3, 112, 112)], write), SpaceToDepth())
    assert (48, 3, 3) in sums(views)


@pytest.mark.parametrize("write", [strided(64, 11, 4), strided(64, 11, 4, 2, 1, border=2.0)])
def test_open_images(make_network: MakeNetwork, write: Write) -> None:
    """Those of any size become phases, cut or padded at the end, and nothing is assumed of it."""
    shape = 3, Size.symbol("h", 224, least=11), Size.symbol("w", 256, least=11)
    with assuming() as assumed:
        plain, module = (make_network([shape], write) for _ in range(2))
        before = dict(assumed)
        SpaceToDepth().apply(Context(), module)
    assert assumed == before
    rng = np.random.default_rng(1)
    for height, width in ((11, 14), (16, 13)):
        at = {"h": height, "w": width}
        x = [rng.integers(-9, 9, (3, height, width)).astype(np.float32)]
        given = [network_of(with_extents(one, at)) for one in (plain, module)]
        assert (48, 3, 3) in sums(list(map(LinalgOp, generics_of(given[1].body.block))))
        one, other = (evaluate(it, x) for it in given)
        np.testing.assert_array_equal(other[0], one[0])
