"""Layers and networks held against exact values and the noise of float32."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ncc.compiler.options import Options
from ncc.compiler.verification.judge import judged_layer
from ncc.compiler.verification.noise import Noise
from ncc.dialects.ncnn.param import ParamValue
from tests.conftest import build_layer

IMAGES = 9.5
"""The most memory that a layer is judged in, in images of float32: four in float64 while the exact
result is made, one sample of noise, and what lies in slabs.
"""


@pytest.mark.slow
def test_a_large_layer_is_judged_in_little_memory() -> None:
    """A convolution with padding, a bias and an activation, beside what it was given and made."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (16, 700, 700)).astype(np.float32)
    params: dict[str, ParamValue] = {
        **{"num_output": 16, "kernel_w": 3, "pad_left": 1, "bias_term": 1},
        **{"activation_type": 2, "activation_params": (0.2,), "weight_data_size": 16 * 16 * 9},
    }
    shapes = (16, 16, 3, 3), (16,)
    weights = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    op = build_layer("Convolution", params, [x], weights, 1)
    [made] = op.reference_all([x])
    tracemalloc.start()
    [apart] = judged_layer(op, [x], [made], [None], Noise(Options()))
    peak = tracemalloc.get_traced_memory()[1] / x.nbytes
    tracemalloc.stop()
    assert (apart.times or 0) < 1 and apart.weight == 0
    assert peak < IMAGES
