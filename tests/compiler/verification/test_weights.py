"""What the error of a convolution tells of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ncc.compiler.verification.noise import exact
from ncc.compiler.verification.weights import weights_off
from ncc.dialects.ncnn.layer import Layer, WeightAttr
from tests.conftest import build_layer
from tests.crossed import in_turn

LEAST = 1e-4
PLAIN = {"kernel_w": 3, "pad_left": 1, "bias_term": 1}
LAYERS: Sequence[tuple[str, dict[str, Any], int]] = [
    ("Convolution", PLAIN, 1),
    ("Convolution", {**PLAIN, "stride_w": 2, "pad_left": -233}, 1),
    ("Convolution", {**PLAIN, "activation_type": 1}, 1),
    ("ConvolutionDepthWise", {**PLAIN, "group": 2}, 2),
    ("Deconvolution", {**PLAIN, "stride_w": 2}, 1),
    ("DeconvolutionDepthWise", {**PLAIN, "kernel_w": 4, "stride_w": 2, "group": 2}, 2),
]


def build(type: str, params: dict[str, Any], group: int) -> tuple[Layer, Any]:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (8, 60, 64)).astype(np.float32)
    cells = params["kernel_w"] ** 2
    kernel = (params["kernel_w"], params["kernel_w"])
    shape = (16, 8, *kernel) if group == 1 else (group, 16 // group, 8 // group, *kernel)
    weights = [generator.standard_normal(size).astype(np.float32) for size in (shape, (16,))]
    sizes = {"num_output": 16, "weight_data_size": 16 * (8 // group) * cells}
    return build_layer(type, {**params, **sizes}, [x], weights, 1), x


def changed(op: Layer, by: float) -> Layer:
    """The layer with one weight that is off."""
    wrong = op.clone()
    held = op.properties["weight"]
    assert isinstance(held, WeightAttr)
    weights = held.array().copy()
    weights.flat[weights.size // 3] += np.float32(by) * np.abs(weights).max()
    wrong.properties["weight"] = WeightAttr.of(weights)
    return wrong


@pytest.mark.parametrize(("type", "params", "group"), LAYERS)
def test_a_weight_that_is_off_is_told_by_how_much(
    type: str, params: dict[str, Any], group: int
) -> None:
    """Though random errors are as large."""
    op, x = build(type, params, group)
    right, wrong = exact(op, [x])[0], exact(changed(op, 1e-3), [x])[0]
    error = wrong - right
    size = np.sqrt(np.square(error)[np.abs(error) > 0].mean())
    error += np.random.default_rng(1).normal(0, size, error.shape)
    least = 3e-4 if params.get("activation_type") else 8e-4
    assert least < weights_off(op, [x], right + error, right, LEAST) < 1.3e-3


@pytest.mark.parametrize(("type", "params", "group"), in_turn(LAYERS, 3))
def test_random_errors_say_nothing_of_weights(
    type: str, params: dict[str, Any], group: int
) -> None:
    """However large they are; nor do none, and none that is a number."""
    op, x = build(type, params, group)
    right = exact(op, [x])[0]
    error = np.random.default_rng(1).normal(0, 1, right.shape)
    for wrong in (error, error * 0, error * np.nan):
        assert weights_off(op, [x], right + wrong, right, LEAST) == 0


@pytest.mark.parametrize(("type", "params", "group"), in_turn(LAYERS, 3))
def test_a_bias_that_is_off_is_told(type: str, params: dict[str, Any], group: int) -> None:
    """Where it is more than what rounded weights make."""
    op, x = build(type, params, group)
    right = exact(op, [x])[0]
    error = np.random.default_rng(1).normal(0, 1e-3, right.shape)
    bias = op.properties["bias"]
    assert isinstance(bias, WeightAttr)
    error[3] += 1e-3 * np.abs(bias.array()).max()
    assert 8e-4 < weights_off(op, [x], right + error, right, LEAST) < 1.2e-3
    assert weights_off(op, [x], right + error * 1e-5, right, LEAST) == 0


def test_what_multiplies_next_to_nothing_says_nothing() -> None:
    """A result that is all bias, rounded one way: no weight makes anything of it."""
    op, x = build(*LAYERS[0])
    x = x * np.float32(1e-18) + np.float32(1e-19)
    right = exact(op, [x])[0]
    off = weights_off(op, [x], right.astype(np.float32) * np.float32(1 + 2**-24), right, LEAST)
    assert off == 0


@pytest.mark.parametrize(("type", "params", "group"), in_turn(LAYERS, 3))
def test_a_weight_that_multiplies_few_values_is_told(
    type: str, params: dict[str, Any], group: int
) -> None:
    """Though the error at these places is its own effect. At a single place it may be rounding."""
    op, _ = build(type, params, group)
    generator = np.random.default_rng(2)
    for places, is_seen in ((200, True), (1, False)):
        x = np.zeros((8, 60, 64), np.float32)
        at = generator.choice(x[0].size, places, replace=False)
        x.reshape(8, -1)[:, at] = generator.choice([-1, 1], (8, places))
        right, wrong = exact(op, [x])[0], exact(changed(op, 1e-3), [x])[0]
        error = wrong - right + generator.normal(0, 1e-5, right.shape)
        assert (weights_off(op, [x], right + error, right, LEAST) > 3e-4) == is_seen
