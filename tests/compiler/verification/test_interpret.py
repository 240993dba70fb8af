"""The interpreter runs references in order and returns any blob by name."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.verification.interpret import interpret, run_layers
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.layer import Array, Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import DropoutOp
from ncc.runtime.errors import InputError

TEXT = """
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "again"]} {
    %x = ncnn.Input() {w = 3 : i32, layer = "in", blobs = ["x"]} : () -> tensor<*xf32>
    %h = ncnn.Dropout(%x) {scale = 5.000000e-01 : f32, layer = "half", blobs = ["h"]}
      : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Dropout(%h) {scale = 5.000000e-01 : f32, layer = "quarter", blobs = ["q"]}
      : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y, %y : tensor<*xf32>, tensor<*xf32>
  }
}
"""
X = np.array([4, 8, 12], np.float32)


@pytest.fixture
def module() -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, NCNN):
        context.load_dialect(dialect)
    return Parser(context, TEXT).parse_module()


def test_outputs_come_by_their_names(module: ModuleOp) -> None:
    """The outputs in order, also two names of one value."""
    found = interpret(module, {"x": X})
    assert list(found) == ["y", "again"]
    np.testing.assert_array_equal(found["y"], X / 4)
    np.testing.assert_array_equal(found["again"], X / 4)


def test_any_blob_comes_by_its_name(module: ModuleOp) -> None:
    """Inputs, inner blobs, and a value by the name of its layer's blob as by the output's."""
    found = interpret(module, {"x": X}, ["h", "x", "q", "y"])
    assert list(found) == ["h", "x", "q", "y"]
    np.testing.assert_array_equal(found["h"], X / 2)
    np.testing.assert_array_equal(found["q"], found["y"])


def test_layers_behind_the_last_blob_do_not_run(
    module: ModuleOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking for an early blob costs no more than that blob."""
    ran: list[str] = []

    def reference(self: DropoutOp, x: Array) -> Array:
        ran.append(self.layer_name)
        return x

    monkeypatch.setattr(DropoutOp, "reference", reference)
    interpret(module, {"x": X}, ["h"])
    assert ran == ["half"]


def test_each_layer_is_seen(module: ModuleOp) -> None:
    """`run_layers` is every layer with its results, in order."""
    steps = [
        (layer.layer_name, results[0].tolist())
        for layer, results in run_layers(Network.of(module), {"x": X})
    ]
    assert steps == [("in", [4, 8, 12]), ("half", [2, 4, 6]), ("quarter", [1, 2, 3])]


def test_what_is_fed_must_fit(module: ModuleOp) -> None:
    """Missing, unknown and misshaped inputs are refused, and blobs that nobody makes."""
    with pytest.raises(InputError, match="'x' is missing"):
        interpret(module, {})
    with pytest.raises(InputError, match="no input 'z'"):
        interpret(module, {"x": X, "z": X})
    with pytest.raises(InputError, match="no blob 'hh'.*did you mean 'h'"):
        interpret(module, {"x": X}, ["hh"])
    infer_shapes(module)
    with pytest.raises(InputError, match="wrong shape"):
        interpret(module, {"x": X[:2]})


def test_a_layer_without_reference_is_unsupported(
    module: ModuleOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layer at fault is named."""
    monkeypatch.setattr(DropoutOp, "reference", Layer.reference)
    with pytest.raises(Unsupported, match="'half'"):
        interpret(module, {"x": X})
