"""Several groups of few channels become one: the same numbers, if that is cheaper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.cost_model import CostModel, Groups
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.groups.join_groups import JoinGroups
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.same_numbers import after
from tests.crossed import crossed

NETWORK = """7767517
5 6
Input data 0 1 data 0={width} 1={height} 2={channels}
Convolution first 1 1 data a 0={channels} 1=1 5=1 6={square} 9=1
Split twice 1 2 a b c
ConvolutionDepthWise y 1 1 b d 0={channels} 1={taps} 3={stride} 4={pad} 5={bias} 6={weights} 7={n}
{last}
"""


def network(folder: Path, groups: int, size: int, **other: int) -> Path:
    """A convolution in groups of so many channels, and a residual where it has no stride."""
    found = {"width": 12, "height": 12, "taps": 3, "stride": 1, "pad": 1, "bias": 1} | other
    channels = groups * size
    last = "BinaryOp sum 2 1 d c e 0=0" if found["stride"] == 1 else "ReLU end 1 1 d e"
    text = NETWORK.format(
        **found,
        n=groups,
        channels=channels,
        square=channels * channels,
        weights=found["taps"] ** 2 * channels * size,
        last=last,
    )
    path = folder / "net.param"
    path.write_text(text)
    return path


NETWORKS: list[tuple[int, int, dict[str, int]]] = [
    (6, 8, {}),
    (7, 8, {"height": 20, "bias": 0}),
    (2, 8, {"height": 9, "width": 7}),
    (3, 8, {"stride": 2}),
    (9, 4, {"stride": 2, "bias": 0}),
    (9, 2, {"height": 5, "width": 7}),
    (5, 8, {"taps": 5, "pad": 2}),
]
"""Groups, their size, and what else a network is said by."""


@pytest.mark.parametrize(("said", "target"), crossed(NETWORKS, ["avx512", "avx2"], usual=4))
def test_compiled(tmp_path: Path, said: tuple[int, int, dict[str, int]], target: str) -> None:
    """Numbers are those of -O0, which joins nothing; the same bits by any number of threads."""
    groups, size, other = said
    param = network(tmp_path, groups, size, **other)
    options: dict[str, Any] = {"random_weights": 1, "outputs": ["e"], "target": target}
    plain = ncc.compile(param, **options, opt_level=0)
    shape = plain.inputs[0].shape
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    expected = plain(x)
    one, two = (ncc.compile(param, **options, num_threads=threads)(x) for threads in (1, 2))
    np.testing.assert_allclose(one, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(one, two)


def test_images_of_any_size(tmp_path: Path) -> None:
    """Where the run tells how large they are, costs are compared for the hint."""
    param, shapes = network(tmp_path, 6, 8), {"data": (48, None, None)}
    plain, joined = (
        ncc.compile(param, random_weights=1, outputs=["e"], input_shapes=shapes, opt_level=level)
        for level in (0, 2)
    )
    for height, width in ((12, 12), (1, 7), (17, 33)):
        x = np.random.default_rng(5).standard_normal((48, height, width)).astype(np.float32)
        expected = plain(x)
        np.testing.assert_allclose(joined(x), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert "versions for all shapes: 1" in repr(joined)


def test_groups_of_groups(make_network: Callable[..., ModuleOp]) -> None:
    """The second convolution reads the joined channels of the first one."""

    def grouped(b: Builder, x: Tensor) -> Tensor:
        w = whole_numbers(b, 4, 8, 8, 3, 3)
        g, o, p, q, i, k, m = b.loops(f"g o p:{x.shape[1] - 2} q:{x.shape[2] - 2} i k m")
        data = x[g * 8 + i, p + k, q + m]
        y = b.sum((g, o, p, q), (i, k, m), data * w[g, o, i, k, m])
        return b.collapse(y, [[0, 1], [2], [3]])

    module = make_network([(32, 9, 9)], lambda b, x: grouped(b, grouped(b, x)))
    slow_rows = replace(AVX512, costs=CostModel(groups=Groups(full_along_rows=0.01)))
    sums = after(module, JoinGroups(slow_rows))
    assert [shape_of(one.op.results[0])[0] for one in sums if one.reduced] == [2, 2]
