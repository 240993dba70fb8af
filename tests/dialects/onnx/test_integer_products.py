"""Products and convolutions of bytes."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.runtime.results import Array
from tests.onnx.models import check_operator, from_text, run, run_by_onnxruntime

X = np.array([[250, 3], [7, 0]], np.uint8)
Y = np.array([[-128, 1], [2, 127]], np.int8)


def test_products() -> None:
    """In int32, without the zero points."""
    wanted = (X.astype(np.int32) - 5) @ Y.astype(np.int32)
    check_operator("MatMulInteger", {}, [X, Y, np.array(5, np.uint8)], expected=[wanted])


def test_products_of_batches_by_rows_and_columns() -> None:
    """Each row of x, and each column of y, may have its own zero point."""
    rows, columns = np.array([5, 9], np.uint8), np.array([-1, 3], np.int8)
    left = np.stack([X, X + 2]).astype(np.int32) - rows[:, None]
    wanted = left @ (Y.astype(np.int32) - columns)
    check_operator("MatMulInteger", {}, [np.stack([X, X + 2]), Y, rows, columns], expected=[wanted])


def test_zero_points_that_do_not_fit() -> None:
    """One of all, or as many as there are rows."""
    with pytest.raises(ModelError, match="zero points 3 of 2x2"):
        check_operator("MatMulInteger", {}, [X, Y, np.zeros(3, np.uint8)])


def test_convolutions() -> None:
    """Borders are zero points; filters may have one each."""
    x = np.arange(32, dtype=np.uint8).reshape(1, 2, 4, 4)
    w = np.arange(-18, 18, dtype=np.int8).reshape(2, 2, 3, 3)
    zeros = [np.array(3, np.uint8), np.array([1, -2], np.int8)]
    attributes = {"pads": [1, 0, 0, 1], "strides": [1, 2]}
    wide = x.astype(np.int64) - 3, w.astype(np.int64) - zeros[1].reshape(2, 1, 1, 1)
    padded = np.pad(wide[0], [(0, 0), (0, 0), (1, 0), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, :, ::2]
    wanted = np.einsum("nihwkl,oikl->nohw", windows, wide[1]).astype(np.int32)
    check_operator("ConvInteger", attributes, [x, w, *zeros], expected=[wanted])


BYTES = """
(uint8[1, 4, 5, 5] x, int8[6, 2, 3, 3] w, int32[6] bias, uint8[2, 3, 4] m, int8[2, 4, 5] n)
=> (uint8[1, 6, 5, 5] a, uint8[2, 3, 5] b) {
    s = Constant <value = float {0.02}> ()
    t = Constant <value = float {0.2}> ()
    p = Constant <value = uint8 {128}> ()
    ss = Constant <value = float[6] {0.02, 0.01, 0.03, 0.01, 0.02, 0.05}> ()
    zz = Constant <value = int8[6] {0, 0, 0, 0, 0, 0}> ()
    z = Constant <value = int8 {4}> ()
    a = QLinearConv <group = 2, pads = [1, 1, 1, 1]> (x, s, p, w, ss, zz, t, p, bias)
    b = QLinearMatMul (m, s, p, n, t, z, t, p)
}"""


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_bytes_to_bytes(level: int) -> None:
    """What onnxruntime makes of them."""
    numbers = np.random.default_rng(0)
    fed: dict[str, Array] = {
        "x": numbers.integers(0, 256, (1, 4, 5, 5)).astype(np.uint8),
        "w": numbers.integers(-128, 128, (6, 2, 3, 3)).astype(np.int8),
        "bias": numbers.integers(-9999, 9999, 6).astype(np.int32),
        "m": numbers.integers(0, 256, (2, 3, 4)).astype(np.uint8),
        "n": numbers.integers(-128, 128, (2, 4, 5)).astype(np.int8),
    }
    made = from_text(BYTES)
    for found, wanted in zip(run(made, fed, level), run_by_onnxruntime(made, fed), strict=True):
        np.testing.assert_array_equal(found, wanted)
