"""The fused activations, as numpy and as expressions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Block, Region

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.elementwise.activation import (
    activate,
    activate_array,
    check_activation,
    hard_limits,
)
from ncc.dialects.ncnn.layer import Array, LayerError
from tests.structured.evaluate import evaluate

NAN, INF = float("nan"), float("inf")
X = np.array([-100, -2, -0.5, 0, 0.5, 2, 30], np.float32)


def expanded(x: Array, kind: int, params: Sequence[float]) -> Array:
    """The activation by way of the linalg level."""
    block = Block(arg_types=[TensorType(f32, [x.size])])
    b, tensor = Builder(block), Tensor(block.args[0], x.shape)
    [i] = b.loops_of(x.shape)
    result = b.map((i,), activate(tensor[i], kind, params)).value
    block.add_op(func.ReturnOp(result))
    function = func.FuncOp("f", ([block.args[0].type], [result.type]), Region(block))
    ModuleOp([function]).verify()
    [array] = evaluate(function, [x])
    return array


@pytest.mark.parametrize(
    "kind, params, expected",
    [
        (0, (), [-100, -2, -0.5, 0, 0.5, 2, 30]),
        (1, (), [0, 0, 0, 0, 0.5, 2, 30]),
        (2, (0.1,), [-10, -0.2, -0.05, 0, 0.5, 2, 30]),
        (3, (-1.0, 1.0), [-1, -1, -0.5, 0, 0.5, 1, 1]),
        (4, (), [0, 0.119203, 0.377541, 0.5, 0.622459, 0.880797, 1]),
        (5, (), [0, -0.252501, -0.220744, 0, 0.375245, 1.943959, 30]),
        (6, (0.2, 0.5), [0, -0.2, -0.2, 0, 0.3, 1.8, 30]),
    ],
)
def test_values(kind: int, params: Sequence[float], expected: Sequence[float]) -> None:
    """The formulas of ncnn, by both ways."""
    for computed in (activate_array(X, kind, params), expanded(X, kind, params)):
        assert computed.dtype == np.float32
        np.testing.assert_allclose(computed, np.asarray(expected, np.float32), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kind, params", [(2, (0.1,)), (3, (-1.0, 1.0)), (4, ()), (6, (0.2, 0.5))])
def test_nan_stays(kind: int, params: Sequence[float]) -> None:
    """NaN is no number that a clip or a threshold may turn into one."""
    x = np.array([NAN], np.float32)
    assert np.isnan(activate_array(x, kind, params)[0])
    assert np.isnan(expanded(x, kind, params)[0])


def test_relu_drops_nan() -> None:
    """Type 1 is max(x, 0), which is 0 for NaN; the layer ReLU is not."""
    x = np.array([NAN], np.float32)
    assert activate_array(x, 1, ())[0] == 0
    assert expanded(x, 1, ())[0] == 0


def test_hard_limits() -> None:
    """Where the line reaches 0 and 1; a flat line never does."""
    assert hard_limits(0.2, 0.5) == pytest.approx((-2.5, 2.5))
    assert hard_limits(0.0, 0.5)[0] == -INF


@pytest.mark.parametrize(
    "kind, params, message, param",
    [
        (7, (), "activation type 7 is none of 0 to 6", "activation_type"),
        (-1, (), "activation type -1", "activation_type"),
        (2, (), "takes 1 params, not 0", "activation_params"),
        (3, (1.0,), "takes 2 params, not 1", "activation_params"),
        (6, (), "takes 2 params, not 0", "activation_params"),
    ],
)
def test_refused(kind: int, params: Sequence[float], message: str, param: str) -> None:
    """An unknown type, or one without its params; the param to blame is named."""
    with pytest.raises(LayerError, match=message) as caught:
        check_activation(kind, params)
    assert caught.value.param == param
