"""Params and weights as a layer declares them: what is absent, what follows what, what is held."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import BytesAttr, NoneAttr, StringAttr

from ncc.dialects.ncnn.layer import Layer, declare
from ncc.dialects.ncnn.param import (
    LayerError,
    ParamValue,
    Weight,
    from_attribute,
    held,
    integer,
    integers,
    real,
    string,
    text_of,
    to_attribute,
)
from ncc.dialects.weights.weight import WeightAttr


class _Kernel(Layer):
    """What a layer with a window says."""

    kernel_w = integer(1, 3)
    kernel_h = integer(11, "kernel_w")
    scale = real(2, 0.5)
    axes = integers(3)
    mode = string(4)
    bias_term = integer(5, 0)
    bias_data = Weight(lambda op: (op.kernel_w,) if op.bias_term else None)


KERNEL = declare(_Kernel, "Kernel", (1, 1), (1, 1))


def kernel(**params: ParamValue) -> _Kernel:
    return KERNEL.make([], params)


def test_what_is_absent_has_its_default() -> None:
    """Or the value of the param that it follows, absent or not."""
    assert (kernel().kernel_w, kernel().kernel_h, kernel(kernel_w=5).kernel_h) == (3, 3, 5)
    assert kernel(kernel_h=7).kernel_w == 3
    assert (kernel().scale, kernel().axes, kernel().mode) == (0.5, (), "")


def test_a_declaration_knows_ids_and_the_class_its_members() -> None:
    """Of a class a param is what was declared, of a layer its value."""
    found = KERNEL.LAYER.param_of_id(11)
    assert found is KERNEL.kernel_h and found.name == "kernel_h"
    assert KERNEL.LAYER.param_of_id(12) is None
    assert list(KERNEL.LAYER.weights) == ["bias_data"] and kernel().bias_data is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int", -7), ("float", 0.25), ("ints", (1, -2)), ("floats", (0.5, 1.5)), ("string", 'é "')],
)
def test_values_as_attributes(kind: str, value: ParamValue) -> None:
    """And back."""
    assert from_attribute(to_attribute(kind, value)) == value


def test_texts_that_are_read_as_bytes() -> None:
    """Where a module's text had escapes."""
    assert text_of(BytesAttr("é".encode())) == text_of(StringAttr("é")) == "é"
    for read in (text_of, from_attribute):
        with pytest.raises(LayerError):
            read(NoneAttr())


@pytest.mark.parametrize(
    ("bias_term", "weight", "message"),
    [
        (1, None, "weight 'bias_data' is missing"),
        (0, 3, "weight 'bias_data' is surplus"),
        (1, 4, r"has shape \(4,\), not \(3,\)"),
    ],
)
def test_weights_are_those_that_params_tell_of(
    bias_term: int, weight: int | None, message: str
) -> None:
    """No other, and of that shape."""
    weights = {} if weight is None else {"bias_data": WeightAttr.of(np.ones(weight, np.float32))}
    source = kernel()
    op = KERNEL.make(source.results, {"bias_term": bias_term}, weights)
    with pytest.raises(LayerError, match=message):
        op.verify_()
    with pytest.raises(LayerError, match="'bias_data' is missing"):
        held(None, "bias_data")


def test_inputs_are_as_many_as_declared() -> None:
    """The error says how many."""
    with pytest.raises(LayerError, match="Kernel has 0 inputs, but takes 1"):
        kernel().verify_()
