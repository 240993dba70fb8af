"""What onnxruntime's quantization writes is computed as onnxruntime does, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.runtime.results import Array
from tests.onnx.models import from_text, run, run_by_onnxruntime

BYTES = """
(uint8[1, 3, 6, 6] x, uint8[1, 3, 6, 6] y, uint8[4, 5] m, int8[5, 3] n, int32[3] bias)
=> (uint8[1, 3, 6, 6] a, uint8[1, 3, 6, 6] b, uint8[1, 3, 6, 6] c, uint8[1, 3, 6, 6] d,
    uint8[1, 3, 6, 6] e, uint8[1, 3, 1, 1] f, uint8[1, 3, 5, 5] g, uint8[1, 6, 6, 6] h,
    uint8[4, 3] i, float[4, 3] j, float[4, 3] k) {
    s = Constant <value = float {0.02}> ()
    t = Constant <value = float {0.03}> ()
    u = Constant <value = float {0.004}> ()
    p = Constant <value = uint8 {128}> ()
    q = Constant <value = uint8 {100}> ()
    o = Constant <value = uint8 {0}> ()
    ss = Constant <value = float[3] {0.02, 0.01, 0.03}> ()
    zz = Constant <value = int8[3] {0, 0, 0}> ()
    a = com.microsoft.QLinearAdd (x, s, p, y, t, q, t, p)
    b = com.microsoft.QLinearMul (x, s, p, y, t, q, t, p)
    c = com.microsoft.QLinearSigmoid (x, s, p, u, o)
    d = com.microsoft.QLinearLeakyRelu <alpha = 0.1> (x, s, p, s, p)
    e = com.microsoft.QLinearSoftmax <axis = 1, opset = 13> (x, s, p, u, o)
    f = com.microsoft.QLinearGlobalAveragePool (x, s, p, t, q)
    g = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2]> (x, s, p, t, q)
    h = com.microsoft.QLinearConcat <axis = 1> (t, p, x, s, p, y, t, q)
    i = com.microsoft.QGemm (m, s, p, n, ss, zz, bias, t, q)
    j = com.microsoft.QGemm (m, s, p, n, ss, zz, bias)
    k = com.microsoft.MatMulIntegerToFloat (m, n, s, ss, p, zz)
}"""


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_bytes(level: int) -> None:
    """Each operator; results in float32 but for rounding."""
    numbers = np.random.default_rng(0)
    fed: dict[str, Array] = {
        "x": numbers.integers(0, 256, (1, 3, 6, 6)).astype(np.uint8),
        "y": numbers.integers(0, 256, (1, 3, 6, 6)).astype(np.uint8),
        "m": numbers.integers(0, 256, (4, 5)).astype(np.uint8),
        "n": numbers.integers(-128, 128, (5, 3)).astype(np.int8),
        "bias": numbers.integers(-999, 999, 3).astype(np.int32),
    }
    made = from_text(BYTES)
    wanted = run_by_onnxruntime(made, fed)
    found = run(made, fed, level)
    for name, ours, theirs in zip("abcdefghijk", found, wanted, strict=True):
        if theirs.dtype == np.uint8:
            assert np.abs(ours.astype(int) - theirs).max() <= 1, name
            if name != "e":  # onnxruntime sums numbers from a table
                assert np.mean(ours != theirs) < 0.03, name
        else:
            np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6, err_msg=name)
