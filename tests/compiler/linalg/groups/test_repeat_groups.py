"""Groups of one channel that make several: the same numbers, in blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.compiler.linalg.compiled import compiled

NETWORK = """7767517
7 7
Input data 0 1 data 0=13 1=11 2={inputs}
Convolution first 1 1 data a 0={inputs} 1=1 5=1 6={square} 9=1
ConvolutionDepthWise each 1 1 a b 0={outputs} 1=3 3={stride} 4=1 5={bias} 6={window} 7={inputs} 9=1
HardSwish swish 1 1 b c
ConvolutionDepthWise again 1 1 c d 0={again} 1=5 4=2 5=1 6={wide} 7={outputs}
Convolution last 1 1 d e 0=16 1=1 5=1 6={project}
Softmax end 1 1 e y 0=0
"""


@pytest.mark.parametrize(
    ("inputs", "count", "stride", "bias", "target"),
    [
        (16, 2, 1, 1, "avx512"),
        (24, 2, 2, 0, "avx512"),
        (12, 3, 2, 1, "avx2"),
        (9, 2, 1, 1, "baseline"),
        (3, 4, 1, 1, "avx512"),
    ],
)
def test_compiled(
    tmp_path: Path, inputs: int, count: int, stride: int, bias: int, target: str
) -> None:
    """Numbers are those of -O1, which repeats nothing; the same bits for any number of threads."""
    outputs = inputs * count
    text = NETWORK.format(
        inputs=inputs,
        outputs=outputs,
        again=2 * outputs,
        stride=stride,
        bias=bias,
        square=inputs * inputs,
        window=9 * outputs,
        wide=50 * outputs,
        project=32 * outputs,
    )
    param = tmp_path / "net.param"
    param.write_text(text)
    x = np.random.default_rng(3).standard_normal((inputs, 11, 13)).astype(np.float32)
    plain, one = compiled(param, x, target)
    np.testing.assert_allclose(one, plain, rtol=0, atol=1e-5)
