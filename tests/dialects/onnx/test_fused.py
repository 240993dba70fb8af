"""What onnxruntime's optimizer writes is computed as onnxruntime does."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from tests.onnx.models import from_text, model, run, run_by_onnxruntime

NUMBERS = np.random.default_rng(0)


def rand(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Numbers of a normal distribution."""
    return NUMBERS.standard_normal(shape).astype(np.float32)


ALL = """
(float[2, 3, 8] x, float[2, 3, 8] skip, float[8] gamma, float[8] beta, float[1, 2, 5, 5] image,
 float[4, 2, 3, 3] filters, float[4] bias, float[1, 4, 3, 3] term)
=> (float[2, 3, 8] a, float[2, 3, 8] b, float[2, 3, 8] c, float[2, 3, 8] d, float[2, 3, 3] e,
    float[2, 3, 8] f, float[2, 3, 8] g, float[2, 3, 8] h, float[2, 3, 8] i, float[2, 3, 8] j,
    float[1, 4, 3, 3] k, float[1, 4, 5, 5] l) {
    a = com.microsoft.Gelu (x)
    b = com.microsoft.BiasGelu (x, beta)
    c = com.microsoft.FastGelu (x, beta)
    d = com.microsoft.QuickGelu <alpha = 1.3> (x)
    e = com.microsoft.FusedMatMul <alpha = 0.5, transB = 1> (x, skip)
    f, m, v, g = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, skip, gamma, beta, beta)
    h, n, w, i = com.microsoft.SkipSimplifiedLayerNormalization (x, skip, gamma)
    j = SimplifiedLayerNormalization <axis = -1, epsilon = 0.001> (x, gamma)
    k = com.microsoft.FusedConv <activation = "Relu"> (image, filters, bias, term)
    l = com.microsoft.FusedConv <activation = "LeakyRelu", activation_params = [0.2],
                                 pads = [1, 1, 1, 1]> (image, filters)
}"""


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_all(level: int) -> None:
    """Each operator, with its attributes."""
    shapes: dict[str, tuple[int, ...]] = {"gamma": (8,), "beta": (8,), "bias": (4,)}
    shapes |= {"image": (1, 2, 5, 5), "filters": (4, 2, 3, 3), "term": (1, 4, 3, 3)}
    fed = {name: rand(*shape) for name, shape in shapes.items()}
    fed |= {"x": rand(2, 3, 8), "skip": rand(2, 3, 8)}
    unread = ALL.replace("f, m, v, g", 'f, "", "", g').replace("h, n, w, i", 'h, "", "", i')
    made = from_text(unread)
    wanted = run_by_onnxruntime(made, fed)
    for found, expected in zip(run(made, fed, level), wanted, strict=True):
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize(("bits", "zeros"), [(4, True), (4, False), (8, True)])
def test_products_with_packed_integers(bits: int, zeros: bool) -> None:
    """Blocks of 16 columns have a scale and a zero point each; the last block is not full."""
    from onnx import helper

    rows, columns, blocks = 5, 40, 3
    packed = NUMBERS.integers(0, 256, (rows, blocks, 16 * bits // 8)).astype(np.uint8)
    held = {"w": packed, "s": np.abs(rand(rows * blocks))}
    if zeros:
        held["z"] = NUMBERS.integers(0, 256, rows * -(-blocks * bits // 8)).astype(np.uint8)
    node = helper.make_node(
        "MatMulNBits", ["x", *held], ["y"], domain="com.microsoft",
        K=columns, N=rows, bits=bits, block_size=16,
    )  # fmt: skip
    x = rand(2, columns)
    made = model([node], {"x": x}, ["y"], held, ir_version=10)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    made.graph.output[0].type.tensor_type.elem_type = 1
    (found,) = run(made, {"x": x})
    (wanted,) = run_by_onnxruntime(made, {"x": x})
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-2 * np.abs(wanted).max())


def test_what_is_not_computed_is_refused() -> None:
    """By name."""
    text = """(float[2, 8] x, float[8] g) => (float[2, 8] y, float[2, 1] mean) {
        y, mean = com.microsoft.SkipLayerNormalization (x, x, g)
    }"""
    with pytest.raises(Unsupported, match="SkipLayerNormalization with the mean"):
        run(from_text(text), {})
