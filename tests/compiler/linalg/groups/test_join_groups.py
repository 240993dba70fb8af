"""Groups of few channels, several as one: the same numbers, where that is cheaper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc

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


@pytest.mark.parametrize(
    ("groups", "size", "other"),
    [
        (6, 8, {}),
        (7, 8, {"height": 20, "bias": 0}),
        (2, 8, {"height": 9, "width": 7}),
        (3, 8, {"stride": 2}),
        (9, 4, {"stride": 2, "bias": 0}),
        (9, 2, {"height": 5, "width": 7}),
        (5, 8, {"taps": 5, "pad": 2}),
    ],
)
@pytest.mark.parametrize("target", ["avx512", "avx2"])
def test_compiled(
    tmp_path: Path, groups: int, size: int, other: dict[str, int], target: str
) -> None:
    """Numbers are those of -O0, which joins nothing; the same bits by any number of threads."""
    param = network(tmp_path, groups, size, **other)
    options: dict[str, Any] = {"random_weights": 1, "outputs": ["e"], "target": target}
    plain = ncc.compile(param, **options, opt_level=0)
    shape = plain.inputs[0].shape
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    expected = plain(x)
    one, two = (ncc.compile(param, **options, num_threads=threads)(x) for threads in (1, 2))
    np.testing.assert_allclose(one, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(one, two)
