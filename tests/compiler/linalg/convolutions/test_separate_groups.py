"""A few large groups: the same numbers, each with its own weights and what follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ncc

NETWORK = """7767517
9 10
Input data 0 1 data 0=9 1=7 2={inputs}
ConvolutionDepthWise first 1 1 data a 0={outputs} 1=3 3={stride} 4={pad} 5={bias} 6={weights} 7={n}
PReLU slopes 1 1 a b 0={outputs}
Split twice 1 2 b c d
ConvolutionDepthWise again 1 1 c e 0={outputs} 1=3 4=1 5=1 6={square} 7={n}
BinaryOp residual 2 1 e d f
Swish swish 1 1 f g
Convolution last 1 1 g h 0=16 1=1 5=1 6={project}
Softmax end 1 1 h y 0=0
"""


@pytest.mark.parametrize(
    ("groups", "size", "count", "stride", "pad", "bias", "target"),
    [
        (2, 128, 160, 1, 1, 1, "avx512"),
        (3, 96, 112, 2, 1, 0, "avx512"),
        (4, 80, 96, 1, 0, 1, "avx2"),
        (2, 112, 144, 2, 2, 0, "baseline"),
    ],
)
def test_compiled(
    tmp_path: Path,
    groups: int,
    size: int,
    count: int,
    stride: int,
    pad: int,
    bias: int,
    target: str,
) -> None:
    """Numbers are those of -O0, which separates nothing; the same bits by any number of threads."""
    outputs = groups * count
    text = NETWORK.format(
        n=groups,
        inputs=groups * size,
        outputs=outputs,
        stride=stride,
        pad=pad,
        bias=bias,
        weights=9 * outputs * size,
        square=9 * outputs * count,
        project=16 * outputs,
    )
    param = tmp_path / "net.param"
    param.write_text(text)
    x = np.random.default_rng(5).standard_normal((groups * size, 7, 9)).astype(np.float32)
    plain = ncc.compile(param, random_weights=1, target=target, outputs=["h"], opt_level=0)(x)
    one, two = (
        ncc.compile(param, random_weights=1, target=target, outputs=["h"], num_threads=threads)(x)
        for threads in (1, 2)
    )
    np.testing.assert_allclose(one, plain, rtol=0, atol=1e-5 * np.abs(plain).max())
    np.testing.assert_array_equal(one, two)
