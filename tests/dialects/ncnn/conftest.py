"""What tests of single layers ask besides `check_layer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Operation

from ncc.dialects.code import CodeOp
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import LAYERS, ParamValue, Shape, WeightAttr
from ncc.dialects.weights.weight import ConstantOp

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Detect = Callable[..., Array]
Pool = Callable[[str, Mapping[str, Any], Array, Sequence[float]], Array]


@pytest.fixture(scope="session")
def expand() -> Callable[..., list[Operation]]:
    """expand(type, params, shapes, weights): the operations of a layer's expansion."""
    return expansion


def expansion(
    type: str,
    params: Mapping[str, ParamValue],
    shapes: Sequence[Shape],
    weights: Sequence[Sequence[float]] = (),
) -> list[Operation]:
    sources = TestOp(result_types=[TensorType(f32, shape) for shape in shapes])
    op = LAYERS[type].make(sources.results, params)
    op.check()
    given = iter(weights)
    for name, weight in op.LAYER.weights.items():
        shape = weight.shape(op)
        if shape is not None:
            op.properties[name] = WeightAttr.of(np.reshape(next(given), shape))
    op.verify()
    block = Block(arg_types=[TensorType(f32, list(shape)) for shape in shapes])
    tensors = [Tensor(arg, shape) for arg, shape in zip(block.args, shapes, strict=True)]
    op.expand_all(Builder(block), tensors)
    return list(block.ops)


@pytest.fixture(scope="session")
def compiled(expand: Callable[..., Any], run_code: Callable[..., list[Array]]) -> Pool:
    """compiled(type, params, map, corners): what the compiled expansion makes."""

    def run(type: str, params: Mapping[str, Any], x: Array, corners: Sequence[float]) -> Array:
        region = np.array(corners, np.float32)
        ops = expand(type, params, [x.shape, region.shape])
        code = next(op for op in ops if isinstance(op, CodeOp))
        held = code.inputs[0].type
        assert isinstance(held, TensorType)
        return run_code(code, [x.reshape(held.get_shape()), region])[0]

    return run


@pytest.fixture(scope="session")
def pool(compiled: Pool, check_layer: Check) -> Pool:
    """The same, and the reference agrees."""

    def run(type: str, params: Mapping[str, Any], x: Array, corners: Sequence[float]) -> Array:
        found = compiled(type, params, x, corners)
        region = np.array(corners, np.float32)
        check_layer(type, params, [x, region], expected=[found], expand=False)
        return found

    return run


@pytest.fixture(scope="session")
def detect(expand: Callable[..., Any], run_codes: Callable[..., list[Array]]) -> Detect:
    """detect(type, params, inputs): the rows that the compiled expansion finds."""

    def run(type: str, params: Mapping[str, Any], inputs: Sequence[Array]) -> Array:
        ops = expand(type, params, [x.shape for x in inputs])
        tables = [op.value.array() for op in ops if isinstance(op, ConstantOp)]
        rows, count = run_codes(ops, [*inputs, *tables])
        return rows[: count[0]]

    return run


@pytest.fixture
def check_detections(check_layer: Check, detect: Detect) -> Callable[[Any], None]:
    """check_detections(case): a layer and its compiled expansion find what was recorded."""

    def run(case: Any) -> None:
        (expected,) = case.outputs
        expected = expected.reshape(-1, 6)
        check_layer(case.type, case.params, case.inputs, expected=[expected], eps=case.eps)
        found = detect(case.type, case.params, case.inputs)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=case.eps, atol=case.eps)

    return run
