"""Windows an axis at a time: the same numbers, where windows are large and overlap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.linalg.convolutions.separate_windows import SeparateWindows
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import constant
from tests.compiler.linalg.same_numbers import after
from tests.crossed import crossed

MAXIMUM, MEAN = 0, 1


PARAMS = [
    "1=5 2=1 3=2 5=1",
    "1=13 2=1 3=6 5=1",
    "1=5 2=2 3=1 5=0",
    "1=7 11=3 2=1 3=3 13=1 5=1 6=1",
    "1=4 2=1 5=2",
]


@pytest.mark.parametrize(
    ("kind", "params", "shape"), crossed([MAXIMUM, MEAN], PARAMS, [(20, 14, 17), (3, 13, 13)])
)
def test_pools(tmp_path: Path, kind: int, params: str, shape: tuple[int, ...]) -> None:
    """Maxima are those of -O0 bit by bit, where all of a border is less than an image, too; means
    are but for the order of their sums. The same bits by any number of threads.
    """
    channels, height, width = shape
    param = tmp_path / "net.param"
    param.write_text(
        f"7767517\n2 2\nInput data 0 1 data 0={width} 1={height} 2={channels}\n"
        f"Pooling y 1 1 data y 0={kind} {params}\n"
    )
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32) - 4
    if kind == MAXIMUM:
        x[1, 2:5, 3:9] = [[np.nan], [-np.inf], [np.inf]]
    options: dict[str, Any] = {"target": "avx512"}
    plain = ncc.compile(param, **options, opt_level=0)(x)
    one, two = (ncc.compile(param, **options, num_threads=threads)(x) for threads in (1, 2))
    tolerance = 0.0 if kind == MAXIMUM else 1e-5
    np.testing.assert_allclose(one, plain, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(one, two)


def test_volumes(tmp_path: Path) -> None:
    """Windows of three axes are folded in three steps."""
    param = tmp_path / "net.param"
    param.write_text(
        "7767517\n2 2\nInput data 0 1 data 0=9 1=8 11=7 2=5\n"
        "Pooling3D y 1 1 data y 0=0 1=5 2=1 3=2 5=1\n"
    )
    x = np.random.default_rng(5).standard_normal((5, 7, 8, 9)).astype(np.float32)
    plain = ncc.compile(param, opt_level=0)(x)
    np.testing.assert_array_equal(ncc.compile(param)(x), plain)


Write = Callable[[Builder, Tensor], Tensor]


def window(size: int, step: int = 1, border: float = -1.0, power: bool = False) -> Write:
    """A maximum over windows of this size, or a sum of elements or of their squares."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, (0, 2, 2), (0, 2, 2), border)
        count = (x.shape[1] - size) // step + 1
        c, u, v, k, m = b.loops(f"c u:{count} v:{count} k:{size} m:{size}")
        cell = x[c, u * step + k, v * step + m]
        if border < 0:
            return b.max((c, u, v), (k, m), cell)
        return b.sum((c, u, v), (k, m), cell * cell if power else cell)

    return write


@pytest.mark.parametrize(
    ("write", "steps"),
    [
        (window(5), 2),
        (window(5, 2), 2),
        (window(5, border=0.0), 2),
        (window(5, border=1.0), 2),
        (window(3), 1),
        (window(5, 5), 1),
        (window(5, border=0.0, power=True), 1),
    ],
)
def test_which_windows(make_network: Callable[..., ModuleOp], write: Write, steps: int) -> None:
    """Large windows that overlap, whose elements are reduced unchanged."""
    assert len(after(make_network([(16, 16, 16)], write), SeparateWindows())) == steps


def test_windows_without_a_border(make_network: Callable[..., ModuleOp]) -> None:
    """All of what is read is there already."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, u, v, k, m = b.loops("c u:12 v:12 k:5 m:5")
        return b.max((c, u, v), (k, m), x[c, u + k, v + m])

    assert len(after(make_network([(16, 16, 16)], write), SeparateWindows())) == 2


def cell_by_cell(b: Builder, x: Tensor) -> Tensor:
    return b.scaled(x, 0.5)


def counted(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, m = b.loops("c:16 u:12 v:12 k:5 m:5")
    return b.sum((c, u, v), (k, m), constant(1.0))


def multiplied(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, m = b.loops("c u:12 v:12 k:5 m:5")
    return b.product((c, u, v), (k, m), x[c, u + k, v + m])


def of_whole_images(b: Builder, x: Tensor) -> Tensor:
    c, k, m = b.loops("c k m")
    return b.sum((c,), (k, m), x[c, k, m])


def apart(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, m = b.loops("c u:12 v:12 k:5 m:5")
    return b.sum((c, u * 2, v), (k, m), x[c, u + k, v + m], b.full((16, 24, 12), 0.0))


def turned(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, m = b.loops("c u:12 v:12 k:5 m:5")
    return b.max((u, c, v), (k, m), x[c, u + k, v + m])


def by_two_loops(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, n, m = b.loops("c u:12 v:12 k:4 n:2 m:5")
    return b.sum((c, u, v), (k, n, m), x[c, u + k + n, v + m])


def begun_later(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, m = b.loops("c u:11 v:11 k:5 m:5")
    return b.max((c, u, v), (k, m), x[c, u + k + 1, v + m])


def skewed(b: Builder, x: Tensor) -> Tensor:
    c, u, v, m = b.loops("c u:8 v:8 m:9")
    return b.max((c, u, v), (m,), x[c, u + v, v + m])


def gone_on_with(b: Builder, x: Tensor) -> Tensor:
    c, u, v, k, m = b.loops("c u:12 v:12 k:5 m:5")
    init = b.slice(x, (0, 0, 0), (16, 12, 12))
    return b.sum((c, u, v), (k, m), x[c, u + k, v + m], init)


@pytest.mark.parametrize(
    "write",
    [
        cell_by_cell, counted, multiplied, of_whole_images, apart, turned, by_two_loops,
        begun_later, skewed, gone_on_with,
    ],
)  # fmt: skip
def test_other_folds_stay(make_network: Callable[..., ModuleOp], write: Write) -> None:
    """The body is another one, or windows do not move with the result."""
    assert len(after(make_network([(16, 16, 16)], write), SeparateWindows())) == 1
