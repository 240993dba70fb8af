"""Matrix products: InnerProduct and MatMul."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.linalg.ops import GenericOp

from ncc.dialects.ncnn.layer import LayerError, shape_of
from tests.dialects.ncnn.arrays import ramp

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]


@pytest.mark.layer("InnerProduct", "MatMul", "Embed")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


INNER = {"num_output": 2, "weight_data_size": 12, "bias_term": 1}
BIAS = np.array([0.5, -100])


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3), (3, 2, 1, 1), (3, 2)])
def test_inner_product_takes_all_elements(shape: tuple[int, ...], check_layer: Check) -> None:
    """Whatever the shape, in order; the activation comes last."""
    expected = np.array([55.5, 45], np.float32)
    params = {**INNER, "activation_type": 1}
    check_layer("InnerProduct", params, [ramp(*shape)], [ramp(12), BIAS], expected=[expected])


def test_inner_product_of_rows(check_layer: Check) -> None:
    """A matrix whose rows fit the weights: each row by itself."""
    x = np.stack([np.ones(6), ramp(6)]).astype(np.float32)
    expected = np.array([[15.5, -49], [55.5, 45]], np.float32)
    check_layer("InnerProduct", INNER, [x], [ramp(12), BIAS], expected=[expected])


def test_inner_product_leaves_its_input_as_it_is(expand: Callable[..., Any]) -> None:
    """No view of the input: the weights take its shape."""
    params = {"num_output": 2, "weight_data_size": 12}
    generic = expand("InnerProduct", params, [(1, 2, 3)], [ramp(12)])[-1]
    assert isinstance(generic, GenericOp)
    assert [shape_of(value) for value in generic.inputs] == [(1, 2, 3), (2, 1, 2, 3)]


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"num_output": 0}, "num_output"),
        ({"weight_data_size": -2}, "weight_data_size"),
        ({"weight_data_size": 13}, "weight_data_size"),
        ({"activation_type": 2}, "activation_params"),
    ],
)
def test_inner_product_refuses(params: dict[str, int], param: str, check_layer: Check) -> None:
    """Sizes that do not fit, and what is not there yet."""
    with pytest.raises(LayerError) as caught:
        check_layer("InnerProduct", {**INNER, **params}, [ramp(6)], [ramp(12), BIAS])
    assert caught.value.param == param


def test_inner_product_refuses_other_sizes(check_layer: Check) -> None:
    """The number of elements must be that of a row of the weights."""
    with pytest.raises(LayerError, match="has 7 elements, but the weights take 6"):
        check_layer("InnerProduct", INNER, [ramp(7)], [ramp(12), BIAS])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)), ((5, 2, 3), (6, 1, 3, 4)), ((6, 5, 2, 3), (3,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("transposed", [0, 1])
def test_matmul_is_that_of_numpy(
    a: tuple[int, ...], b: tuple[int, ...], transposed: int, check_layer: Check
) -> None:
    """Vectors, matrices and stacks of matrices; of two vectors, [1] is left."""
    x, w = ramp(*a) - 3, ramp(*b) - 5
    expected = np.asarray(x @ w)
    given = np.ascontiguousarray(np.swapaxes(w, -1, -2)) if transposed and w.ndim > 1 else w
    expected = expected.reshape(expected.shape or (1,))
    check_layer("MatMul", {"transB": transposed}, [x, given], expected=[expected])


def test_matmul_refuses(check_layer: Check) -> None:
    """Inner extents or stacks that differ."""
    for a, b in (((2, 3), (4, 5)), ((2, 2, 3), (3, 3, 4))):
        with pytest.raises(LayerError, match="do not fit"):
            check_layer("MatMul", {}, [ramp(*a), ramp(*b)])
