"""Operators of ONNX with open extents: one lowering is right for every size."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.ncnn.convert_to_linalg import expand_network
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read_onnx.build_module import build
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.dialects.ncnn.network import Network
from ncc.dialects.size import Size, assuming
from tests.onnx.models import from_text, run_by_onnxruntime
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

SIZES = (14, 20), (5, 7), (8, 9), (6, 3), (1, 2), (2, 1)
"""The first one is the hint."""

INFINITE = 1 << 62

RIGHT = [
    "y = Trilu (x)",
    "k = Constant <value_int = -1> () y = Trilu <upper = 0> (x, k)",
    "z = Constant <value_ints = [0, 1]> () m = Squeeze (x, z) y = EyeLike <k = 1> (m)",
    "y = ArgMax <axis = 2> (x)",
    "y = ArgMin <axis = -1, select_last_index = 1> (x)",
    "y = Hardmax <axis = 2> (x)",
    "y = InstanceNormalization (x, s, s)",
    "y = GroupNormalization <num_groups = 1> (x, s, s)",
    "g = Tile (x, two) t = Transpose <perm = [0, 2, 3, 1]> (g)"
    'y = GridSample <mode = "nearest", padding_mode = "reflection"> (x, t)',
    "g = Tile (x, two) t = Transpose <perm = [0, 2, 3, 1]> (g)"
    'y = GridSample <align_corners = 1, padding_mode = "reflection"> (x, t)',
    "y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)",
    "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1],"
    " ceil_mode = 1, count_include_pad = 1> (x)",
    'y = AveragePool <kernel_shape = [3, 2], strides = [2, 2], auto_pad = "SAME_UPPER"> (x)',
    "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1> (x)",
    "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)",
    # Every second element, and elements from back to front.
    f"a = Constant <value_ints = [0, 0]> () e = Constant <value_ints = [{INFINITE}, {INFINITE}]> ()"
    "d = Constant <value_ints = [2, 3]> () t = Constant <value_ints = [2, 2]> ()"
    "y = Slice (x, a, e, d, t)",
    f"a = Constant <value_ints = [-1, {INFINITE}]> ()"
    f"e = Constant <value_ints = [-{INFINITE}, -{INFINITE}]> ()"
    "d = Constant <value_ints = [2, 3]> () t = Constant <value_ints = [-1, -2]> ()"
    "y = Slice (x, a, e, d, t)",
    # Two parts, of which the second one may be smaller.
    "w = Concat <axis = 2> (x, x, x) a, b = Split <axis = 2, num_outputs = 2> (w)"
    "y = Concat <axis = 2> (b, a)",
    # An image with borders up to whole windows, and cut again.
    "n = Shape <start = 2> (x) k = Constant <value_ints = [4]> () r = Mod (n, k) l = Sub (k, r)"
    "p = Mod (l, k) z = Constant <value_ints = [0, 0]> () q = Concat <axis = 0> (z, p)"
    'd = Constant <value_ints = [2, 3]> () b = Pad <mode = "edge"> (x, q, , d)'
    "a = Constant <value_ints = [0, 0]> () y = Slice (b, a, n, d)",
    # Shapes by way of floats.
    "n = Shape <start = 2> (x) f = Cast <to = 1> (n) t = Constant <value_float = 2.0> ()"
    "m = Mul (f, t) d = Floor (m) u = Ceil (d) r = Round (u) o = Abs (r) i = Cast <to = 7> (o)"
    "c = Constant <value_float = 0.5> () y = Expand (c, i)",
    # Shapes by floats that round, as interpolate(scale_factor=0.7) asks for them.
    "n = Shape <start = 2> (x) f = Cast <to = 1> (n) t = Constant <value_floats = [1.3, 0.7]> ()"
    "m = Mul (f, t) d = Ceil (m) i = Cast <to = 7> (d)"
    "c = Constant <value_float = 0.5> () y = Expand (c, i)",
    "n = Shape (x) f = Cast <to = 1> (n) t = Constant <value_floats = [1.0, 1.0, 1.5, 2.1]> ()"
    'm = Mul (f, t) i = Cast <to = 7> (m) y = Resize <mode = "linear"> (x, , , i)',
    "n = Shape <start = 2> (x) f = Cast <to = 1> (n) t = Constant <value_float = 3.0> ()"
    "q = Div (f, t) a = Constant <value_float = 1.5> () m = Add (q, a) i = Cast <to = 7> (m)"
    "c = Constant <value_float = 0.5> () y = Expand (c, i)",
    # In float32, 20 times 1.3 is 26, though 1.3 is less than 13/10 there.
    't = Constant <value_floats = [1.0, 1.0, 2.1, 1.3]> ()y = Resize <mode = "linear"> (x, , t)',
]


HEAD = "(float[1, 1, h, w] x) => (y) <float[1] s = {1.5}, int64[4] two = {1, 2, 1, 1}>"


@pytest.mark.parametrize("text", RIGHT)
def test_an_operator_of_open_extents_is_right_for_every_size(text: str) -> None:
    """What it makes is what onnxruntime makes at that size."""
    made = from_text(f"{HEAD} {{ {text} }}")
    module = build(made, "net.onnx", Initializers(made.graph, "net.onnx"))
    height, width = SIZES[0]
    with assuming() as assumed:
        infer_shapes(module, {"x": (1, 1, Size.symbol("h", height), Size.symbol("w", width))})
        expanded = expand_network(Network.of(module))
    for height, width in SIZES:
        at = {"h": height, "w": width}
        assert all(one.holds(one.form.value(at)) for one in assumed), (at, list(assumed))
        x = np.random.default_rng(height).standard_normal((1, 1, height, width), np.float32)
        (wanted,) = run_by_onnxruntime(made, {"x": x})
        (found,) = evaluate(with_extents(expanded, at), [x])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        assert found.shape == wanted.shape
